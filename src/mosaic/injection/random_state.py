"""The state of an environment's random numbers, taken thousands of times a second.

Numpy gives the state of a generator as a dictionary of large integers, which takes 3 µs: more than
all else that recording an episode takes. Of its usual generator the state lies at an address that
numpy tells for compiled code. Its bytes are copied from there instead, where what they say has been
held against the dictionary; anywhere else, the dictionary it is.
"""

from __future__ import annotations

import ctypes
from typing import Any

from mosaic.contracts.process_recording import PCG64_BYTES, pcg64_state

# At the address: where the two large numbers are, whether half a number is left, and that half.
# The numbers follow, after at most this much.
_POINTER_BYTES, _HALF_BYTES = 8, 8
_NUMBERS_BYTES = PCG64_BYTES - _HALF_BYTES
_MOST_BETWEEN = 64


def state_memory(generator: Any) -> Any:
    """An object whose `raw` is the state of this generator whenever it is read, as
    `packed_state` takes it; None where the memory of this generator is not known.

    To be used as long as the generator lives.
    """
    bits = generator.bit_generator
    module = type(bits).__module__.partition(".")[0]
    if module != "numpy" or type(bits).__name__ != "PCG64":
        return None
    address = int(bits.ctypes.state_address)
    distance = ctypes.c_uint64.from_address(address).value - address
    if not _POINTER_BYTES + _HALF_BYTES <= distance <= _MOST_BETWEEN:
        return None
    memory = (ctypes.c_char * (distance + _NUMBERS_BYTES)).from_address(address)
    is_understood = pcg64_state(packed_state(memory.raw)) == bits.state
    return memory if is_understood else None


def packed_state(raw: bytes) -> bytes:
    """Without where it was."""
    return raw[_POINTER_BYTES : _POINTER_BYTES + _HALF_BYTES] + raw[-_NUMBERS_BYTES:]
