from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mosaic.injection.bridge as bridge_module
from mosaic.injection.bridge import Bridge
from mosaic.watch.bridge import Ledgers
from mosaic.watch.messages import Episode, Message, Metric, Progress
from tests.waiting import PATIENCE_S, wait_until


class Reader:
    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._rest = b""

    def messages(self) -> list[dict[str, Any]]:
        try:
            self._rest += os.read(self.fd, 1_000_000)
        except BlockingIOError:
            return []
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in lines]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    made = Reader(tmp_path / "bridge")
    yield made
    # The reader's, and that of the bridge, which would keep it until its process ends.
    for number in os.listdir("/proc/self/fd"):
        if os.path.realpath(f"/proc/self/fd/{number}").startswith(str(made.path)):
            os.close(int(number))


def ledgers(reader: Reader) -> list[Message]:
    taken: list[Message] = []
    Ledgers(reader.path.parent).read(taken.append)
    return taken


def test_values_and_episodes_are_there_at_once_and_messages_soon(reader: Reader) -> None:
    bridge = Bridge(str(reader.path))
    bridge.note("hello")
    for step in range(50):
        bridge.metric("loss", 1.0 / (step + 1), step)
    bridge.episode(21.0, 20, 3)
    *values, episode, progress = ledgers(reader)
    assert values == [Metric("loss", 1.0 / (step + 1), step) for step in range(50)]
    assert episode == Episode(21.0, 20, 3)
    assert isinstance(progress, Progress) and progress.steps == 20
    assert wait_until(reader.messages, what="the note") == [{"kind": "note", "text": "hello"}]
    bridge.close()


def test_the_same_point_through_two_libraries_is_one(reader: Reader) -> None:
    bridge = Bridge(str(reader.path))
    for source in ("logger", "tensorboard"):
        bridge.metric("loss", 1.0, 1, source)
        bridge.metric("nan", math.nan, 1, source)
    bridge.metric("loss", 2.0, 2, "tensorboard")
    assert [(each.name, each.step) for each in ledgers(reader) if isinstance(each, Metric)] == [
        ("loss", 1),
        ("nan", 1),
        ("loss", 2),
    ]
    bridge.close()


def test_what_one_library_logs_twice_is_two(reader: Reader) -> None:
    """Two environments end at the same step with the same return."""
    bridge = Bridge(str(reader.path))
    for _ in range(2):
        bridge.metric("episodic_return", 500.0, 1000, "tensorboard")
    assert len(ledgers(reader)) == 2
    bridge.close()


def test_a_reader_that_stalls_holds_nobody_up(reader: Reader) -> None:
    bridge = Bridge(str(reader.path))
    bridge.note("x" * 3000)
    wait_until(lambda: reader.messages(), what="the bridge to be up")
    for index in range(100):  # more than a pipe holds
        bridge.note(f"{index} " + "x" * 3000)
    seen: list[dict[str, Any]] = []

    def has_all() -> bool:
        seen.extend(reader.messages())
        return len(seen) == 100

    wait_until(has_all, what="all notes")
    bridge.close()


def test_without_a_reader_it_is_silent(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bridge")
    for path in (tmp_path / "bridge", tmp_path / "nothing"):
        bridge = Bridge(str(path))
        bridge.metric("loss", 1.0)
        bridge.episode(1.0, 1, 0)
        bridge.close()
        assert bridge._thread is None


def test_a_reader_that_goes_away_ends_it(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "bridge")
    bridge = Bridge(str(reader.path))
    bridge.note("hello")
    wait_until(reader.messages, what="the first message")
    os.close(reader.fd)
    bridge.note("anybody there?")
    thread = bridge._thread
    assert thread is not None
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert bridge._fd is None


def test_it_never_writes_into_a_file_that_took_the_place_of_its_pipe(
    reader: Reader, tmp_path: Path
) -> None:
    bridge = Bridge(str(reader.path))
    fd = bridge._fd
    assert fd is not None
    theirs = tmp_path / "data"
    with theirs.open("wb") as file:
        os.dup2(file.fileno(), fd)  # a script that closes what it does not know, then opens
    bridge.note("for people")
    bridge.close()
    os.close(fd)
    assert theirs.read_bytes() == b""
    assert [message["text"] for message in reader.messages()] == ["for people"], "opened again"
    assert bridge._fd not in (None, fd)


def test_another_pipe_under_its_name_gets_nothing(reader: Reader) -> None:
    bridge = Bridge(str(reader.path))
    fd = bridge._fd
    assert fd is not None
    os.close(fd)
    reader.path.unlink()
    os.mkfifo(reader.path)
    other = os.open(reader.path, os.O_RDONLY | os.O_NONBLOCK)
    bridge.note("for people")
    bridge.close()
    assert os.read(other, 100) == b""
    os.close(other)
    assert bridge._fd is None


def test_after_its_end_it_can_be_used_again(reader: Reader) -> None:
    """A program that wanted to become another one, and could not."""
    bridge = Bridge(str(reader.path))
    for text in ("one", "two"):
        bridge.note(text)
        bridge.close()
    assert [message["text"] for message in reader.messages()] == ["one", "two"]


def test_episodes_give_the_thread_a_turn_that_it_would_have_to_wait_for(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_module, "_TICK_S", 60.0)
    monkeypatch.setattr(bridge_module, "_PATIENCE_S", 10.0)
    bridge = Bridge(str(reader.path))
    ticks: list[None] = []
    bridge.each_tick(lambda: ticks.append(None))
    bridge.episode(1.0, 1, 0)
    assert ticks == [None], "the tick was over before the script went on"
    bridge.episode(1.0, 1, 0)
    assert ticks == [None], "the next turn is a tick later"
    bridge.close()


def test_a_thread_that_is_busy_does_not_hold_up_the_script(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_module, "_PATIENCE_S", 0.01)
    bridge = Bridge(str(reader.path))
    goes_on = threading.Event()

    def tick() -> None:
        goes_on.wait(PATIENCE_S)

    bridge.each_tick(tick)
    for _ in range(1000):
        bridge.episode(1.0, 1, 0)
    assert not goes_on.is_set()
    goes_on.set()
    bridge.close()
