"""The model of a disk: what may be lost, what may not, and that no state is left out."""

from __future__ import annotations

from pathlib import Path

from tests.crash_states.followed_tree import FollowedTree
from tests.crash_states.operations import Said, Sync, Write
from tests.crash_states.power_cut import RUBBISH, Effort, power_cuts, undisturbed
from tests.crash_states.recorder import followed

EVERYTHING = Effort(exhaustive=12, with_pairs=False, samples=0)
State = dict[str, bytes | None]


def states(tree: FollowedTree, said: str | None = None) -> list[State]:
    """Each once; only those after `said`, if given."""
    found: dict[bytes, State] = {}
    for cut in power_cuts(tree.recording, EVERYTHING):
        if said is None or said in cut.said:
            found[cut.disk.digest] = {path: cut.disk.content(path) for path in cut.disk.paths}
    return list(found.values())


def with_file(tmp_path: Path, content: bytes = b"old") -> FollowedTree:
    (tmp_path / "file").write_bytes(content)
    tree = FollowedTree(tmp_path)
    tree.open(None, str(tmp_path / "file"), {"O_RDWR"}, 3)
    return tree


def synced(tree: FollowedTree, descriptor: int) -> None:
    tree.sync(descriptor, len(tree.operations))


def test_a_write_is_lost_whole_torn_or_zeros(tmp_path: Path) -> None:
    tree = with_file(tmp_path, b"")
    tree.write(3, b"data")
    contents = {state["file"] for state in states(tree)}
    assert contents == {b"", b"data", b"da", b"\0\0\0\0"}


def test_a_synced_write_is_never_lost(tmp_path: Path) -> None:
    tree = with_file(tmp_path)
    tree.write(3, b"new")
    synced(tree, 3)
    tree.say("synced")
    assert states(tree, "synced") == [{"file": b"new"}]


def test_writes_to_one_file_are_not_ordered(tmp_path: Path) -> None:
    tree = with_file(tmp_path, b"....")
    tree.write(3, b"ab")
    tree.write(3, b"cd")
    assert {"file": b"..cd"} in states(tree)
    assert {"file": b"ab.."} in states(tree)


def test_a_synced_file_can_lose_its_name_until_its_folder_is_synced(tmp_path: Path) -> None:
    tree = FollowedTree(tmp_path)
    tree.open(None, str(tmp_path), {"O_RDONLY"}, 9)
    tree.open(None, str(tmp_path / "file"), {"O_CREAT"}, 3)
    tree.write(3, b"data")
    synced(tree, 3)
    tree.say("file")
    synced(tree, 9)
    tree.say("folder")
    assert {} in states(tree, "file")
    assert states(tree, "folder") == [{"file": b"data"}]


def test_a_file_goes_with_the_folder_whose_name_was_not_synced(tmp_path: Path) -> None:
    tree = FollowedTree(tmp_path)
    tree.make_folder(None, str(tmp_path / "folder"))
    tree.open(None, str(tmp_path / "folder"), {"O_RDONLY"}, 9)
    tree.open(None, str(tmp_path / "folder" / "file"), {"O_CREAT"}, 3)
    synced(tree, 3)
    synced(tree, 9)
    tree.say("synced")
    assert {} in states(tree, "synced")


def test_a_rename_may_arrive_before_the_data_but_only_whole(tmp_path: Path) -> None:
    tree = with_file(tmp_path)
    tree.open(None, str(tmp_path / "new"), {"O_CREAT"}, 4)
    tree.write(4, b"new!")
    tree.rename(None, str(tmp_path / "new"), None, str(tmp_path / "file"))
    found = states(tree)
    assert {"file": b""} in found, "the name without the data"
    assert {"file": b"old", "new": b"new!"} in found, "the data under its first name"
    assert {"file": b"old"} in found
    assert {"file": b"new!"} in found
    assert not any("file" not in state for state in found), "neither old nor new"


def test_a_second_rename_never_arrives_without_the_first(tmp_path: Path) -> None:
    tree = with_file(tmp_path)
    tree.rename(None, str(tmp_path / "file"), None, str(tmp_path / "second"))
    tree.rename(None, str(tmp_path / "second"), None, str(tmp_path / "third"))
    assert [set(state) for state in states(tree)] == [{"third"}, {"second"}, {"file"}]


def test_names_of_different_files_arrive_in_any_order(tmp_path: Path) -> None:
    tree = FollowedTree(tmp_path)
    for name in ("a", "b"):
        tree.open(None, str(tmp_path / name), {"O_CREAT"}, 3)
    assert {frozenset(state) for state in states(tree)} == {
        frozenset(names) for names in ("", "a", "b", "ab")
    }


def test_a_sync_does_not_cover_what_another_thread_wrote_meanwhile(tmp_path: Path) -> None:
    tree = with_file(tmp_path)
    begun_at = len(tree.operations)
    tree.write(3, b"new")
    tree.sync(3, begun_at)
    tree.say("synced")
    assert {"file": b"old"} in states(tree, "synced")


def test_a_mapped_file_holds_rubbish(tmp_path: Path) -> None:
    tree = with_file(tmp_path)
    tree.map_for_writing(3)
    assert states(tree) == [{"file": RUBBISH}]


def test_a_few_operations_are_enumerated_to_the_last_subset(tmp_path: Path) -> None:
    tree = FollowedTree(tmp_path)
    for number in range(6):
        tree.make_folder(None, str(tmp_path / str(number)))
    assert len(states(tree)) == 2**6


def test_appending_and_duplicated_descriptors_write_where_the_kernel_would(tmp_path: Path) -> None:
    tree = with_file(tmp_path)
    tree.open(None, str(tmp_path / "file"), {"O_APPEND"}, 4)
    tree.duplicate(3, 5)
    tree.write(3, b"A")
    tree.write(5, b"B")
    tree.write(4, b"C")
    assert undisturbed(tree.recording).content("file") == b"ABdC"


def test_calls_that_threads_interrupt_are_put_together_again(tmp_path: Path) -> None:
    path = "".join(f"\\x{byte:02x}" for byte in str(tmp_path / "file").encode())
    lines = [
        f'7 openat(AT_FDCWD, "{path}", O_RDWR|O_CREAT, 0600) = 3',
        "7 fsync(3 <unfinished ...>",
        '8 pwrite64(3, "\\x61\\x62", 2, 0 <unfinished ...>',
        "9 close(77) = -1 EBADF (Bad file descriptor)",
        "8 <... pwrite64 resumed>) = 2",
        "7 <... fsync resumed>) = 0",
        "7 exit_group(0) = ?",
    ]
    recording = followed(lines, FollowedTree(tmp_path))
    _, written, sync = recording.operations
    assert isinstance(written, Write)
    assert written.data == b"ab"
    assert isinstance(sync, Sync)
    assert sync.covers == 1, "only the file's name was there when it began"


def test_a_program_that_the_writer_starts_has_descriptors_of_its_own(tmp_path: Path) -> None:
    path = "".join(f"\\x{byte:02x}" for byte in str(tmp_path / "file").encode())
    lines = [
        f'7 openat(AT_FDCWD, "{path}", O_RDWR|O_CREAT, 0600) = 3',
        "7 vfork( <unfinished ...>",
        "8 close(3) = 0",
        '8 write(1, "\\x61", 1) = 1',
        "7 <... vfork resumed>) = 8",
        '7 write(3, "\\x62", 1) = 1',
    ]
    recording = followed(lines, FollowedTree(tmp_path))
    assert undisturbed(recording).content("file") == b"b"
    assert not any(isinstance(operation, Said) for operation in recording.operations)
