"""The asynchronous client's methods about bus."""

from __future__ import annotations


class AsyncBusMethods:
    pass
