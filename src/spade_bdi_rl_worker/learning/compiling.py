"""Compiles the kernels with numba where it is installed; elsewhere they run as plain Python.

What was compiled is kept in a folder of the user's caches, so that a run starts without the
seconds it takes. Never beside the source: that may be read-only, or site-packages. numba reads its
files with pickle, so a folder that others can write into would be a way to run code as us: it must
be ours alone, or nothing is kept. `NUMBA_CACHE_DIR`, where somebody set it, is followed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

from mosaic.files import make_directory
from mosaic.private_folder import PrivateFolder

try:
    import numba
except ImportError:  # also when it does not fit numpy's version
    numba = None

IS_COMPILED = numba is not None and not numba.config.DISABLE_JIT
_CHOSEN_BY_USER = "NUMBA_CACHE_DIR"
_Function = TypeVar("_Function", bound=Callable[..., Any])


def kept_kernels_folder() -> Path:
    """Where compiled kernels are kept: `$XDG_CACHE_HOME/mosaic/kernels`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    caches = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return caches / "mosaic" / "kernels"


def _usable_folder() -> Path | None:
    try:
        folder = kept_kernels_folder()
        make_directory(folder.parent)
        PrivateFolder.make(folder).__exit__()
    except (OSError, RuntimeError):  # read-only, somebody else's, or no home at all
        return None
    return folder


_KEPT_IN = _usable_folder() if IS_COMPILED and _CHOSEN_BY_USER not in os.environ else None


def compiled(function: _Function) -> _Function:
    """A decorator for functions that get arrays, numbers and tuples of them, and make no arrays.

    No `fastmath`: compiled and plain must agree in every bit. Without numba's counting of
    references (`_nrt`), which took five sixths of the time: arrays belong to whoever calls.
    """
    if not IS_COMPILED:
        return function
    options = {"nogil": True, "error_model": "numpy", "_nrt": False}
    if _KEPT_IN is None:
        done: _Function = numba.njit(cache=_CHOSEN_BY_USER in os.environ, **options)(function)
        return done
    # numba looks at this when a function is decorated; others keep what they had.
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(_KEPT_IN)
    try:
        done = numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
    _forgive(done)
    return done


def _forgive(function: Any) -> None:
    """A kept file that is damaged, or a full disk, costs the time to compile and no more.

    numba itself would fail, at this start and at every later one.
    """
    kept = function._cache
    load, save = kept.load_overload, kept.save_overload

    def load_or_forget(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # noqa: BLE001 (of what garbage makes pickle raise there is no list)
            with contextlib.suppress(OSError):
                kept.flush()
            return None

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except Exception:  # noqa: BLE001 (saving reads what is there first)
            with contextlib.suppress(OSError):
                kept.flush()

    kept.load_overload, kept.save_overload = load_or_forget, save_if_possible


def plain_versions(module: ModuleType) -> Any:
    """A module's functions as they were before `compiled`, calling each other's plain versions.

    Handing arrays to a compiled function takes longer than one step does in plain Python.
    """
    names = dict(vars(module))
    for name, function in vars(module).items():
        plain = getattr(function, "py_func", None)
        if plain is not None:
            names[name] = FunctionType(plain.__code__, names, name, plain.__defaults__)
    return SimpleNamespace(**names)
