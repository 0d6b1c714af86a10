"""Archives: what is written can be read by any zip tool, and nothing wrong is ever taken in."""

from __future__ import annotations

import hashlib
import io
import json
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mosaic.daemon.keeping.archive import bundle
from mosaic.daemon.keeping.archive.bundle import COMMENT, ENTRY_NAME, INDEX_NAME
from mosaic.daemon.keeping.archive.reader import RunArchive
from mosaic.daemon.keeping.archive.writer import ArchiveStream, shrinks
from mosaic.daemon.registry.documents import RunEntry
from mosaic.errors import CorruptStoreError, MosaicError
from mosaic.paths import Home
from tests.forged_archives import entry_of, forged, regular, sealed
from tests.kept_runs import fill
from tests.registry_samples import made_home

Change = Callable[[dict[str, Any]], None]


def never() -> bool:
    return False


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


def archived(home: Home, entry: RunEntry) -> bytes:
    stream = ArchiveStream(home, entry, 1.0)
    data = b"".join(iter(stream.next, None))
    stream.close()
    return data


def laid_down(home: Home) -> RunEntry:
    entry = entry_of()
    fill(home.run(entry.run_id).directory, entry.run_id)
    home.config(entry.run_id).write_text("{}")
    return entry


def refused(data: bytes, *words: str) -> None:
    with pytest.raises(MosaicError) as caught:
        RunArchive(io.BytesIO(data))
    assert caught.value.hint
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_what_was_archived_is_unpacked_byte_by_byte(home: Home, tmp_path: Path) -> None:
    entry = laid_down(home)
    archive = RunArchive(io.BytesIO(archived(home, entry)))
    assert archive.index.run_id == entry.run_id and archive.index.entry == entry
    target = tmp_path / "unpacked"
    target.mkdir()
    archive.unpack(target, archive.index.files[1:], never)
    names = {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()}
    source = home.run(entry.run_id).directory
    expected = {f"run/{p.relative_to(source)}" for p in source.rglob("*") if p.is_file()}
    machine = {"run/attempts/1/worker.token", "run/attempts/1/lock"}
    assert names == (expected - machine) | {f"configs/config-{entry.run_id}.json"}
    for relative in ("outputs/model.bin", "events.jsonl", "logs/sample.stdout.log"):
        assert (target / "run" / relative).read_bytes() == (source / relative).read_bytes()
    assert list(home.transfer.iterdir()) == [], "the copy of the store is gone"


def test_any_zip_tool_finds_it_sound(home: Home) -> None:
    data = archived(home, laid_down(home))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[-1] == INDEX_NAME
        assert archive.comment == data[-len(archive.comment) :]
    assert b"token-canary-5e1f" not in data


def test_what_does_not_shrink_is_stored(home: Home) -> None:
    entry = laid_down(home)
    folder = home.run(entry.run_id).directory
    (folder / "noise.bin").write_bytes(random.Random(1).randbytes(100_000))
    (folder / "zeros.bin").write_bytes(bytes(100_000))
    with zipfile.ZipFile(io.BytesIO(archived(home, entry))) as archive:
        assert archive.getinfo("run/noise.bin").compress_type == zipfile.ZIP_STORED
        assert archive.getinfo("run/zeros.bin").compress_type == zipfile.ZIP_DEFLATED
    assert not shrinks(b"")


def test_links_pipes_and_strange_names_are_left_out_and_listed(home: Home, tmp_path: Path) -> None:
    import os

    entry = laid_down(home)
    folder = home.run(entry.run_id).directory
    (tmp_path / "secret").write_text("outside")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe")
    (folder / "back\\slash").write_text("x")
    os.close(os.open(os.fsencode(folder) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    data = archived(home, entry)
    assert b"outside" not in data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        left_out = json.loads(archive.read(INDEX_NAME))["left_out"]
    assert len(left_out) == 5 and "'link'" in left_out
    RunArchive(io.BytesIO(data))


def test_a_store_with_an_open_write_ahead_log_is_archived_whole(home: Home) -> None:
    import sqlite3
    from contextlib import closing

    entry = laid_down(home)
    path = home.run(entry.run_id).telemetry
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO metrics VALUES ('late', 7)")
        data = archived(home, entry)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        (home.root / "copy.sqlite").write_bytes(archive.read("run/telemetry.sqlite"))
        assert not [name for name in archive.namelist() if "-wal" in name]
    with closing(sqlite3.connect(home.root / "copy.sqlite")) as copy:
        assert copy.execute("SELECT value FROM metrics WHERE name = 'late'").fetchone() == (7,)


def test_an_archive_given_up_half_way_leaves_nothing(home: Home) -> None:
    entry = laid_down(home)
    big = home.run(entry.run_id).directory / "zz.bin"
    big.write_bytes(random.Random(2).randbytes(2_000_000))
    stream = ArchiveStream(home, entry, 1.0)
    assert stream.next()
    stream.close()
    stream.close()
    assert list(home.transfer.iterdir()) == []


def test_memory_does_not_grow_with_the_run(home: Home) -> None:
    import tracemalloc

    entry = laid_down(home)
    big = home.run(entry.run_id).directory / "replay.bin"
    with big.open("wb") as file:
        for n in range(30):
            file.write(random.Random(n).randbytes(1_000_000))
    stream = ArchiveStream(home, entry, 1.0)
    tracemalloc.start()
    try:
        while stream.next() is not None:
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000


def test_200_flipped_bytes_are_all_refused(home: Home) -> None:
    data = archived(home, laid_down(home))
    chance = random.Random(5)
    end = len(data) - 22 - len(COMMENT) - 64
    central = data.index(b"PK\x01\x02")
    places = [
        0,
        4,
        30,
        central,
        central + 20,
        end,
        end + 4,
        end + 21,
        len(data) - 64,
        len(data) - 1,
    ]
    places += [end + 22 + n for n in range(len(COMMENT))]
    places += [chance.randrange(len(data)) for _ in range(200)]
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << chance.randrange(8)
        with pytest.raises(CorruptStoreError):
            RunArchive(io.BytesIO(bytes(damaged)))
    RunArchive(io.BytesIO(data))


def test_whatever_is_cut_off_or_appended_is_refused(home: Home) -> None:
    data = archived(home, laid_down(home))
    for length in (0, 1, 4, 22, 100, len(data) // 2, len(data) - 64, len(data) - 1):
        refused(data[:length], "refused")
    refused(data + b"\n", "refused")
    refused(b"x" + data, "refused")
    refused(data + data[-108:], "refused")


@pytest.mark.parametrize("data", [b"", b"hello", b"PK\x03\x04", b"\x00" * 5000, b"PK\x05\x06" * 30])
def test_what_is_no_archive(data: bytes) -> None:
    refused(data, "refused")


def test_a_zip_file_of_somebody_else() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", "b")
    refused(buffer.getvalue(), "MOSAIC did not write")


NAMES = [
    "../evil",
    "run/../../evil",
    "/etc/evil",
    "run//etc/evil",
    "run/..",
    "run/./x",
    "run/",
    "runs/x",
    "run",
    "x",
    "run/a\\..\\..\\evil",
    "run/a\x00b",
    "configs/../run/x",
    "configs/evil.json",
    "configs/config-01M7GMPZ4XRYYH66DCYMN8YV3R.json",
    "configs/worker-01M7GMPJSZ0BRD37XN2WQBJ4W5-../x.json",
    "configs/worker-01M7GMPJSZ0BRD37XN2WQBJ4W5-9999999999.json",
    "run/" + "n" * 256,
    "run/" + "d/" * 3000 + "x",
    "C:/evil",
    "",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    refused(forged([(name, b"evil")]))


def test_the_forgery_itself_is_accepted() -> None:
    archive = RunArchive(io.BytesIO(forged([("run/good", b"good")])))
    assert [item.name for item in archive.index.files] == ["entry.json", "run/good"]


def test_links_folders_and_duplicates_are_refused() -> None:
    link = zipfile.ZipInfo("run/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    refused(forged([(link, b"/etc/passwd")]), "not a plain file")
    folder = zipfile.ZipInfo("run/folder")
    folder.external_attr = (stat.S_IFDIR | 0o777) << 16
    refused(forged([(folder, b"")]), "not a plain file")
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = forged([("run/a", b"1"), ("run/a", b"2")])
    refused(twice, "twice")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 2}, "knows versions up to 1"),
        ({"version": 0}, "no version"),
        ({"version": "1"}, "no version"),
        ({"version": True}, "no version"),
        ({"run_id": "../../x"}, "names no run"),
        ({"run_id": None}, "$.run_id"),
        ({"run_id": "01M7GMPZ4XRYYH66DCYMN8YV3R"}, "two different runs"),
        ({"files": None}, "$.files"),
        ({"files": [1]}, "incomplete"),
        ({"files": [{"name": "run/x", "size": "4", "sha256": "0" * 64}]}, "incomplete"),
        ({"files": []}, "not in its index"),
    ],
)
def test_an_index_that_is_wrong_is_refused(changes: dict[str, Any], words: str) -> None:
    refused(forged([("run/good", b"good")], **changes), words)


def test_a_size_or_hash_that_is_not_the_files_is_refused(tmp_path: Path) -> None:
    entry = entry_of("01M7GMPJSZ0BRD37XN2WQBJ4W5")
    document = json.dumps(entry.to_dict()).encode()
    right = {
        "name": ENTRY_NAME,
        "size": len(document),
        "sha256": hashlib.sha256(document).hexdigest(),
    }
    wrong_size = {"name": "run/x", "size": 3, "sha256": "0" * 64}
    refused(forged([("run/x", b"good")], entry=entry, files=[right, wrong_size]), "size")
    wrong_hash = {"name": "run/x", "size": 4, "sha256": "0" * 64}
    archive = RunArchive(
        io.BytesIO(forged([("run/x", b"good")], entry=entry, files=[right, wrong_hash]))
    )
    with pytest.raises(CorruptStoreError, match="run/x does not match"):
        archive.unpack(tmp_path, archive.index.files[1:], never)
    refused(forged([], entry=entry, files=[{**right, "sha256": "0" * 64}]), "does not match")


def test_a_file_below_a_file_is_refused() -> None:
    refused(forged([("run/a", b"1"), ("run/a/b", b"2")]), "lies below a file")


def test_sizes_that_cannot_be_are_refused() -> None:
    data = bytearray(forged([("run/bomb", bytes(4_000_000))]))
    local, central = data.index(b"run/bomb") - 30, data.rindex(b"run/bomb") - 46
    struct.pack_into("<I", data, local + 22, 4_000_000_000)
    struct.pack_into("<I", data, central + 24, 4_000_000_000)
    refused(sealed(bytes(data)), "larger than it can be")


def test_entries_that_share_their_bytes_are_refused() -> None:
    noise = random.Random(3).randbytes(50_000)
    data = bytearray(forged([("run/a", noise), ("run/b", noise), ("run/c", noise)]))
    first = data.index(b"PK\x03\x04", 10)
    for name in (b"run/b", b"run/c"):
        central = data.rindex(name) - 46
        struct.pack_into("<I", data, central + 20, len(data) // 2)
        struct.pack_into("<I", data, central + 42, first)
    refused(sealed(bytes(data)), "more bytes than it has")


def test_an_encrypted_or_oddly_compressed_file_is_refused() -> None:
    for offset, value, words in ((8, 1, "encrypted"), (10, 12, "a way we do not use")):
        data = bytearray(forged([("run/a", b"1")]))
        struct.pack_into("<H", data, data.rindex(b"run/a") - 46 + offset, value)
        refused(sealed(bytes(data)), words)


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "EXEC"},
        {"state": "nonsense"},
        {"outcome": None},
        {"outcome": "nonsense"},
        {"worker": "../../etc/x"},
        {"worker": ".."},
        {"worker": ""},
        {"run_name": "../x"},
        {"run_name": "a\x1b[2Jb"},
        {"group_name": "a/b"},
        {"failure_json": "{"},
        {"failure_json": "{}"},
        {"finished_at": None},
        {"steps": None},
        {"steps": "many"},
        {"created_at": "then"},
        {"env_id": "x" * 200_000},
    ],
)
def test_an_entry_that_no_registry_of_ours_had_is_refused(changes: dict[str, Any]) -> None:
    refused(forged([], entry=entry_of("01M7GMPJSZ0BRD37XN2WQBJ4W5", **changes)))


@pytest.mark.parametrize("document", [b"[]", b"{", b"null", b'{"version": 1}', b"[" * 100_000])
def test_a_damaged_entry_document_is_refused(document: bytes) -> None:
    files = [
        {"name": ENTRY_NAME, "size": len(document), "sha256": hashlib.sha256(document).hexdigest()}
    ]
    buffer = io.BytesIO()
    index = {"version": 1, "run_id": "01M7GMPJSZ0BRD37XN2WQBJ4W5", "files": files}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(regular(ENTRY_NAME), document)
        archive.writestr(regular(INDEX_NAME), json.dumps(index))
        archive.comment = COMMENT + b"0" * 64
    refused(sealed(buffer.getvalue()))


def test_the_comment_has_the_length_its_check_expects(home: Home) -> None:
    data = archived(home, laid_down(home))
    tail = bundle.DIGEST_LENGTH + len(COMMENT)
    (length,) = struct.unpack_from("<H", data, len(data) - tail - 2)
    assert length == tail
