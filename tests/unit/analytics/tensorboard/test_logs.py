"""Which logs of a run TensorBoard is shown, and under which names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.analytics.tensorboard.logs import (
    MAX_NAME_BYTES,
    LogTree,
    NamedLog,
    free_name,
    tensorboard_command,
    tensorboard_logs,
)
from mosaic.analytics.tensorboard.server import interpreter_of
from mosaic.contracts.manifest import AnalyticsManifest, TensorBoardArtifact


def with_events(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "events.out.tfevents.1.host").write_bytes(b"")
    return folder


def manifest(path: str = "", **metadata: object) -> AnalyticsManifest:
    board = TensorBoardArtifact(True, path) if path else TensorBoardArtifact()
    return AnalyticsManifest("R", "w", tensorboard=board, metadata=dict(metadata))


def test_the_folder_of_the_manifest_is_shown_by_the_name_of_the_run(tmp_path: Path) -> None:
    folder = with_events(tmp_path / "runs" / "a")
    logs = tensorboard_logs("mine", tmp_path, manifest("runs/a"), is_over=True, may_leave=True)
    assert logs == [NamedLog("mine", folder)]


def test_an_evaluation_is_shown_beside_the_training(tmp_path: Path) -> None:
    with_events(tmp_path / "tb")
    with_events(tmp_path / "tensorboard_eval")
    logs = tensorboard_logs("mine", tmp_path, manifest("tb"), is_over=True, may_leave=True)
    assert [log.name for log in logs] == ["mine (tb)", "mine (evaluation)"]
    alone = tensorboard_logs("mine", tmp_path, manifest(), is_over=True, may_leave=True)
    assert [log.name for log in alone] == ["mine"]


def test_folders_of_a_script_are_shown_one_by_one(tmp_path: Path) -> None:
    folders = [str(with_events(tmp_path / "elsewhere" / name)) for name in ("A", "B")]
    told = manifest("elsewhere", tensorboard_folders=folders)
    logs = tensorboard_logs("mine", tmp_path, told, is_over=True, may_leave=True)
    assert [str(log.folder) for log in logs] == folders
    assert [log.name for log in logs] == ["mine (A)", "mine (B)"]


def test_a_folder_without_events_waits_only_while_the_run_lasts(tmp_path: Path) -> None:
    assert tensorboard_logs("mine", tmp_path, manifest("tb"), is_over=True, may_leave=True) == []
    assert (
        len(tensorboard_logs("mine", tmp_path, manifest("tb"), is_over=False, may_leave=True)) == 1
    )
    assert tensorboard_logs("mine", tmp_path, manifest(), is_over=False, may_leave=True) == []


def test_the_printed_command_survives_a_shell(tmp_path: Path) -> None:
    one = tensorboard_command([NamedLog("a b", Path("/x y"))])
    assert one == "tensorboard --host 127.0.0.1 --logdir '/x y'"
    two = tensorboard_command([NamedLog("a,b:c", Path("/x")), NamedLog("d", Path("/y"))])
    assert two.endswith("--logdir_spec a_b_c:/x,d:/y")


def test_a_tree_links_to_logs_and_leaves_them_alone(tmp_path: Path) -> None:
    folder = with_events(tmp_path / "log")
    tree = LogTree(tmp_path)
    names = [
        tree.add("mine", folder),
        tree.add("mine", tmp_path / "later"),
        tree.add("../x", folder),
    ]
    assert names == ["mine", "mine (2)", "_x"]
    tree.new_place("made").mkdir()
    assert sorted(path.name for path in tree.logs.iterdir()) == tree.names
    tree.remove()
    assert not tree.root.exists()
    assert list(folder.iterdir())


@given(st.lists(st.text(max_size=300), max_size=6))
def test_every_name_finds_a_place_of_its_own(names: list[str]) -> None:
    taken: list[str] = []
    for name in names:
        chosen = free_name(name, taken)
        assert chosen not in taken
        assert chosen not in ("", ".", "..") and "/" not in chosen and "\0" not in chosen
        assert len(chosen.encode()) <= MAX_NAME_BYTES + 10
        taken.append(chosen)


@pytest.mark.parametrize("content", ["", "#!/no/such/python\n", "echo", "#!/usr/bin/env python\n"])
def test_a_program_without_an_interpreter_to_trust_has_none(tmp_path: Path, content: str) -> None:
    program = tmp_path / "tensorboard"
    program.write_text(content)
    assert interpreter_of(program) is None
    assert interpreter_of(tmp_path / "missing") is None


def test_an_installed_program_names_its_interpreter(tmp_path: Path) -> None:
    program = tmp_path / "tensorboard"
    program.write_text("#!/bin/sh\nexit 0\n")
    assert interpreter_of(program) == "/bin/sh"
