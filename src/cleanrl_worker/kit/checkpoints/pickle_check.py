"""What the pickle in a `.cleanrl_model` file would do, found out without doing it.

A pickle is a program for a small stack machine. That of a state dict needs a few dozen of its
instructions and calls four functions; every other one is refused, and so is a tensor that claims
more than its storage holds. torch itself allows calls that allocate any amount of memory.
"""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

MAX_BYTES = 2**20  # a hundred or two for each tensor, of which networks have a few hundred

_ITEM_BYTES = {
    "DoubleStorage": 8,
    "FloatStorage": 4,
    "HalfStorage": 2,
    "BFloat16Storage": 2,
    "LongStorage": 8,
    "IntStorage": 4,
    "ShortStorage": 2,
    "CharStorage": 1,
    "ByteStorage": 1,
    "BoolStorage": 1,
    "ComplexFloatStorage": 8,
    "ComplexDoubleStorage": 16,
}
_PUSHED_ARGUMENT = frozenset(
    [
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "UNICODE",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE8",
        "BINBYTES",
        "SHORT_BINBYTES",
    ]
)
_PUSHED_CONTAINER = frozenset({"EMPTY_DICT", "EMPTY_LIST", "EMPTY_SET"})
_PUSHED_CONSTANT = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_TUPLE_LENGTHS = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_POPPED = {"SETITEM": 2, "APPEND": 1, "BUILD": 1}
_POPPED_TO_MARK = frozenset({"SETITEMS", "APPENDS", "ADDITEMS"})
_REMEMBERED = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_RECALLED = frozenset({"GET", "BINGET", "LONG_BINGET"})
_WITHOUT_EFFECT = frozenset({"PROTO", "FRAME", "STOP"})
_MARK = object()
_VALUE = object()  # a container or a tensor: what is in it does not matter any more


class RefusedError(ValueError):
    """The file is not what torch.save writes for a state dict."""


class _Name(NamedTuple):
    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class _Storage(NamedTuple):
    items: int
    item_bytes: int


def require_weights(program: bytes, storage_bytes: Mapping[str, int]) -> None:
    """Raises RefusedError unless the program makes tensors of these storages, and nothing else."""
    if len(program) > MAX_BYTES:
        raise RefusedError("its list of tensors is far too long")
    machine = _Machine(storage_bytes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a name with an escape that means nothing is damage
            for opcode, argument, _ in pickletools.genops(program):
                machine.step(opcode.name, argument)
    except RefusedError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, Warning) as error:
        raise RefusedError("its list of tensors is damaged") from error


class _Machine:
    def __init__(self, storage_bytes: Mapping[str, int]) -> None:
        self._storage_bytes = storage_bytes
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        push, pop = self._stack.append, self._stack.pop
        if name in _PUSHED_ARGUMENT:
            push(argument)
        elif name in _PUSHED_CONTAINER:
            push(_VALUE)
        elif name in _PUSHED_CONSTANT:
            push(_PUSHED_CONSTANT[name])
        elif name in _REMEMBERED:
            self._memo[argument] = self._stack[-1]
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = self._stack[-1]
        elif name in _RECALLED:
            push(self._memo[argument])
        elif name == "MARK":
            push(_MARK)
        elif name == "TUPLE":
            push(tuple(self._pop_to_mark()))
        elif name in _TUPLE_LENGTHS:
            push(tuple(self._pop(_TUPLE_LENGTHS[name])))
        elif name in _POPPED:
            self._pop(_POPPED[name])
        elif name in _POPPED_TO_MARK:
            self._pop_to_mark()
        elif name == "GLOBAL":
            push(_known(_Name(*argument.split(" ", 1))))
        elif name == "STACK_GLOBAL":
            push(_known(_Name(*self._pop(2))))
        elif name == "BINPERSID":
            push(self._storage(pop()))
        elif name == "REDUCE":
            arguments = pop()
            push(_called(pop(), arguments))
        elif name not in _WITHOUT_EFFECT:
            raise RefusedError(f"it holds more or other things than weights ({name})")

    def _pop(self, count: int) -> list[Any]:
        if len(self._stack) < count:
            raise IndexError("the stack is empty")
        taken = self._stack[-count:]
        del self._stack[-count:]
        return taken

    def _pop_to_mark(self) -> list[Any]:
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError("no mark")
        taken = self._stack[at + 1 :]
        del self._stack[at:]
        return taken

    def _storage(self, described: Any) -> _Storage:
        _, kind, key, _, items = described
        item_bytes = _ITEM_BYTES.get(kind.name, 1)
        _require_counts(items)
        if items * item_bytes > self._storage_bytes[key]:
            raise RefusedError(f"the storage {key[:80]!r} claims more than it holds")
        return _Storage(items, item_bytes)


def _known(called: _Name) -> _Name:
    is_storage = called.module in ("torch", "torch.cuda") and called.name in _ITEM_BYTES
    is_dtype = called.module == "torch" and _dtype(called) is not None
    if is_storage or is_dtype or called in _FUNCTIONS or called == _UNTYPED:
        return called
    raise RefusedError(
        f"it holds more or other things than weights, {str(called)[:120]} among them"
    )


def _called(function: Any, arguments: Any) -> Any:
    if function not in _FUNCTIONS or not isinstance(arguments, tuple):
        raise RefusedError("it holds more or other things than weights")
    if function in (_TENSOR, _TENSOR_OF_TYPE):
        _require_inside(*arguments)
    return _VALUE


def _require_inside(
    storage: _Storage,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    hooks: Any,
    dtype: _Name | None = None,
) -> None:
    """A few bytes can claim to be a tensor of any size."""
    item_bytes = storage.item_bytes
    if dtype is not None:
        found = _dtype(dtype)
        item_bytes = item_bytes if found is None else found.itemsize
    _require_counts(offset, *size, *stride)
    if len(size) != len(stride):
        raise RefusedError("a tensor has no shape")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 not in size and (last + 1) * item_bytes > storage.items * storage.item_bytes:
        raise RefusedError("a tensor claims more than its storage holds")


def _require_counts(*numbers: Any) -> None:
    if not all(type(number) is int and 0 <= number < 2**62 for number in numbers):
        raise RefusedError("a size is no count")


def _dtype(called: _Name) -> torch.dtype | None:
    found = getattr(torch, called.name, None)
    return found if isinstance(found, torch.dtype) else None


_TENSOR = _Name("torch._utils", "_rebuild_tensor_v2")
_TENSOR_OF_TYPE = _Name("torch._utils", "_rebuild_tensor_v3")
_UNTYPED = _Name("torch.storage", "UntypedStorage")
_FUNCTIONS = frozenset(
    {
        _Name("collections", "OrderedDict"),
        _Name("torch._utils", "_rebuild_parameter"),
        _TENSOR,
        _TENSOR_OF_TYPE,
    }
)
