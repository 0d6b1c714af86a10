"""Damaged, foreign and malicious checkpoint files are refused by name, and never executed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import load_payload
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from mosaic.errors import CheckpointError, WorkerError
from tests.checkpoint_samples import assert_holds, filled_buffer, save_step, weights


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder with the checkpoints of steps 10 and 20, replay buffers included."""
    store = CheckpointStore(tmp_path, "dqn")
    for step in (10, 20):
        save_step(store, step, filled_buffer(step))
    return tmp_path


def refused(path: Path, **options: Any) -> CheckpointError:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, **options)
    assert isinstance(caught.value, WorkerError)
    assert caught.value.hint
    return caught.value


def change_manifest(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = run / "dqn.state" / "manifest.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def replace_file(run: Path, name: str, data: bytes) -> None:
    """As a forger would: the manifest agrees with the new content."""
    (run / "dqn.state" / name).unlink()
    (run / "dqn.state" / name).write_bytes(data)

    def change(content: dict[str, Any]) -> None:
        for generation in content["generations"]:
            if name in generation["files"]:
                sha256 = hashlib.sha256(data).hexdigest()
                generation["files"][name] = {"sha256": sha256, "size": len(data)}

    change_manifest(run, change)


NEWEST_FILES = [
    "model-20.cleanrl_model",
    "tensors-20.safetensors",
    "values-20.json",
    "replay-20-0.safetensors",
]


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("name", NEWEST_FILES)
@pytest.mark.parametrize(
    "damage",
    [Path.unlink, cut_off, empty, flip_a_bit, make_folder, make_link_to_itself, make_pipe],
)
def test_a_damaged_file_is_named_and_the_intact_checkpoint_offered(
    damage: Callable[[Path], None], name: str, run: Path
) -> None:
    damage(run / "dqn.state" / name)
    intact = run / "dqn.state" / "model-10.cleanrl_model"
    for path in (run, run / "dqn.state"):
        error = refused(path)
        assert name in error.message
        assert error.hint == f"the checkpoint of step 10 is intact: use {intact}"
    assert_holds(load_checkpoint(intact), 10, with_buffer=True)
    assert_holds(load_checkpoint(run, 10), 10, with_buffer=True)


def test_with_no_intact_checkpoint_left_none_is_offered(run: Path) -> None:
    for step in (10, 20):
        flip_a_bit(run / "dqn.state" / f"values-{step}.json")
    error = refused(run)
    assert "values-20.json is damaged" in error.message
    assert "intact" not in error.hint


def test_weights_without_their_training_state_can_only_be_evaluated(tmp_path: Path) -> None:
    path = tmp_path / "ppo.cleanrl_model"
    torch.save(weights(3), path)
    for target in (path, tmp_path):
        error = refused(target)
        assert "weights only" in error.message
        assert "can be evaluated" in error.hint
    assert torch.equal(load_payload(path)["layer.weight"], weights(3)["layer.weight"])


def test_weights_of_another_training_are_not_resumed_from(run: Path) -> None:
    path = run / "dqn.cleanrl_model"
    path.unlink()
    torch.save(weights(999), path)
    error = refused(path)
    assert "not what was saved with the training state" in error.message
    assert str(run / "dqn.state") in error.hint
    assert_holds(load_checkpoint(run / "dqn.state"), 20)


def test_weights_changed_in_place_are_noticed(run: Path) -> None:
    flip_a_bit(run / "dqn.cleanrl_model")
    assert "it is damaged" in refused(run / "dqn.cleanrl_model").message
    assert "model-20" in refused(run).message  # the published file is a link to it


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "loop.cleanrl_model").symlink_to(tmp_path / "loop.cleanrl_model")
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    expected = {
        "missing.cleanrl_model": "There is no checkpoint",
        "loop": "Too many levels of symbolic links",
        "loop.cleanrl_model": "Too many levels of symbolic links",
        "file/below": "Not a directory",
        "folder": "There is no checkpoint in",
        "x" * 300: "File name too long",
    }
    for name, message in expected.items():
        assert message in refused(tmp_path / name).message
    for name in ("missing.cleanrl_model", "loop", "file/below", "folder"):
        with pytest.raises(CheckpointError):
            load_payload(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged"),
        (b"\x00\xff\xfe garbage", "damaged"),
        (b"[]", "no version"),
        (b"{}", "no version"),
        (b"[" * 200_000, "damaged"),
        (b'{"version": 1}', "description is missing"),
        (b'{"version": 1, "description": {}, "superseded_model": "", "generations": []}', "no gen"),
        (b'{"version": 99}', "another version of MOSAIC"),
        (b'{"version": "' + b"9" * 10_000 + b'"}', "another version of MOSAIC"),
        (b" " * (17 * 2**20), "too large"),
    ],
    ids=lambda value: str(value[:20]),
)
def test_a_manifest_that_is_none(content: bytes, message: str, run: Path) -> None:
    path = run / "dqn.state" / "manifest.json"
    path.write_bytes(content)
    error = refused(run)
    assert message in error.message
    assert str(path) in error.message
    with pytest.raises(CheckpointError):
        CheckpointStore(run, "dqn")  # nothing is deleted for a manifest that cannot be read
    assert (run / "dqn.state" / "values-20.json").exists()


def set_in(generation: dict[str, Any], **values: Any) -> None:
    generation.update(values)


@pytest.mark.parametrize(
    "values",
    [
        {"step": -1},
        {"step": "20"},
        {"step": True},
        {"tag": "../x"},
        {"tag": 20},
        {"metric": "high"},
        {"is_best": 1},
        {"files": []},
        {"files": {}},
        {"files": {"values-20.json": 3}},
    ],
    ids=str,
)
def test_a_manifest_with_a_wrong_field_is_damaged(values: dict[str, Any], run: Path) -> None:
    change_manifest(run, lambda content: set_in(content["generations"][-1], **values))
    assert "is damaged" in refused(run).message


@pytest.mark.parametrize(
    "name", ["../../secret", "/etc/passwd", "model-../../x.json", "model-1.json\x00", "a" * 9999]
)
def test_no_name_in_a_manifest_leads_out_of_its_folder(name: str, run: Path) -> None:
    record = {"sha256": "0" * 64, "size": 3}
    change_manifest(run, lambda content: content["generations"][0]["files"].update({name: record}))
    error = refused(run)
    assert "is no checkpoint file" in error.message
    assert len(error.message) < 500


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("values-20.json", b"not json"),
        ("values-20.json", b"[" * 200_000),
        ("values-20.json", b'{"optimizer": {"$tensor": "nowhere"}}'),
        ("values-20.json", b'{"buffer": {"$chunks": "replay"}}'),
        ("tensors-20.safetensors", b"\xff" * 100),
        ("tensors-20.safetensors", struct.pack("<Q", 2**62) + b"{}"),
    ],
    ids=lambda value: str(value[:12]),
)
def test_forged_state_files_are_refused(name: str, data: bytes, run: Path) -> None:
    replace_file(run, name, data)
    error = refused(run)
    assert "cannot be understood" in error.message
    assert "values-20.json" in error.message


def test_forged_values_without_the_parts_are_refused_when_asked(run: Path) -> None:
    for data in (b"{}", b"[1, 2]", b"3"):
        replace_file(run, "values-20.json", data)
        with pytest.raises(CheckpointError, match="no state of 'optimizer'"):
            load_checkpoint(run).part("optimizer")


def test_chunks_are_read_only_from_the_generations_own_files(run: Path) -> None:
    for names in (["../../etc/passwd"], ["replay-10-0.safetensors"], [["nested"]], [5]):
        replace_file(run, "values-20.json", json.dumps({"buffer": {"$chunks": names}}).encode())
        with pytest.raises(CheckpointError, match="no replay buffer"):
            list(load_checkpoint(run).part("buffer"))
    name = "replay-20-0.safetensors"
    replace_file(run, "values-20.json", json.dumps({"buffer": {"$chunks": [name]}}).encode())
    replace_file(run, name, b"garbage")
    with pytest.raises(CheckpointError, match=r"replay-20-0\.safetensors is damaged"):
        list(load_checkpoint(run).part("buffer"))


# ---- weights -----------------------------------------------------------------------------------


class RunsACommand:
    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.canary}",)


def rezip(data: bytes, compression: int, change: Callable[[str, bytes], bytes]) -> bytes:
    target = io.BytesIO()
    source = zipfile.ZipFile(io.BytesIO(data))
    with source, zipfile.ZipFile(target, "w", compression) as archive:
        for record in source.infolist():
            archive.writestr(record.filename, change(record.filename, source.read(record)))
    return target.getvalue()


def torch_bytes(value: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def malicious_files(canary: Path) -> dict[str, bytes]:
    evil = RunsACommand(canary)
    state = {**weights(1), "evil": evil}
    plain = torch_bytes(weights(1))
    legacy = {"_use_new_zipfile_serialization": False}
    pickled = pickle.dumps(state)
    return {
        "object in a state dict": torch_bytes(state),
        "object alone": torch_bytes(evil),
        "object among c51's arguments": torch_bytes({"model_weights": weights(1), "args": evil}),
        "legacy torch file": torch_bytes(state, **legacy),
        "legacy torch file without evil": torch_bytes(weights(1), **legacy),
        "bare pickle": pickled,
        "pickle inside an archive": rezip(
            plain, zipfile.ZIP_STORED, lambda name, data: pickled if "data.pkl" in name else data
        ),
    }


@pytest.mark.parametrize("kind", list(malicious_files(Path("x"))))
def test_a_malicious_file_is_refused_and_never_runs(kind: str, run: Path) -> None:
    canary = run / "canary"
    data = malicious_files(canary)[kind]
    path = run / "alone" / "evil.cleanrl_model"
    path.parent.mkdir()
    path.write_bytes(data)
    with pytest.raises(CheckpointError) as caught:
        load_payload(path)
    assert str(path) in caught.value.message
    replace_file(run, "model-20.cleanrl_model", data)
    assert "model-20.cleanrl_model" in refused(run).message
    assert not canary.exists()
    if "without" not in kind and "bare" in kind:
        pickle.loads(data)  # the canary would have sung
        assert canary.exists()


def test_claims_larger_than_the_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.cleanrl_model"
    plain = torch_bytes({"layer": torch.zeros(10**6)})
    nowhere = torch.zeros(1, 0, dtype=torch.int64)
    sparse = torch.sparse_coo_tensor(nowhere, [], (10**12,), check_invariants=True)

    def shorten(name: str, data: bytes) -> bytes:
        return data[:4] if name.endswith("data/0") else data

    for data in (
        torch_bytes({"layer": torch.zeros(1).expand(10**12)}),
        torch_bytes({"layer": torch.zeros(10**12, device="meta")}),
        torch_bytes({"layer": sparse}),
        rezip(plain, zipfile.ZIP_DEFLATED, lambda name, data: data),
        rezip(plain, zipfile.ZIP_STORED, shorten),
    ):
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match=r"huge\.cleanrl_model"):
            load_payload(path)


@pytest.mark.parametrize(
    "value",
    [{}, (), [], 3, "text", torch.zeros(2), {"a": 1}, {1: torch.zeros(1)}, [{"a": "b"}], None],
    ids=repr,
)
def test_a_file_without_weights_is_refused(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "odd.cleanrl_model"
    path.write_bytes(torch_bytes(value))
    with pytest.raises(CheckpointError, match="holds no network weights"):
        load_payload(path)


@pytest.mark.parametrize("length", [0, 1, 100, -1, -30])
def test_a_cut_off_model_file_is_refused(length: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.cleanrl_model"
    path.write_bytes(torch_bytes(weights(1))[:length])
    with pytest.raises(CheckpointError, match=r"cut\.cleanrl_model"):
        load_payload(path)


def test_a_file_of_absurd_size_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "big.cleanrl_model"
    path.touch()
    os.truncate(path, 2**40)  # sparse: takes no room
    with pytest.raises(CheckpointError, match="1024 GiB"):
        load_payload(path)


def test_files_of_cleanrl_load(tmp_path: Path) -> None:
    path = tmp_path / "cleanrl.cleanrl_model"
    one, other = weights(1), weights(2)
    for value in (one, (one, other), {"model_weights": one, "args": {"n_atoms": 51, "x": None}}):
        path.write_bytes(torch_bytes(value))
        assert str(load_payload(path)) == str(value)
