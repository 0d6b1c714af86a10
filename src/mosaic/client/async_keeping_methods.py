"""The asynchronous client's methods about keeping."""

from __future__ import annotations


class AsyncKeepingMethods:
    pass
