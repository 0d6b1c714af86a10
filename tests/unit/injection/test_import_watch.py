from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from mosaic.injection.complaints import Complaints
from mosaic.injection.start import ImportWatch, Installer


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "strange_library"
    folder.mkdir()
    (folder / "__init__.py").write_text("from strange_library.inner import value\n")
    (folder / "inner.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    yield "strange_library"
    sys.meta_path[:] = before
    for name in [name for name in sys.modules if name.startswith("strange_library")]:
        del sys.modules[name]


def test_hooks_run_after_the_module_and_its_loader_stays(package: str) -> None:
    seen: list[tuple[str, int]] = []

    def hook(module: ModuleType) -> None:
        seen.append((module.__name__, module.value))

    ImportWatch({package: hook, f"{package}.inner": hook}).install()
    module = importlib.import_module(package)
    assert seen == [(f"{package}.inner", 1), (package, 1)]
    assert module.__spec__ is not None
    assert type(module.__spec__.loader) is SourceFileLoader
    assert "exec_module" not in vars(module.__spec__.loader)


def test_a_module_that_is_there_already_is_hooked_at_once(package: str) -> None:
    importlib.import_module(package)
    seen: list[str] = []
    ImportWatch({package: lambda module: seen.append(module.__name__)}).install()
    assert seen == [package]


def test_an_import_that_fails_fails_as_ever_and_is_hooked_when_it_works(
    package: str, tmp_path: Path
) -> None:
    inner = tmp_path / package / "inner.py"
    inner.write_text("raise RuntimeError('not today')\n")
    seen: list[str] = []
    ImportWatch({f"{package}.inner": lambda module: seen.append(module.__name__)}).install()
    with pytest.raises(RuntimeError, match="not today"):
        importlib.import_module(package)
    assert seen == []
    inner.write_text("value = 2  # today\n")
    importlib.invalidate_caches()
    importlib.import_module(package)
    assert seen == [f"{package}.inner"]


def test_what_is_not_watched_is_left_to_others() -> None:
    assert ImportWatch({"watched": lambda module: None}).find_spec("json") is None
    assert ImportWatch({"no_such": lambda module: None}).find_spec("no_such") is None


def test_a_hook_that_raises_costs_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    hook = Installer(Complaints()).hook("gymnasium_hooks")
    for _ in range(2):
        hook(ModuleType("nothing_like_it"))
    assert capsys.readouterr().err == (
        "mosaic: watching nothing_like_it failed (KeyError: 'nothing_like_it.core')\n"
    )
