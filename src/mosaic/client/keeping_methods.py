"""The client's methods about keeping."""

from __future__ import annotations


class KeepingMethods:
    pass
