"""What an archive becomes in this home: which files, which record, how much of it."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import Origin
from mosaic.daemon.keeping.archive.bundle import RunBundle
from mosaic.daemon.keeping.archive.importing import (
    check_shown,
    clean_configs,
    imported_files,
    largest_run,
    unpack,
    usable_capabilities,
)
from mosaic.daemon.keeping.archive.reader import RunArchive
from mosaic.daemon.registry.documents import RunEntry
from mosaic.errors import CorruptStoreError, StoreError
from mosaic.paths import Home
from tests.daemon_harness import run_document
from tests.forged_archives import entry_of, forged
from tests.registry_samples import made_home

RUN = "01M7GMPJSZ0BRD37XN2WQBJ4W5"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


def unpacked(home: Home, data: bytes, **options: Any) -> tuple[RunBundle, RunEntry]:
    bundle = RunBundle(home.transfer / "parcel")
    return bundle, unpack(RunArchive(io.BytesIO(data)), bundle, home, 1e9, **options)


def test_only_what_belongs_to_the_run_is_taken_over() -> None:
    names = [
        "run/run.json",
        "run/telemetry.sqlite",
        "run/telemetry.sqlite-wal",
        "run/telemetry.corrupt-1.sqlite",
        "run/attempts/1/live.json",
        "run/attempts/1/worker.token",
        "run/.half-written.tmp",
    ]
    kept = ["run/events.jsonl", "run/outputs/telemetry.sqlite", f"configs/config-{RUN}.json"]
    archive = RunArchive(io.BytesIO(forged([(name, b"x") for name in names + kept])))
    assert sorted(item.name for item in imported_files(archive.index)) == sorted(kept)


def test_files_and_folders_are_for_their_owner_only(home: Home) -> None:
    bundle, _ = unpacked(home, forged([("run/a/b/c/d", b"x")]))
    for path in bundle.directory.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_nothing_is_taken_from_elsewhere_that_this_home_gives_itself(home: Home) -> None:
    claims = {"client_key": "mine", "slot": 5, "gpu_slots": "0,1", "revision": 2**50}
    entry = entry_of(RUN, origin="here", capabilities_digest="0" * 32, **claims)
    _, found = unpacked(home, forged([], entry=entry))
    assert found.record().origin is Origin.IMPORTED
    expected = {"client_key": None, "slot": None, "gpu_slots": "", "revision": 0}
    assert {name: found.row[name] for name in expected} == expected
    assert found.row["capabilities_digest"] == ""


def test_small_archives_may_become_64_mb_and_large_ones_a_hundred_times_their_size() -> None:
    assert largest_run(0) == 64_000_000
    assert largest_run(10_000_000) == 1_064_000_000
    assert largest_run(10**12) == 100_000_000_000, "but no more than this"


def test_the_limit_is_known_before_a_byte_is_written(home: Home) -> None:
    data = forged([("run/zeros", bytes(80_000_000))])
    with pytest.raises(CorruptStoreError, match=r"would become 80\.0 MB") as caught:
        unpacked(home, data)
    assert "--max-size 80MB" in caught.value.hint
    assert list(home.transfer.iterdir()) == []
    unpacked(home, data, max_bytes=80_000_000)


def test_an_import_is_given_up_when_the_daemon_stops(home: Home) -> None:
    with pytest.raises(StoreError, match="The daemon stops"):
        unpacked(home, forged([("run/a", b"x")]), should_stop=lambda: True)


def test_a_record_too_long_for_lists_is_refused() -> None:
    with pytest.raises(CorruptStoreError, match="in every list"):
        check_shown(entry_of(RUN, env_id="x" * 70_000))
    check_shown(entry_of(RUN, env_id="x" * 50_000))


def written(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_secrets_in_configs_of_elsewhere_become_references(tmp_path: Path) -> None:
    document = {**run_document(), "environment": {"WANDB_API_KEY": "canary"}}
    for name in (f"config-{RUN}.json", f"config-{RUN}-policy.json", f"worker-{RUN}-1.json"):
        written(tmp_path, name, document)
    assert clean_configs(tmp_path, RUN) == []
    for path in tmp_path.iterdir():
        assert b"canary" not in path.read_bytes()
        assert json.loads(path.read_text())["environment"].keys() == {"WANDB_API_KEY"}


def test_a_config_that_would_not_be_accepted_is_kept_and_marked(tmp_path: Path) -> None:
    path = written(tmp_path, f"config-{RUN}.json", {"run_name": "a"})
    (note,) = clean_configs(tmp_path, RUN)
    assert "would not be accepted here" in note and path.exists()


@pytest.mark.parametrize(
    "content", [b"{", [1], {"environment": [1]}, {"environment": {"A": 1}}, b"[" * 100_000]
)
def test_a_config_that_is_none_is_left_out_with_a_note(tmp_path: Path, content: Any) -> None:
    path = written(tmp_path, f"config-{RUN}.json", content)
    (note,) = clean_configs(tmp_path, RUN)
    assert "was left out" in note and not path.exists()


def test_capabilities_of_our_own_workers_are_taken_over() -> None:
    document = json.loads(json.dumps(WorkerCapabilities("x").to_dict()))
    assert usable_capabilities(document) == (document, [])
    assert usable_capabilities({}) == ({}, [])


@pytest.mark.parametrize(
    "changes",
    [
        {"worker_type": 5},
        {"env_families": "abc"},
        {"env_families": [1]},
        {"lane": "fast"},
        {"max_agents": "many"},
        {"readiness_checks": [{"name": 1}]},
        {"config_schema": []},
        {"metadata": {"name": []}},
    ],
)
def test_capabilities_of_wild_types_are_left_out_with_a_note(changes: dict[str, Any]) -> None:
    capabilities, (note,) = usable_capabilities({"worker_type": "x", **changes})
    assert capabilities == {} and "capabilities were left out" in note
