"""Checkpoints that come from elsewhere; nothing of them is ever run."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import pytest

from mosaic.errors import RequestError
from mosaic.gui.checkpoints.model.cards import HashStatus
from mosaic.gui.checkpoints.model.files import (
    check_hash,
    file_facts,
    import_checkpoint,
    imported_cards,
    imports_folder,
    problem_with,
    sha256_of,
)
from mosaic.paths import Home


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, ("unpickled",))


def torch_file(path: Path) -> Path:
    """As `torch.save` writes it, with a pickle that must never be loaded."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Bomb()))
        archive.writestr("archive/version", "3")
    return path


def safetensors_file(path: Path) -> Path:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    return path


def test_files_of_pytorch_and_safetensors_are_taken(tmp_path: Path) -> None:
    assert problem_with(torch_file(tmp_path / "a.pt")) == ""
    assert problem_with(safetensors_file(tmp_path / "a.safetensors")) == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no checkpoint"),
        (b"hello, world, this is a text", "is no checkpoint"),
        (b"PK\x03\x04 and then nothing", "is damaged"),
        (b"\x10\0\0\0\0\0\0\0{ not JSON ......", "damaged header"),
        (pickle.dumps(Bomb()), "is no checkpoint"),
    ],
)
def test_what_is_no_checkpoint_is_refused_with_a_sentence(
    tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "odd.pt"
    file.write_bytes(content)
    with pytest.raises(RequestError, match=said):
        import_checkpoint(file, Home(tmp_path / "home"))
    assert not imports_folder(Home(tmp_path / "home")).exists()


def test_an_archive_of_something_else_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("readme.txt", "x")
    assert "not one that PyTorch wrote" in problem_with(tmp_path / "a.zip")
    assert "cannot be read" in problem_with(tmp_path / "nowhere.pt")


def test_a_file_is_copied_with_what_belongs_to_it_and_listed(tmp_path: Path) -> None:
    source = torch_file(tmp_path / "CartPole-v1__ppo__1__7" / "ppo.pt")
    (source.parent / "ppo.state").mkdir()
    (source.parent / "ppo.state" / "manifest.json").write_text("{}")
    (source.parent / "other.txt").write_text("not its business")
    home = Home(tmp_path / "home")
    card = import_checkpoint(source, home)
    assert card.path.is_relative_to(imports_folder(home))
    assert card.path.parent.name == "CartPole-v1__ppo__1__7"
    assert (card.path.parent / "ppo.state" / "manifest.json").is_file()
    assert not (card.path.parent / "other.txt").exists()
    source.unlink()
    (listed,) = imported_cards(home)
    assert listed == card
    assert file_facts(listed).status is HashStatus.UNCHECKED
    assert check_hash(listed.path, listed.sha256) is HashStatus.VERIFIED
    assert not Path("unpickled").exists()


def test_what_its_run_says_about_it_comes_along(tmp_path: Path) -> None:
    source = torch_file(tmp_path / "run" / "files" / "best.pt")
    (tmp_path / "run" / "analytics.json").write_text(
        json.dumps(
            {
                "run_id": "R",
                "worker_type": "w",
                "checkpoints": [
                    {
                        "path": "files/best.pt",
                        "step": 900,
                        "metric": 42.0,
                        "sha256": sha256_of(source),
                    }
                ],
                "metadata": {"env_id": "Acrobot-v1", "algo": "dqn"},
            }
        )
    )
    card = import_checkpoint(source, Home(tmp_path / "home"))
    assert (card.worker, card.env_id, card.algo) == ("w", "Acrobot-v1", "dqn")
    assert (card.step, card.metric) == (900, 42.0)


def test_the_same_file_is_imported_once(tmp_path: Path) -> None:
    source, home = torch_file(tmp_path / "a.pt"), Home(tmp_path / "home")
    import_checkpoint(source, home)
    with pytest.raises(RequestError, match="imported already"):
        import_checkpoint(source, home)
    assert len(imported_cards(home)) == 1


def test_a_damaged_note_hides_its_checkpoint_only(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    import_checkpoint(torch_file(tmp_path / "a.pt"), home)
    for name, text in (("broken", "{"), ("list", "[]"), ("away", '{"file": "../../x"}')):
        (imports_folder(home) / name).mkdir()
        (imports_folder(home) / name / "checkpoint.json").write_text(text)
    assert [card.title for card in imported_cards(home)] == ["a"]


def test_a_changed_file_is_damaged_and_a_deleted_one_missing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    card = import_checkpoint(torch_file(tmp_path / "a.pt"), home)
    card.path.write_bytes(b"something else")
    assert check_hash(card.path, card.sha256) is HashStatus.DAMAGED
    card.path.unlink()
    assert check_hash(card.path, card.sha256) is HashStatus.MISSING
    assert file_facts(card).status is HashStatus.MISSING
