"""Archives that somebody made to do harm, each from a good one, with every hash right.

`HOSTILE` names them all. Each is a function that changes the content of a good archive, so that the
check under test is the first thing that can refuse it, and says what must become of it: refused
(with words that the refusal must hold), or taken in and harmless.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pickle
import sqlite3
import stat
import struct
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.daemon.keeping.archive.bundle import COMMENT, ENTRY_NAME, INDEX_NAME
from mosaic.telemetry.journal.files import packed_member

# No file of this name, and nothing that a command with it makes, may ever be found anywhere.
CANARY = "mosaic-hostile-canary"
_RAW = "@raw:"


class Raw(str):
    """JSON that Python would not write, such as NaN."""


@dataclass
class Content:
    """What an archive holds, and how it is packed again."""

    run_id: str
    entry: dict[str, Any]
    files: dict[str, bytes]
    index: dict[str, Any] = field(default_factory=dict)
    # Instead of what would be written for the entry.
    entry_json: bytes | None = None
    # Members beside those above; their names stand in the index too, as they are.
    members: list[tuple[zipfile.ZipInfo, bytes]] = field(default_factory=list)
    patch: Callable[[bytearray], None] | None = None

    @property
    def row(self) -> dict[str, Any]:
        found: dict[str, Any] = self.entry["run"]
        return found

    def config(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.files[self.config_name])
        return document

    def set_config(self, document: Any) -> None:
        self.files[self.config_name] = _json(document)

    @property
    def config_name(self) -> str:
        return f"configs/config-{self.run_id}.json"


def content_of(archive: Path) -> Content:
    with zipfile.ZipFile(archive) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    entry = json.loads(files.pop(ENTRY_NAME))
    index = json.loads(files.pop(INDEX_NAME))
    for name in [name for name in files if name.startswith("run/events.jsonl")]:
        journal = files.pop(name)
        files["run/events.jsonl"] = gzip.decompress(journal) if name.endswith(".gz") else journal
    del index["files"]
    return Content(entry["run"]["run_id"], entry, files, index)


def packed(content: Content) -> bytes:
    document = _json(content.entry) if content.entry_json is None else content.entry_json
    members = [(_regular(ENTRY_NAME), document)]
    members += [(_regular(name), data) for name, data in content.files.items()]
    members += content.members
    listed = [
        {
            "name": info.orig_filename,
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        for info, data in members
    ]
    index = {"files": listed, **content.index}
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for info, data in [*members, (_regular(INDEX_NAME), _json(index))]:
            archive.writestr(info, data)
        archive.comment = COMMENT + b"0" * 64
    whole = bytearray(buffer.getvalue())
    if content.patch is not None:
        content.patch(whole)
    return bytes(whole[:-64]) + hashlib.sha256(whole[:-64]).hexdigest().encode()


def _regular(name: str, **attributes: Any) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.filename = name  # ZipInfo would cut it at a NUL
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info


def _json(value: Any) -> bytes:
    text = json.dumps(value, default=str)
    for token in ("NaN", "Infinity", "1e400", "9" * 400, "9" * 5000):
        text = text.replace(f'"{_RAW}{token}"', token)
    return text.encode()


class Hostile(NamedTuple):
    name: str
    change: Callable[[Content], None]
    # Words of the refusal; None when it is taken in.
    words: str | None
    # Taken in: what its history must say was left out or is wrong, if anything.
    note: str = ""


HOSTILE: list[Hostile] = []


def refused(words: str) -> Callable[[Callable[[Content], None]], Callable[[Content], None]]:
    return lambda change: _add(change, words)


def contained(note: str = "") -> Callable[[Callable[[Content], None]], Callable[[Content], None]]:
    return lambda change: _add(change, None, note)


def _add(
    change: Callable[[Content], None], words: str | None, note: str = ""
) -> Callable[[Content], None]:
    HOSTILE.append(Hostile(change.__name__.strip("_").replace("_", "-"), change, words, note))
    return change


def _field(name: str, column: str, value: Any, words: str) -> None:
    def change(content: Content) -> None:
        content.row[column] = value

    HOSTILE.append(Hostile(f"entry-{column}-{name}", change, words))


# 1. Every value of a record, beyond what a record can hold.

_INTEGERS = {
    "attempt": 2**32,
    "priority": 2**31,
    "cpus": 2**32,
    "memory_mb": 2**32,
    "exit_code": 2**31,
    "signal": 2**31,
    "steps": 2**63,
    "total_steps": 2**63,
    "episodes": 2**63,
    "total_episodes": 2**63,
    "quarantined_lines": 2**63,
    "revision": 2**53 + 1,
    "slot": 2**63,
    "stop_requested": 2,
    "pinned": 2,
}
for _column, _above in _INTEGERS.items():
    _field("too-large", _column, _above, f"{_column} is {_above}")
for _column in ("attempt", "cpus", "memory_mb", "steps", "episodes", "quarantined_lines"):
    _field("negative", _column, -1, f"{_column} is -1")
for _column in ("last_return", "mean_return", "steps_per_second", "created_at"):
    _field("nan", _column, Raw(f"{_RAW}NaN"), "cannot be used")
    _field("infinite", _column, Raw(f"{_RAW}Infinity"), "cannot be used")
    _field("1e400", _column, Raw(f"{_RAW}1e400"), "cannot be used")
for _column in ("created_at", "updated_at", "started_at", "finished_at", "not_before"):
    _field("1e300", _column, 1e300, f"{_column} is 1e+300")
    _field("before-1970", _column, -1.0, f"{_column} is -1.0")
_field("of-a-trillion", "attempt", 10**12, "attempt is 1000000000000")
_field("of-400-digits", "attempt", Raw(f"{_RAW}{'9' * 400}"), "attempt is 999")
_field("of-5000-digits", "steps", Raw(f"{_RAW}{'9' * 5000}"), "cannot be used")
_field("true", "attempt", True, "attempt is True")
_field("fraction", "attempt", 1.5, "attempt is 1.5")
_field("text", "steps", "many", "steps is 'many'")
_field("missing", "steps", None, "steps is missing")
_field("list", "steps", [1], "cannot be used")
_field("object", "created_at", {"a": 1}, "cannot be used")
_field("of-10-mb", "env_id", "x" * 10_000_000, "env_id has 10,000,000 characters")
_field("number", "env_id", 5, "env_id is 5")
_field("unknown", "origin", "root", "origin is 'root'")
_field("unknown", "outcome", "won", "outcome is 'won'")
_field("not-over", "state", "EXEC", "was not over")
_field("unknown", "state", "ROOT", "state is 'ROOT'")
_field("slots", "gpu_slots", "1,../2", "gpu_slots is")
_field("escape", "run_name", "\x1b]52;c;eA==\x07", "control characters")
_field("path", "run_name", "../../etc/passwd", "looks like a path")
_field("path", "worker", f"../../{CANARY}", "not a plain name")
_field("turned-round", "worker", "log\u202egol", "not a plain name")
_field("long", "worker", "w" * 230, "not a plain name")
_field("not-json", "failure_json", "{", "failure_json is")
_field("exit-code", "failure_json", '{"kind": "exit_code", "exit_code": 1e99}', "exit_code")
_field("unknown-kind", "failure_json", '{"kind": "magic"}', "kind")
_field("unknown-field", "failure_json", '{"kind": "lost", "x": 1}', "failure_json")
_field("deep", "failure_json", "[" * 90_000, "failure_json")
_field("another-run", "run_id", "01M7GMPZ4XRYYH66DCYMN8YV3R", "two different runs")
_field("path", "run_id", "../../etc", "run_id is")


@contained()
def _entry_that_claims_to_be_from_here(content: Content) -> None:
    content.row.update(origin="here", client_key="a-key-of-this-home", slot=1, gpu_slots="0,1")
    content.row.update(capabilities_digest="0" * 32, revision=2**53, checkpoint_uri="/etc/passwd")


@refused("is missing")
def _entry_without_columns(content: Content) -> None:
    content.entry["run"] = {"run_id": content.run_id}


@refused("cannot be used")
def _entry_with_a_list_for_a_row(content: Content) -> None:
    content.entry["run"] = [1, 2]


@refused("in every list")
def _entry_too_long_for_lists(content: Content) -> None:
    for column in ("agent_id", "worker_id", "env_id", "stop_reason", "metrics_digest"):
        content.row[column] = "\u2603" * 90_000


@refused("cannot be used")
def _entry_nested_a_million_times(content: Content) -> None:
    content.entry_json = b'{"version": 1, "run": ' + b"[" * 1_000_000


@refused("cannot be used")
def _entry_that_is_no_text(content: Content) -> None:
    content.entry_json = b'{"version": 1, "run": {"run_id": "\xff\xfe"}}'


@refused("its version is 2")
def _entry_of_the_future(content: Content) -> None:
    content.entry["version"] = 2


@refused("entry.json has")
def _entry_of_40_mb(content: Content) -> None:
    content.entry_json = json.dumps(content.entry).encode() + b" " * 40_000_000


@refused("'entry.json' is missing")
def _entry_missing(content: Content) -> None:
    content.patch = lambda data: _rename(data, b"entry.json", b"entry.jsom")


_STEP = {"state": "EXEC", "at": 1.0, "reason": "", "attempt": 1}


@refused("transitions; 100,000 is the limit")
def _history_of_200000_lines(content: Content) -> None:
    content.entry["transitions"] = [_STEP] * 200_000


@refused("entry.json has")
def _history_of_a_million_lines(content: Content) -> None:
    content.entry["transitions"] = [_STEP] * 1_000_000


@refused("transition 0: attempt is")
def _history_with_a_huge_attempt(content: Content) -> None:
    content.entry["transitions"] = [{**_STEP, "attempt": 10**12}]


@refused("transition 1: at is 1e+300")
def _history_at_the_end_of_time(content: Content) -> None:
    content.entry["transitions"] = [_STEP, {**_STEP, "at": 1e300}]


@refused("transition 0: state is")
def _history_of_unknown_states(content: Content) -> None:
    content.entry["transitions"] = [{**_STEP, "state": "ROOT"}]


@refused("its record has")
def _history_too_long_to_be_shown(content: Content) -> None:
    content.entry["transitions"] = [{**_STEP, "reason": "x" * 90_000}] * 150


@contained("its capabilities were left out")
def _capabilities_of_wild_types(content: Content) -> None:
    content.entry["capabilities"] = {"worker_type": 5, "lane": [], "config_schema": "x"}


@contained("its capabilities were left out")
def _capabilities_with_a_lane_nobody_knows(content: Content) -> None:
    content.entry["capabilities"] = {"worker_type": "x", "lane": "fast", "env_families": "abc"}


@refused("capabilities")
def _capabilities_that_are_a_list(content: Content) -> None:
    content.entry["capabilities"] = [1]


@refused("cannot be used")
def _capabilities_nested_deeply(content: Content) -> None:
    deep = b"[" * 50_000 + b"]" * 50_000
    content.entry["capabilities"] = "@deep@"
    document = _json(content.entry)
    content.entry_json = document.replace(b'"@deep@"', b'{"worker_type": ' + deep + b"}")


@refused("capabilities have more than")
def _capabilities_of_10_mb(content: Content) -> None:
    content.entry["capabilities"] = {"worker_type": "x" * 10_000_000}


# 2. What zip files can be made to say.


def _name(name: str, label: str) -> None:
    def change(content: Content) -> None:
        content.members.append((_regular(name), b"harm"))

    HOSTILE.append(Hostile(f"zip-name-{label}", change, "has no place in a run"))


_name(f"../{CANARY}", "above")
_name(f"run/../../{CANARY}", "above-from-inside")
_name(f"/tmp/{CANARY}", "absolute")
_name(f"run//tmp/{CANARY}", "absolute-from-inside")
_name(f"run\\..\\..\\{CANARY}", "backslash")
_name(f"C:/{CANARY}", "drive")
_name(f"run/a\x00{CANARY}", "nul")
_name("run/log\x1b[2J.txt", "escape")
_name("run/exe\u202etxt.sh", "turned-round")
_name("run/line\u2028break", "line-break")
_name("run/" + "n" * 256, "long")
_name("run/" + "\u2603" * 100, "long-in-bytes")
_name("run/" + "d/" * 60 + "x", "deep")
_name("run/" + "/".join(["e" * 200] * 6), "long-in-all")
_name("run/./x", "dot")
_name("run/", "folder")
_name("registry.sqlite", "registry")
_name("configs/config-01M7GMPZ4XRYYH66DCYMN8YV3R.json", "config-of-another-run")
_name("configs/retention.toml", "no-config")


@refused("a number that no home reaches")
def _zip_name_that_uses_up_all_numbers(content: Content) -> None:
    content.files[f"configs/worker-{content.run_id}-999999999.json"] = b"{}"


@contained()
def _zip_names_that_differ_by_case_and_end_oddly(content: Content) -> None:
    for name in ("run/Case", "run/case", "run/colon:colon", "run/dots...", "run/ space "):
        content.files[name] = name.encode()


@refused("twice")
def _zip_name_twice(content: Content) -> None:
    content.members += [(_regular("run/a"), b"1"), (_regular("run/a"), b"2")]


@refused("lies below a file")
def _zip_file_below_a_file(content: Content) -> None:
    content.files |= {"run/a": b"1", "run/a/b": b"2"}


@refused("not a plain file")
def _zip_link(content: Content) -> None:
    link = _regular("run/link", external_attr=(stat.S_IFLNK | 0o777) << 16)
    content.members.append((link, b"/etc/passwd"))


@refused("not a plain file")
def _zip_device(content: Content) -> None:
    device = _regular("run/device", external_attr=(stat.S_IFCHR | 0o666) << 16)
    content.members.append((device, b""))


@refused("encrypted")
def _zip_encrypted(content: Content) -> None:
    content.files["run/a"] = b"1"
    content.patch = lambda data: _set(data, b"run/a", 8, "<H", 1)


@refused("a way we do not use")
def _zip_of_an_unknown_method(content: Content) -> None:
    content.files["run/a"] = b"1"
    content.patch = lambda data: _set(data, b"run/a", 10, "<H", 99)


@refused("larger than it can be")
def _zip_of_a_size_that_cannot_be(content: Content) -> None:
    content.files["run/a"] = bytes(1_000_000)
    content.patch = lambda data: _set(data, b"run/a", 24, "<I", 4_000_000_000)


@refused("more bytes than it has")
def _zip_of_files_that_share_their_bytes(content: Content) -> None:
    content.files["run/a"] = content.files["run/b"] = bytes(range(256)) * 100

    def overlap(data: bytearray) -> None:
        for name in (b"run/a", b"run/b"):
            _set(data, name, 20, "<I", len(data) - 1000)

    content.patch = overlap


@refused("refused")
def _zip_of_files_in_one_place(content: Content) -> None:
    content.files["run/a"] = content.files["run/b"] = b"the same"
    content.patch = lambda data: _set(data, b"run/b", 42, "<I", data.index(b"run/a") - 30)


@refused("refused")
def _zip_with_an_offset_beyond_its_end(content: Content) -> None:
    content.files["run/a"] = b"1"
    content.patch = lambda data: _set(data, b"run/a", 42, "<I", 0xFFFFFFF0)


@refused("refused")
def _zip_that_lies_about_64_bits(content: Content) -> None:
    extra = struct.pack("<HHQQ", 1, 16, 2**63, 2**63)
    content.members.append((_regular("run/a", extra=extra), b"1"))
    content.patch = lambda data: _set(data, b"run/a", 20, "<II", 0xFFFFFFFF, 0xFFFFFFFF)


@refused("list of files has")
def _zip_whose_directory_is_said_to_be_huge(content: Content) -> None:
    content.patch = lambda data: struct.pack_into("<I", data, len(data) - 22 - 86 + 12, 2**31)


@refused("is not in its index")
def _zip_with_more_files_than_its_index(content: Content) -> None:
    content.index["files"] = []


@refused("is incomplete")
def _zip_whose_index_is_wild(content: Content) -> None:
    content.index["files"] = [{"name": [], "size": -1, "sha256": 7}]


@refused("names no run")
def _zip_whose_index_names_a_path(content: Content) -> None:
    content.index["run_id"] = "../../../../../../tmp/x"


@refused("knows versions up to")
def _zip_of_a_newer_version(content: Content) -> None:
    content.index["version"] = 10**6


@refused("more than 100,000 files")
def _zip_of_100001_files(content: Content) -> None:
    """Written by hand: a list of files, and not one of them."""

    def list_many(data: bytearray) -> None:
        entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *[20] * 6, *[0] * 3, 1, *[0] * 6) + b"x"
        directory = entry * 100_001
        end = bytes(data[-108:-64])
        data[:] = directory + end + b"0" * 64
        struct.pack_into("<I", data, len(data) - 108 + 12, len(directory))
        struct.pack_into("<I", data, len(data) - 108 + 16, 0)

    content.patch = list_many


@refused("would become")
def _bomb_of_300_mb(content: Content) -> None:
    content.files["run/zeros"] = bytes(300_000_000)


@refused("would become")
def _bomb_in_a_journal(content: Content) -> None:
    text = b" " * 262_143 + b"\n"
    starts = range(0, 1200 * len(text), len(text))
    members = [packed_member(text, start) for start in starts]
    del content.files["run/events.jsonl"]
    content.files["run/events.jsonl.gz"] = b"".join(members)


@refused("would become")
def _journal_with_a_gap_of_a_terabyte(content: Content) -> None:
    """Heads that belong to each other by their checksums, and a hole that claims to be text."""
    del content.files["run/events.jsonl"]
    hole = zlib.compress(b"x", 0) * 100_000
    last = packed_member(b"{}\n", len(hole) * 1000)
    content.files["run/events.jsonl.gz"] = packed_member(b"{}\n", 0) + hole + last


# 3. Stores, journals and what workers leave.

_ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"


def _store(statements: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "telemetry.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(statements)
        return path.read_bytes()


@contained()
def _store_whose_table_never_ends(content: Content) -> None:
    content.files["run/telemetry.sqlite"] = _store(
        f"CREATE VIEW ingest_state AS {_ENDLESS} x AS run_id FROM n;"
        f"CREATE VIEW metrics AS {_ENDLESS} x AS name, x AS cursor FROM n; PRAGMA user_version = 2"
    )


@contained()
def _store_with_triggers(content: Content) -> None:
    content.files["run/telemetry.sqlite"] = _store(
        "CREATE TABLE ingest_state (run_id, offset); CREATE TRIGGER t AFTER INSERT ON ingest_state"
        " BEGIN DELETE FROM ingest_state; END; PRAGMA user_version = 2"
    )


@contained()
def _store_that_is_no_store(content: Content) -> None:
    content.files["run/telemetry.sqlite"] = b"SQLite format 3\x00" + b"\xff" * 50_000
    content.files["run/telemetry.sqlite-wal"] = b"\x37\x7f\x06\x82" + b"\xff" * 5_000
    content.files["run/telemetry.corrupt-1.sqlite"] = b"x"


@contained()
def _store_and_record_that_are_folders(content: Content) -> None:
    for name in ("run/telemetry.sqlite", "run/run.json"):
        del content.files[name]
        content.files[f"{name}/inside"] = b"x"


@refused("it is not a regular file")
def _journal_that_is_a_folder(content: Content) -> None:
    content.files["run/events.jsonl/inside"] = content.files.pop("run/events.jsonl")


@contained("its journal is missing")
def _store_without_a_journal(content: Content) -> None:
    del content.files["run/events.jsonl"]


@contained("that cannot be read: 1")
def _journal_nested_a_million_times(content: Content) -> None:
    line = b'{"type": "run_started", "seq": 1, "payload": ' + b"[" * 1_000_000 + b"\n"
    content.files["run/events.jsonl"] += line


@contained("that cannot be read: 1")
def _journal_with_a_line_of_50_mb(content: Content) -> None:
    content.files["run/events.jsonl"] += b'"' + b"x" * 50_000_000 + b'"\n'


@contained("that cannot be read: 1,000")
def _journal_of_another_run(content: Content) -> None:
    event = {"type": "metric", "seq": 1, "timestamp": 1.0, "name": "a", "value": 1.0, "step": 1}
    line = json.dumps({**event, "run_id": "01M7GMPZ4XRYYH66DCYMN8YV3R"}).encode()
    content.files["run/events.jsonl"] = (line + b"\n") * 1000


@contained("that cannot be read: 1,001")
def _journal_of_nul_bytes(content: Content) -> None:
    content.files["run/events.jsonl"] = bytes(2_000_000) + b"\n" + b"\xff\xfe\x00\n" * 1000


@contained("not hold the metrics")
def _journal_of_extreme_numbers(content: Content) -> None:
    episode = {"type": "episode", "timestamp": 1e300, "steps": 2**53 - 1, "terminated": True}
    episode |= {"truncated": False, "episode_index": -1, "total_reward": 1.7e308}
    lines = [json.dumps({**episode, "seq": number}) for number in range(200)]
    content.files["run/events.jsonl"] = "\n".join(lines).encode() + b"\n"


@contained("not hold the metrics")
def _journal_with_20000_metrics(content: Content) -> None:
    event = {"type": "metric", "timestamp": 1.0, "value": "NaN", "step": -(2**53) + 1}
    lines = [json.dumps({**event, "seq": n, "name": f"\u202e{n}"}) for n in range(20_000)]
    content.files["run/events.jsonl"] = "\n".join(lines).encode() + b"\n"


@contained("that cannot be read: 1")
def _journal_that_is_damaged(content: Content) -> None:
    text = content.files.pop("run/events.jsonl")
    member = bytearray(packed_member(text, 0))
    member[60] ^= 0xFF
    content.files["run/events.jsonl.gz"] = bytes(member)


@contained()
def _recording_with_a_bomb(content: Content) -> None:
    bomb = zlib.compress(bytes(100_000_000), 9)
    content.files["run/recordings/attempt-1.rec"] = b"MREC" + struct.pack("<I", len(bomb)) + bomb


@contained()
def _recording_that_names_a_command(content: Content) -> None:
    head = {
        "version": 1,
        "entry_point": "os:system",
        "kwargs": {"command": f"touch /tmp/{CANARY}"},
        "python": "/tmp/python-of-somebody",
        "folder": "/tmp",
    }
    content.files["run/recordings/process-1.rec"] = json.dumps(head).encode() + b"\n"
    content.files["run/recordings/process-1.json"] = json.dumps(head).encode()


class _Shell:
    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.system, (f"touch /tmp/{CANARY}",)


@contained()
def _checkpoint_that_is_a_pickle(content: Content) -> None:
    for name in ("model.pt", "model.pkl", "weights.npy", ".state/manifest.json"):
        content.files[f"run/outputs/{name}"] = pickle.dumps(_Shell())


@contained()
def _machine_files_of_an_attempt(content: Content) -> None:
    for name in ("live.json", "lock", "worker.token"):
        content.files[f"run/attempts/1/{name}"] = b'{"pid": 1}'
    content.files["run/attempts/99999/exit.json"] = b"[" * 100_000


@contained()
def _manifest_with_paths_and_wild_types(content: Content) -> None:
    content.files["run/analytics.json"] = _json(
        {
            "run_id": content.run_id,
            "optuna_db_path": "/etc/passwd",
            "tensorboard": {"enabled": "yes", "relative_path": "../../../../etc"},
            "checkpoints": [{"path": "/etc/shadow", "step": "x"}, 7],
        }
    )


@contained()
def _manifest_nested_deeply(content: Content) -> None:
    content.files["run/analytics.json"] = b"[" * 200_000


@contained()
def _manifest_of_30_mb(content: Content) -> None:
    content.files["run/analytics.json"] = b'{"a": "' + b"x" * 30_000_000 + b'"}'


@contained()
def _manifest_of_a_million_empty_lists(content: Content) -> None:
    content.index["runs_folder"] = "/elsewhere/runs"
    content.files["run/analytics.json"] = b'{"a": [' + b"[]," * 1_300_000 + b"[]]}"


@contained()
def _manifest_with_nan(content: Content) -> None:
    content.index["runs_folder"] = "/elsewhere/runs"
    path = f"/elsewhere/runs/{content.run_id}/outputs"
    content.files["run/analytics.json"] = _json({"a": path, "b": Raw(f"{_RAW}NaN")})


@contained()
def _logs_with_escapes(content: Content) -> None:
    escapes = b"\x1b]52;c;cm0gLXJmIC8=\x07\x1b]0;title\x07\x1b[2J\x1b[?1049h\n" * 1000
    for name in [name for name in content.files if name.startswith("run/logs/")]:
        content.files[name] = escapes


@contained()
def _logs_that_are_a_file(content: Content) -> None:
    for name in [name for name in content.files if name.startswith("run/logs/")]:
        del content.files[name]
    content.files["run/logs"] = b"not a folder"


@contained()
def _log_that_is_a_folder(content: Content) -> None:
    worker = content.row["worker"]
    for stream in ("stdout", "stderr"):
        content.files.pop(f"run/logs/{worker}.{stream}.log", None)
        content.files[f"run/logs/{worker}.{stream}.log/inside"] = b"x"


# 4. Configs.


@contained()
def _config_that_runs_a_command(content: Content) -> None:
    variables = {"PYTHONWARNINGS": "all:0:antigravity.x:0:0", "BROWSER": f"touch /tmp/{CANARY} #%s"}
    content.set_config({**content.config(), "environment": variables})


@contained()
def _config_with_secrets(content: Content) -> None:
    variables = {"WANDB_API_KEY": "canary-of-a-secret", "TOKEN": "canary-of-a-secret"}
    content.set_config({**content.config(), "environment": variables})
    content.files[f"configs/worker-{content.run_id}-7.json"] = _json({"environment": variables})


@contained()
def _config_whose_environment_imports_a_module(content: Content) -> None:
    document = content.config()
    document["metadata"]["worker"]["config"]["env_id"] = "this:CartPole-v1"
    content.set_config(document)
    content.row["env_id"] = "this:CartPole-v1"


@contained("was left out")
def _config_with_an_environment_of_wild_types(content: Content) -> None:
    content.set_config({**content.config(), "environment": {"A": {"b": []}, "C": 5}})


@contained("was left out")
def _config_that_is_no_object(content: Content) -> None:
    content.set_config([1, 2, 3])


@contained("was left out")
def _config_that_is_no_json(content: Content) -> None:
    content.files[content.config_name] = b"\xff{"


@contained("nested too deeply")
def _config_nested_deeply(content: Content) -> None:
    content.files[content.config_name] = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


@contained("was left out: it is larger than 4,000,000 bytes")
def _config_of_20_mb(content: Content) -> None:
    content.set_config({"a": "x" * 20_000_000})


@contained("more than 500,000 values")
def _config_of_a_million_empty_lists(content: Content) -> None:
    content.files[content.config_name] = b'{"a": [' + b"[]," * 1_300_000 + b"[]]}"


@contained("text with a NUL or with half a character")
def _config_with_text_that_is_none(content: Content) -> None:
    content.files[content.config_name] = b'{"run_name": "\\ud800", "a": "\\u0000"}'


@contained("too large a number")
def _config_with_numbers_that_are_none(content: Content) -> None:
    content.set_config({**content.config(), "priority": Raw(f"{_RAW}1e400")})


def _set(data: bytearray, name: bytes, offset: int, layout: str, *values: int) -> None:
    """In the directory's entry of that name."""
    struct.pack_into(layout, data, data.rindex(name) - 46 + offset, *values)


def _rename(data: bytearray, old: bytes, new: bytes) -> None:
    data[:] = data.replace(old, new)


def hostile_archive(good: Path, hostile: Hostile) -> bytes:
    content = content_of(good)
    hostile.change(content)
    return packed(content)
