"""What is in a venv, read from records of its packages."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from mosaic.bundles.locks import LockedPackage
from mosaic.bundles.venv_contents import (
    disk_bytes,
    file_problems,
    installed_packages,
    linked_files,
    missing_packages,
    retarget,
)
from tests.support.made_venvs import add_package, site_of


def test_packages_are_known_by_their_canonical_names_and_public_versions(tmp_path: Path) -> None:
    add_package(tmp_path, "Some_Thing", "2.0+cpu")
    add_package(tmp_path, "ruamel.yaml", "0.18")
    (site_of(tmp_path) / "not a package.dist-info").mkdir()
    assert installed_packages(tmp_path) == {"some-thing": "2.0", "ruamel-yaml": "0.18"}
    locked = [
        LockedPackage("some-thing", "2.0", (), 1),
        LockedPackage("ruamel-yaml", "0.18.0", (), 1),
        LockedPackage("absent", "1.0", (), 1),
        LockedPackage("elsewhere", "1.0", (), 1, 'sys_platform == "win32"'),
    ]
    assert [item.name for item in missing_packages(tmp_path, locked)] == ["ruamel-yaml", "absent"]


def test_changed_and_missing_files_are_found_and_compiled_ones_are_not_looked_at(
    tmp_path: Path,
) -> None:
    add_package(tmp_path, "alpha", "1.0")
    add_package(tmp_path, "beta", "1.0")
    assert list(file_problems(tmp_path)) == []
    site = site_of(tmp_path)
    (site / "alpha/__init__.py").write_text("changed")
    (site / "beta/__init__.py").unlink()
    (site / "beta/__pycache__").mkdir()
    shown = site.relative_to(tmp_path)
    assert list(file_problems(tmp_path)) == [
        f"{shown}/alpha/__init__.py was changed",
        f"{shown}/beta/__init__.py is missing",
    ]
    (site / "beta-1.0.dist-info/RECORD").write_bytes(b"\xff\xfe")
    assert any("RECORD cannot be read" in problem for problem in file_problems(tmp_path))


def test_scripts_name_the_place_to_come_and_links_to_a_cache_are_not_written_into(
    tmp_path: Path,
) -> None:
    venv, final = tmp_path / "x.tmp" / "venv", tmp_path / "x"
    cached = tmp_path / "cached-script"
    cached.write_text(f"#!{venv}/bin/python\nprint()\n")
    cached.chmod(0o755)
    script = venv / "bin" / "alpha"
    script.parent.mkdir(parents=True)
    os.link(cached, script)
    (venv / "bin" / "python").symlink_to("/usr/bin/python")
    (venv / "pyvenv.cfg").write_text(f"command = python -m venv {venv}\n")
    digest = hashlib.sha256(script.read_bytes()).digest()
    add_package(venv, "alpha", "1.0", {"../../../bin/alpha": digest})

    retarget(venv, final)
    assert script.read_text() == f"#!{final}/bin/python\nprint()\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert str(venv) in cached.read_text()
    assert (venv / "pyvenv.cfg").read_text() == f"command = python -m venv {final}\n"
    assert (venv / "bin" / "python").readlink() == Path("/usr/bin/python")
    assert list(file_problems(venv)) == []


def test_a_file_with_two_names_occupies_its_room_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100_000)
    os.link(tmp_path / "one", tmp_path / "two")
    (tmp_path / "three").write_bytes(b"x" * 100_000)
    (tmp_path / "four").symlink_to("three")
    assert disk_bytes(tmp_path) == 2 * (tmp_path / "one").stat().st_blocks * 512
    assert len(set(linked_files(tmp_path))) == 1
    assert disk_bytes(tmp_path / "absent") == 0
