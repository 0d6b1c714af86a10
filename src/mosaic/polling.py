"""Whether a descriptor has something to read, whatever its number.

`select.select` refuses descriptors of 1024 and more, and a process with many connections has them.
"""

from __future__ import annotations

import select


def is_readable(fd: int, timeout_s: float | None = None) -> bool:
    """Data, or the end of it, within the time; without a time it waits as long as it takes."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000))
