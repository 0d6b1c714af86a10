"""The journal writes whole numbered lines, without secrets, whatever the system answers."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic.contracts.events import MAX_LINE_BYTES
from mosaic.contracts.worker_environment import SECRET_NAMES
from mosaic.errors import StoreError
from mosaic.testing.event_check import parse_journal
from mosaic.worker import journal as journal_module
from mosaic.worker.journal import Journal, SecretMask, read_position
from tests.waiting import PATIENCE_S, wait_until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    journal = Journal(path)
    yield journal
    journal.close(timeout_s=1)


class Disk:
    """Stands in for `os.write`: takes `room` bytes, then answers with an error."""

    def __init__(self, room: int, error: int = errno.ENOSPC) -> None:
        self.room = room
        self.error = error
        self.refusals = 0
        self._write = os.write

    def write(self, fd: int, data: bytes) -> int:
        if self.room <= 0:
            self.refusals += 1
            raise OSError(self.error, os.strerror(self.error))
        written = self._write(fd, bytes(data[: self.room]))
        self.room -= written
        return written


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Disk]:
    def install(room: int, error: int = errno.ENOSPC) -> Disk:
        disk = Disk(room, error)
        monkeypatch.setattr(os, "write", disk.write)
        return disk

    return install


def numbers(path: Path) -> list[int]:
    return [event["n"] for event in parse_journal(path.read_bytes())]


def test_events_reach_the_file_without_being_flushed(journal: Journal, path: Path) -> None:
    journal.append('"n":1')
    wait_until(lambda: path.read_bytes() == b'{"seq":0,"n":1}\n')


def test_deferred_event_is_formatted_when_it_is_written(journal: Journal, path: Path) -> None:
    kind = journal.add_formatter(lambda event: f'"n":{event[1]}')
    journal.defer((kind, 7))
    assert journal.flush()
    assert path.read_bytes() == b'{"seq":0,"n":7}\n'


def test_file_is_private(journal: Journal, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600


def test_numbers_continue_after_what_the_journal_holds(path: Path) -> None:
    for _ in range(3):
        journal = Journal(path)
        journal.append('"n":1')
        journal.append('"n":2')
        assert journal.close()
    assert [event["seq"] for event in parse_journal(path.read_bytes())] == list(range(6))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", (0, False)),
        (b'{"seq":4}\n', (5, False)),
        (b'{"seq":4}', (5, True)),
        (b'{"seq":4}\n{"seq":5', (5, True)),
        (b'{"seq":4}\n{"se', (5, True)),
        (b'{"seq":4}\nnoise\n\n[1]\n{"seq":"x"}\n', (5, False)),
        (b'{"seq":9}\n' + b"x" * (MAX_LINE_BYTES + 5) + b"\n", (10, False)),
        (b"noise", (0, True)),
        (b"\n", (0, False)),
        (b"\xff\xfe\n", (0, False)),
    ],
)
def test_position_is_read_from_the_tail(
    path: Path, content: bytes, expected: tuple[int, bool]
) -> None:
    path.write_bytes(content)
    assert read_position(path) == expected


def test_torn_last_line_is_ended_before_the_next_event(path: Path) -> None:
    path.write_bytes(b'{"seq":4,"n":4}\n{"seq":5,"n"')
    journal = Journal(path)
    journal.append('"n":5')
    journal.close()
    assert path.read_bytes() == b'{"seq":4,"n":4}\n{"seq":5,"n"\n{"seq":5,"n":5}\n'


def test_full_disk_loses_nothing_and_tears_no_line(
    journal: Journal, path: Path, full_disk: Callable[..., Disk]
) -> None:
    disk = full_disk(room=25)  # ends in the middle of the second line
    for n in range(100):
        journal.append(f'"n":{n}')
    wait_until(lambda: disk.refusals >= 2)
    assert path.stat().st_size == 25
    disk.room = 10**9
    wait_until(lambda: len(numbers(path)) == 100)
    assert numbers(path) == list(range(100))


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_events_survive_any_error_of_the_file(
    journal: Journal, path: Path, full_disk: Callable[..., Disk], error: int
) -> None:
    disk = full_disk(room=0, error=error)
    journal.append('"n":1')
    assert not journal.flush()
    disk.room = 10**9
    assert journal.flush()
    assert numbers(path) == [1]


def test_caller_waits_when_too_much_is_pending(
    journal: Journal,
    path: Path,
    full_disk: Callable[..., Disk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal_module, "MAX_PENDING_BYTES", 10_000)
    disk = full_disk(room=0)
    sent = 0

    def send() -> None:
        nonlocal sent
        for n in range(1000):
            journal.append(f'"n":{n},"text":"{"x" * 100}"')
            sent += 1

    sender = threading.Thread(target=send)
    sender.start()
    wait_until(lambda: disk.refusals >= 5)
    assert 0 < sent < 300
    disk.room = 10**9
    sender.join(timeout=PATIENCE_S)
    assert not sender.is_alive()
    journal.flush()
    assert numbers(path) == list(range(1000))


def test_caller_waits_when_too_many_events_are_buffered(
    journal: Journal,
    path: Path,
    full_disk: Callable[..., Disk],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal_module, "MAX_BUFFERED_EVENTS", 10)
    monkeypatch.setattr(journal_module, "MAX_PENDING_BYTES", 0)
    disk = full_disk(room=0)
    kind = journal.add_formatter(lambda event: f'"n":{event[1]}')
    journal.defer((kind, 0))
    wait_until(lambda: disk.refusals)
    finished = threading.Event()

    def send() -> None:
        for n in range(1, 100):
            journal.defer((kind, n))
        finished.set()

    threading.Thread(target=send).start()
    assert not finished.wait(0.1)
    disk.room = 10**9
    assert finished.wait(PATIENCE_S)
    journal.flush()
    assert numbers(path) == list(range(100))


def test_many_threads_share_one_sequence(journal: Journal, path: Path) -> None:
    def send(start: int) -> None:
        for n in range(start, start + 2000):
            journal.append(f'"n":{n}')

    threads = [threading.Thread(target=send, args=(start,)) for start in range(0, 8000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE_S)
    journal.flush()
    events = parse_journal(path.read_bytes())
    assert [event["seq"] for event in events] == list(range(8000))
    assert sorted(event["n"] for event in events) == list(range(8000))


def test_line_too_long_loses_its_large_fields_only(journal: Journal, path: Path) -> None:
    journal.append(f'"type":"step","observation":"{"x" * (MAX_LINE_BYTES + 1)}","reward":1.0')
    journal.flush()
    (event,) = parse_journal(path.read_bytes())
    assert event["type"] == "step" and event["reward"] == 1.0
    assert event["observation"] == {"omitted_bytes": MAX_LINE_BYTES + 3}


def test_closed_descriptor_is_opened_again(journal: Journal, path: Path) -> None:
    os.close(journal._fd)
    journal.append('"n":1')
    wait_until(lambda: numbers(path) == [1])


def test_closing_gives_up_on_a_disk_that_stays_full(
    path: Path, full_disk: Callable[..., Disk]
) -> None:
    journal = Journal(path)
    full_disk(room=0)
    journal.append('"n":1')
    assert not journal.close(timeout_s=0.1)
    journal.append('"n":2')  # harmless
    assert journal.close()


def test_events_after_closing_are_dropped(path: Path) -> None:
    journal = Journal(path)
    journal.close()
    journal.append('"n":1')
    assert journal.flush()
    assert path.read_bytes() == b""


def test_folder_that_does_not_exist_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        Journal(tmp_path / "nowhere" / "events.jsonl")
    assert caught.value.hint


def test_without_a_path_events_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    journal = Journal()
    journal.append('"n":1')
    journal.close()
    assert json.loads(capfd.readouterr().out) == {"seq": 0, "n": 1}


def test_events_are_dropped_and_counted_when_nobody_reads_stdout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(journal_module, "_STDOUT", writer)
    journal = Journal()
    for n in range(5):
        journal.append(f'"n":{n}')
    assert journal.close()
    assert journal.dropped == 5
    os.close(writer)


def test_forgotten_journal_writes_nothing(path: Path) -> None:
    journal = Journal(path)
    journal._stopping.set()
    journal._thread.join(timeout=PATIENCE_S)
    journal.append('"n":1')
    journal.forget()
    journal.append('"n":2')
    assert journal.flush()
    journal.close()
    os.close(journal._fd)  # a forked child keeps its copy until it ends
    assert path.read_bytes() == b""


KEY = 'sk-"1234\\5678'


def line(**event: object) -> str:
    return json.dumps(event, separators=(",", ":")) + "\n"


def test_value_of_a_secret_variable_is_masked_wherever_it_stands() -> None:
    mask = SecretMask({"WANDB_API_KEY": KEY})
    said = line(seq=1, payload={KEY: [f"key={KEY}"], "shown": repr(KEY)})
    assert json.loads(mask.apply(said)) == {
        "seq": 1,
        "payload": {"***": ["key=***"], "shown": "'***'"},
    }


def test_variables_the_daemon_names_are_secret_too() -> None:
    mask = SecretMask({SECRET_NAMES: "LICENCE,OTHER", "LICENCE": "ABCD-EFGH", "PATH": "/usr/bin"})
    assert mask.apply(line(text="ABCD-EFGH in /usr/bin")) == line(text="*** in /usr/bin")


def test_secret_of_digits_leaves_numbers_and_the_fields_of_the_sdk_alone() -> None:
    mask = SecretMask({"PIN_TOKEN": "2024"})
    said = line(seq=2024, type="step", run_id="2024", reward=20245.5, info="pin 2024")
    assert mask.apply(said) == said.replace("pin 2024", "pin ***")


def test_lines_without_a_secret_pass_as_they_are() -> None:
    mask = SecretMask({"WANDB_API_KEY": KEY})
    lines = line(seq=1) + line(seq=2, text="sk-")
    assert mask.apply(lines + line(seq=3, text=KEY)) == lines + line(seq=3, text="***")


def test_longer_secret_is_masked_as_a_whole_when_a_shorter_one_begins_it() -> None:
    mask = SecretMask({"A_TOKEN": "abcd", "B_TOKEN": "abcdefgh"})
    assert mask.apply(line(text="abcdefgh abcd")) == line(text="*** ***")


def test_empty_and_tiny_values_hide_nothing() -> None:
    mask = SecretMask({"A_TOKEN": "", "B_TOKEN": "abc"})
    assert mask.apply(line(text="abc")) == line(text="abc")
