"""Whether this thread counts numbers below 1e-308 as zero, which a training does and replays must.

`torch.set_flush_denormal` sets it, but a replay must not need torch.
"""

from __future__ import annotations

import ctypes
import platform
import sys

_SMALLEST = 5e-324
# Where the C library keeps the processor's register in its environment of floating point (in
# words of 32 bits), and the bits of it that mean flushing.
_PLACES = {"x86_64": (7, 0x8040), "aarch64": (0, 1 << 24)}
_ROOM = 64  # words, more than any system needs


def are_flushed() -> bool:
    return _SMALLEST * 1.0 == 0.0


def flush(wanted: bool) -> bool:
    """Whether it is now as wanted; other systems than Linux cannot be told."""
    place = _PLACES.get(platform.machine()) if sys.platform == "linux" else None
    if wanted != are_flushed() and place is not None:
        word, bits = place
        library = ctypes.CDLL("libm.so.6")
        environment = (ctypes.c_uint32 * _ROOM)()
        library.fegetenv(environment)
        environment[word] = environment[word] | bits if wanted else environment[word] & ~bits
        library.fesetenv(environment)
    return wanted == are_flushed()
