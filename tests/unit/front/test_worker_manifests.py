"""Manifests of workers outside the daemon's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.worker_manifest import WorkerManifest, parse_worker_manifest
from mosaic.errors import ConfigError, UnknownWorkerError
from mosaic.front.worker_manifests import add_manifest, list_manifests, remove_manifest
from mosaic.paths import Home
from tests.hostile_strings import TRAVERSALS


def worker_folder(root: Path, text: str = "") -> Path:
    folder = root / "my worker"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "worker.toml").write_text(
        text or 'name = "mine"\nentry_point = "mine_pack:get_worker_metadata"\npath = "src"\n'
    )
    return folder


def test_an_added_worker_has_absolute_paths(tmp_path: Path) -> None:
    home, folder = Home(tmp_path / "home"), worker_folder(tmp_path)
    manifest = add_manifest(home, folder)
    assert manifest == WorkerManifest(
        "mine", "mine_pack:get_worker_metadata", None, (str(folder / "src"),)
    )
    stored = home.worker_manifests / "mine.toml"
    assert parse_worker_manifest(stored.read_text(), stored.parent) == manifest
    assert list_manifests(home) == ["mine"]


def test_without_a_path_the_folder_itself_is_meant(tmp_path: Path) -> None:
    folder = worker_folder(tmp_path, 'name = "mine"\nentry_point = "mine:f"\n')
    assert add_manifest(Home(tmp_path / "home"), folder).path == (str(folder),)


def test_adding_again_updates_but_another_folder_is_refused(tmp_path: Path) -> None:
    home, folder = Home(tmp_path / "home"), worker_folder(tmp_path)
    add_manifest(home, folder)
    worker_folder(tmp_path, 'name = "mine"\nentry_point = "mine_pack:other"\npath = "src"\n')
    assert add_manifest(home, folder).entry_point == "mine_pack:other"
    stranger = worker_folder(tmp_path / "stranger")
    with pytest.raises(ConfigError, match="another worker"):
        add_manifest(home, stranger)


def test_a_removed_worker_is_gone_and_its_files_are_not(tmp_path: Path) -> None:
    home, folder = Home(tmp_path / "home"), worker_folder(tmp_path)
    add_manifest(home, folder)
    remove_manifest(home, "mine")
    assert list_manifests(home) == []
    assert (folder / "worker.toml").exists()
    with pytest.raises(UnknownWorkerError, match="mine"):
        remove_manifest(home, "mine")


@pytest.mark.parametrize("name", TRAVERSALS)
def test_hostile_names_remove_nothing(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / "home")
    victim = tmp_path / "victim.toml"
    victim.write_text("x")
    with pytest.raises(UnknownWorkerError):
        remove_manifest(home, name)
    assert victim.exists()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("name = ", ""),
        ('entry_point = "a:b"', "name"),
        ('name = "../x"\nentry_point = "a:b"', "name"),
        ('name = "a/b"\nentry_point = "a:b"', "name"),
        ("name = 3\nentry_point = 'a:b'", "name"),
        ('name = "x"', "entry_point"),
        ('name = "x"\nentry_point = "a"', "entry_point"),
        ('name = "x"\nentry_point = "a b:c"', "entry_point"),
        ('name = "x"\nentry_point = "a:b"\npath = 3', "path"),
        ('name = "x"\nentry_point = "a:b"\npath = [""]', "path"),
        ('name = "x"\nentry_point = "a:b"\npath = "nowhere"', "path"),
        ('name = "x"\nentry_point = "a:b"\npython = 3', "python"),
        ('name = "x"\nentry_point = "a:b"\npython = "no/python"', "python"),
        ('name = "x"\nentry_point = "a:b"\ncolour = "red"', "colour"),
    ],
)
def test_a_wrong_manifest_is_refused_by_its_key(tmp_path: Path, text: str, field: str) -> None:
    home = Home(tmp_path / "home")
    with pytest.raises(ConfigError) as caught:
        add_manifest(home, worker_folder(tmp_path, text))
    assert caught.value.details.get("field", "") == field
    assert list_manifests(home) == []


def test_a_folder_without_manifest_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"worker\.toml cannot be read") as caught:
        add_manifest(Home(tmp_path / "home"), tmp_path)
    assert "entry_point" in caught.value.hint


def test_odd_characters_in_paths_survive(tmp_path: Path) -> None:
    odd = 'a "quoted" \\ path\t😀\x7f'
    manifest = WorkerManifest("x", "a:b", f"/{odd}/python", (f"/{odd}",))
    assert parse_worker_manifest(manifest.to_toml(), tmp_path) == manifest


@pytest.mark.parametrize("key", ["name", "entry_point", "python", "path", "unknown"])
@pytest.mark.parametrize(
    "value",
    ["9" * 6000, "1e308", "true", r'"\u0000"', r'["\u0000"]', "[1]", "1979-05-27", "[" * 5000],
    ids=lambda text: text[:10],
)
def test_values_that_are_no_text_for_a_file_are_refused(key: str, value: str) -> None:
    fields = {"name": '"w"', "entry_point": '"a:b"', key: value}
    text = "\n".join(f"{name} = {value}" for name, value in fields.items())
    with pytest.raises(ConfigError, match="The worker's manifest") as caught:
        parse_worker_manifest(text, Path("/somewhere"))
    assert len(caught.value.message) < 300
