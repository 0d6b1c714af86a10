"""The client's methods about history."""

from __future__ import annotations


class HistoryMethods:
    pass
