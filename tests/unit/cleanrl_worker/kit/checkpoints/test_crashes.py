"""A crash or a full disk at any moment of saving leaves a whole checkpoint."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from mosaic.errors import CheckpointError
from tests.checkpoint_samples import assert_holds, empty_buffer, extend_buffer, save_step

CHANGING_CALLS = ("open", "write", "fsync", "replace", "link", "unlink", "mkdir")


class Crash(BaseException):
    """The process is gone: no handler for errors may count on running."""


@contextmanager
def failing_from(operation: int, failure: Callable[[], BaseException]) -> Iterator[list[str]]:
    """Every call that changes the file system fails, beginning with this one.

    Yields the calls made. A write that fails has written half, as a real one may have.
    """
    calls: list[str] = []
    real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in CHANGING_CALLS}

    def guarded(name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if name == "open" and not args[1] & os.O_CREAT:
                return real[name](*args, **kwargs)
            calls.append(name)
            if len(calls) <= operation:
                return real[name](*args, **kwargs)
            if name == "write" and len(calls) == operation + 1:
                real[name](args[0], args[1][: len(args[1]) // 2])
            raise failure()

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CHANGING_CALLS:
            patch.setattr(os, name, guarded(name))
        yield calls


@pytest.fixture(autouse=True)
def small_chunks_and_a_fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cleanrl_worker.kit.checkpoints.state.CHUNK_ROWS", 4)
    # What the simulated process wrote outlives it anyway; only that it asked is of interest.
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def training(folder: Path, keep: int, steps: tuple[int, ...]) -> Callable[[int], None]:
    """Saves the given steps; returns what saves one more."""
    store, buffer, saved = CheckpointStore(folder, "dqn", keep=keep), empty_buffer(), [0]

    def save(step: int) -> None:
        extend_buffer(buffer, saved[0], step)
        saved[0] = step
        save_step(store, step, buffer, metric=float(step))

    for step in steps:
        save(step)
    return save


def count_operations(folder: Path, keep: int, steps: tuple[int, ...], step: int) -> int:
    save = training(folder, keep, steps)
    with failing_from(10**9, Crash) as calls:
        save(step)
    return len(calls)


@pytest.mark.parametrize("keep", [1, 2])
def test_a_crash_at_any_operation_leaves_the_old_or_the_new_checkpoint(
    keep: int, tmp_path: Path
) -> None:
    total = count_operations(tmp_path / "count" / "runs" / "run", keep, (7, 12), 15)
    assert total > 20
    found = set()
    for operation in range(total):
        folder = tmp_path / str(operation) / "runs" / "run"
        save = training(folder, keep, (7, 12))
        with pytest.raises(Crash), failing_from(operation, Crash):
            save(15)
        step = load_checkpoint(folder).step
        found.add(step)
        for path in (folder, folder / "dqn.state", folder / "dqn.cleanrl_model"):
            assert_holds(load_checkpoint(path), step, with_buffer=True)
        load_checkpoint(folder / "dqn-best.cleanrl_model")
        assert find_checkpoint(tmp_path / str(operation)) == folder / "dqn.cleanrl_model"
        # The next process goes on here, and cleans up what the dead one left.
        training(folder, keep, (20,))
        assert_holds(load_checkpoint(folder), 20, with_buffer=True)
        assert not [path for path in folder.rglob("*") if path.name.endswith(".tmp")]
        generations = {path.name.split("-")[1].split(".")[0] for path in folder.rglob("model-*")}
        assert len(generations) == keep
    assert found == {12, 15}


def test_a_crash_in_the_first_save_leaves_none_or_a_whole_one(tmp_path: Path) -> None:
    total = count_operations(tmp_path / "count" / "runs" / "run", 1, (), 15)
    outcomes = set()
    for operation in range(total):
        run = tmp_path / str(operation)
        folder = run / "runs" / "run"
        save = training(folder, 1, ())
        with pytest.raises(Crash), failing_from(operation, Crash):
            save(15)
        path = find_checkpoint(run)
        outcomes.add(path and path.name)
        if path is not None:
            assert_holds(load_checkpoint(path), 15, with_buffer=True)
        training(folder, 1, (20,))
        assert_holds(load_checkpoint(folder), 20, with_buffer=True)
    assert outcomes == {None, "dqn.state", "dqn.cleanrl_model"}


def test_a_full_disk_keeps_the_old_checkpoint_and_the_next_save_works(tmp_path: Path) -> None:
    def disk_full() -> OSError:
        return OSError(errno.ENOSPC, "No space left on device")

    total = count_operations(tmp_path / "count", 1, (7, 12), 15)
    failures = 0
    for operation in range(total):
        folder = tmp_path / str(operation)
        save = training(folder, 1, (7, 12))
        with failing_from(operation, disk_full):
            try:
                save(15)
            except CheckpointError as error:
                failures += 1
                assert "step 15" in error.message
                assert "No space left" in error.message
                assert "stays" in error.hint
        step = load_checkpoint(folder).step
        assert_holds(load_checkpoint(folder / "dqn.cleanrl_model"), step, with_buffer=True)
        save(18)
        assert_holds(load_checkpoint(folder), 18, with_buffer=True)
        assert not [path for path in folder.rglob("*") if path.name.endswith(".tmp")]
    assert failures > total / 2  # only deleting old files may fail quietly


def test_a_folder_that_cannot_be_made_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="Not a directory") as caught:
        save_step(CheckpointStore(tmp_path / "file" / "run", "dqn"), 1)
    assert "nothing is saved so far" in caught.value.hint


def test_the_best_weights_load_while_better_ones_are_being_published(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "dqn", keep=1)
    for step, metric in ((1, 5.0), (2, 1.0)):
        save_step(store, step, metric=metric)
    best = tmp_path / "dqn-best.cleanrl_model"
    published = best.read_bytes()
    save_step(store, 3, metric=7.0)
    best.unlink()
    best.write_bytes(published)  # as a crash right after the manifest leaves it
    assert load_checkpoint(best).step == 3
