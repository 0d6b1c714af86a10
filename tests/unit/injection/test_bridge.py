from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.injection.bridge import Bridge
from tests.waiting import wait_until


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
    os.close(made.fd)


def test_what_is_put_arrives_and_the_last_value_at_the_latest_with_the_end(reader: Reader) -> None:
    bridge = Bridge(str(reader.path), interval_s=60.0)
    bridge.note("hello")
    bridge.metric("loss", 1.0, 1)
    bridge.episode(21.0, 20, 3)
    first = wait_until(reader.messages, what="messages")
    assert [m["kind"] for m in first] == ["note", "episode", "metric"]
    assert first[1] == {
        "kind": "episode",
        "return": 21.0,
        "length": 20,
        "env": 3,
        "pid": os.getpid(),
    }
    for step in range(2, 50):
        bridge.metric("loss", 1.0 / step, step)
    bridge.close()
    assert [m["step"] for m in reader.messages()] == [49]


def test_a_reader_that_stalls_holds_nobody_up_and_gets_the_newest_values(reader: Reader) -> None:
    bridge = Bridge(str(reader.path), interval_s=0.0)
    bridge.note("x" * 3000)
    wait_until(lambda: reader.messages(), what="the bridge to be up")
    for index in range(100):  # more than a pipe holds
        bridge.note(f"{index} " + "x" * 3000)
    bridge.metric("loss", 1.0, 1)
    bridge.metric("loss", 2.0, 2)
    seen: list[dict[str, Any]] = []

    def has_metric() -> bool:
        seen.extend(reader.messages())
        return any(m["kind"] == "metric" for m in seen)

    wait_until(has_metric, what="the metric behind the notes")
    assert [m["value"] for m in seen if m["kind"] == "metric"] == [2.0]
    assert len([m for m in seen if m["kind"] == "note"]) == 100
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
    bridge = Bridge(str(reader.path), interval_s=0.0)
    bridge.note("hello")
    wait_until(reader.messages, what="the first message")
    os.close(reader.fd)
    bridge.note("anybody there?")
    thread = bridge._thread
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()
    assert bridge._fd is None


def test_it_never_writes_into_a_file_that_took_the_place_of_its_pipe(
    reader: Reader, tmp_path: Path
) -> None:
    bridge = Bridge(str(reader.path), interval_s=0.0)
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
    bridge = Bridge(str(reader.path), interval_s=0.0)
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
    bridge = Bridge(str(reader.path), interval_s=0.0)
    for text in ("one", "two"):
        bridge.note(text)
        bridge.close()
    assert [message["text"] for message in reader.messages()] == ["one", "two"]
