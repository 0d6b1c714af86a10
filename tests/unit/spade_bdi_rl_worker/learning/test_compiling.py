"""What is compiled is kept where it does no harm, and does no harm when it is damaged."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spade_bdi_rl_worker.learning import compiling

pytestmark = pytest.mark.skipif(not compiling.IS_COMPILED, reason="there is no numba")
NUMBERS = itertools.count()

Start = Callable[[], Any]


def load(path: Path) -> Any:
    """A module as a new process would see it."""
    spec = importlib.util.spec_from_file_location(f"started_{next(NUMBERS)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Compiles a function, as the next start of a program would; returns its dispatcher."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    source = tmp_path / "kernel.py"
    source.write_text("def double(number):\n    return 2 * number\n")

    def again() -> Any:
        dispatcher = load(Path(compiling.__file__)).compiled(load(source).double)
        assert dispatcher(21) == 42
        return dispatcher

    return again


def was_kept(dispatcher: Any) -> bool:
    return bool(sum(dispatcher.stats.cache_hits.values()))


def kept_files(caches: Path) -> list[Path]:
    return [path for path in (caches / "mosaic" / "kernels").rglob("*") if path.is_file()]


def test_kernels_are_kept_for_the_next_start(start: Start, tmp_path: Path) -> None:
    assert not was_kept(start())
    assert kept_files(tmp_path / "caches")
    assert (tmp_path / "caches" / "mosaic" / "kernels").stat().st_mode & 0o077 == 0
    assert was_kept(start())
    assert not list(tmp_path.glob("**/__pycache__/*.nb?"))  # beside the source


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 30])
def test_a_damaged_file_is_made_again(
    start: Start, tmp_path: Path, ending: str, content: bytes
) -> None:
    start()
    damaged = [path for path in kept_files(tmp_path / "caches") if path.suffix == ending]
    assert damaged
    for path in damaged:
        path.write_bytes(content)
    assert not was_kept(start())
    assert was_kept(start())


def test_in_a_folder_that_leads_elsewhere_nothing_is_kept(start: Start, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "caches" / "mosaic").mkdir(parents=True)
    (tmp_path / "caches" / "mosaic" / "kernels").symlink_to(tmp_path / "elsewhere")
    assert not was_kept(start())
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_where_no_folder_can_be_made_nothing_is_kept(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert not was_kept(start())
    assert not was_kept(start())


def test_a_full_disk_costs_no_run(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import caching

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    assert not was_kept(start())
