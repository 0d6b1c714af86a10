"""The state of an environment's random numbers, taken thousands of times a second.

Numpy gives the state of a generator as a dictionary of large integers, which takes 3 µs: more than
all else that recording an episode takes. Of its usual generator the state is 40 bytes at an address
that numpy tells for compiled code. They are copied from there instead, where what they say has been
held against the dictionary; anywhere else, the dictionary it is.
"""

from __future__ import annotations

import ctypes
from typing import Any

from mosaic.contracts.process_recording import PCG64_BYTES, pcg64_state

# At the address: where the two large numbers are, whether half a number is left, and that half.
_POINTER_BYTES, _HALF_BYTES = 8, 8


class StateReader:
    """`half.raw + numbers.raw` is the state of this generator, whenever it is read."""

    __slots__ = ("_bits", "half", "numbers")

    def __init__(self, bits: Any) -> None:
        self._bits = bits  # as long as it lives, so does its memory
        address = int(bits.ctypes.state_address)
        where = ctypes.c_uint64.from_address(address).value
        self.half = (ctypes.c_char * _HALF_BYTES).from_address(address + _POINTER_BYTES)
        self.numbers = (ctypes.c_char * (PCG64_BYTES - _HALF_BYTES)).from_address(where)


def state_reader(generator: Any) -> StateReader | None:
    """None where the memory of this generator is not known."""
    bits = generator.bit_generator
    module = type(bits).__module__.partition(".")[0]
    if module != "numpy" or type(bits).__name__ != "PCG64":
        return None
    reader = StateReader(bits)
    is_understood = pcg64_state(reader.half.raw + reader.numbers.raw) == bits.state
    return reader if is_understood else None
