"""Locks as texts, as files beside the definitions, and joined."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.bundles.definitions import BundleShelf, read_folders
from mosaic.bundles.locks import (
    LOCKED_PLATFORM,
    Lock,
    LockedPackage,
    content_hash,
    lock_for,
    locked_variants,
    make_lock,
    read_lock,
    why_no_lock,
)
from mosaic.contracts.bundles import Accelerator
from mosaic.errors import BundleError

CPU, CUDA, ROCM = Accelerator.CPU, Accelerator.CUDA, Accelerator.ROCM
DEFINITIONS = """
[learner]
accelerated = true
unavailable = { py313-cpu = "nobody made one", rocm = "its maker has them elsewhere" }
[games]
kind = "add-on"
joins = ["learner", "player"]
[videos]
kind = "add-on"
joins = ["learner"]
[player]
[never]
unavailable = { any = "it was given up" }
"""


def package(name: str, version: str = "1.0", size: int = 10) -> LockedPackage:
    return LockedPackage(name, version, (f"sha256:{sum(map(ord, name + version)):064x}",), size)


def write(folder: Path, lock: Lock) -> Path:
    tag = lock.python.replace(".", "")
    path = folder / "locks" / f"{lock.bundle}-py{tag}-{lock.accelerator.value}.txt"
    path.write_text(lock.text)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "locks").mkdir()
    (tmp_path / "requirements").mkdir()
    (tmp_path / "bundles.toml").write_text(DEFINITIONS)
    for name in ("learner", "games", "videos", "player", "never"):
        (tmp_path / "requirements" / f"{name}.txt").touch()
    for accelerator, size in ((CPU, 1_000_000), (CUDA, 3_000_000_000)):
        torch = package("torch", f"2.0+{accelerator.value}", size)
        for name, added in {"": [], "+games": ["ale"], "+videos": ["av", "numpy"]}.items():
            packages = [torch, *map(package, added)]
            write(tmp_path, make_lock(f"learner{name}", "3.11", accelerator, packages))
    write(tmp_path, make_lock("learner", "3.13", CUDA, [package("torch", size=3_000_000_000)]))
    write(tmp_path, make_lock("player", "3.11", CPU, [package("numpy")]))
    return tmp_path


@pytest.fixture
def shelf(folder: Path) -> BundleShelf:
    return read_folders([("shop", folder)])


def find(shelf: BundleShelf, name: str, python: str, accelerator: Accelerator) -> Lock:
    return lock_for(shelf, tuple(name.split("+")), python, accelerator, platform=LOCKED_PLATFORM)


def test_a_lock_reads_back_as_it_was_written() -> None:
    packages = [
        LockedPackage("zlib", "1!2.0.post1+cpu", ("sha256:" + "a" * 64,), 7),
        LockedPackage(
            "abc", "1", ("sha256:" + "b" * 64, "sha256:" + "c" * 64), 8, 'python_version < "3.12"'
        ),
    ]
    lock = make_lock("learner+games", "3.11", CUDA, packages)
    assert read_lock(lock.text, "a lock") == lock
    assert [item.name for item in lock.packages] == ["abc", "zlib"]
    assert lock.fetch_bytes == 15
    assert lock.local_builds == ("zlib==1!2.0.post1+cpu",)


def test_equal_packages_make_equal_hashes_in_whatever_order_and_by_whatever_name() -> None:
    one, two = package("one"), package("two")
    assert (
        make_lock("a", "3.11", CPU, [one, two]).hash == make_lock("b", "3.12", CPU, [two, one]).hash
    )
    assert make_lock("a", "3.11", CPU, [one]).hash != make_lock("a", "3.11", CPU, [two]).hash


def test_an_edit_by_hand_is_seen() -> None:
    text = make_lock("learner", "3.11", CPU, [package("torch")]).text
    with pytest.raises(BundleError, match=r"locks/a\.txt was changed by hand") as caught:
        read_lock(text.replace("1.0", "1.1"), "locks/a.txt")
    assert "Put the file back" in caught.value.hint
    assert caught.value.details == {"bundle": "learner"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("torch==1 \\\n", "line 5 .*`# size"),
        ("# size: 1\ntorch>=1 \\\n", "line 6 .*`name==version"),
        ("# size: 1\ntorch==1 \\\n", "line 7 .*`--hash"),
        ("# size: 1\n--index-url=there\n", "line 6"),
        ("--extra-index-url https://there.test/simple\n", "line 5"),
        ("# index: https://there.test/simple\n", "line 5"),
        ("# size: 1\ntorch @ file:///torch.whl \\\n", "line 6"),
    ],
)
def test_a_line_that_is_none_of_a_locks_is_named(body: str, said: str) -> None:
    header = f"# bundle: a\n# python: 3.11\n# accelerator: cpu\n# content: {content_hash(body)}\n"
    with pytest.raises(BundleError, match=said):
        read_lock(header + body, "a lock")


def test_a_text_without_a_locks_header_is_none() -> None:
    with pytest.raises(BundleError, match="line 1 is not the line of a lock"):
        read_lock("numpy==2.0\n", "requirements.txt")


def test_an_accelerator_that_nobody_knows_is_said() -> None:
    text = make_lock("a", "3.11", CPU, []).text.replace("cpu", "abacus")
    with pytest.raises(BundleError, match="line 3"):
        read_lock(text, "a lock")


def test_a_package_that_is_there_twice_is_said() -> None:
    text = make_lock("a", "3.11", CPU, [package("one"), package("one", "2")]).text
    with pytest.raises(BundleError, match="one twice"):
        read_lock(text, "a lock")


def test_a_lock_is_found_by_name_python_and_accelerator(shelf: BundleShelf) -> None:
    lock = find(shelf, "learner", "3.11.7", CUDA)
    assert (lock.bundle, lock.python, lock.accelerator) == ("learner", "3.11", CUDA)
    assert [item.version for item in lock.packages] == ["2.0+cuda"]


def test_add_ons_join_in_one_lock_that_is_a_lock_itself(shelf: BundleShelf) -> None:
    lock = find(shelf, "learner+videos+games", "3.11", CPU)
    assert lock.bundle == "learner+games+videos"
    assert [item.name for item in lock.packages] == ["ale", "av", "numpy", "torch"]
    assert read_lock(lock.text, "kept") == lock


def test_where_accelerators_make_no_difference_there_is_one_lock(shelf: BundleShelf) -> None:
    assert find(shelf, "player", "3.11", ROCM) == find(shelf, "player", "3.11", CPU)


def test_add_ons_that_do_not_agree_are_not_joined(folder: Path, shelf: BundleShelf) -> None:
    torch = package("torch", "2.0+cpu", 1_000_000)
    write(folder, make_lock("learner+games", "3.11", CPU, [torch, package("numpy", "2.0")]))
    with pytest.raises(BundleError, match=r"locked with numpy 2\.0 and 1\.0"):
        find(shelf, "learner+games+videos", "3.11", CPU)


def test_why_there_is_no_lock_is_said_with_the_ways_out(shelf: BundleShelf) -> None:
    with pytest.raises(BundleError) as caught:
        find(shelf, "learner", "3.13", CPU)
    assert caught.value.message == (
        "learner cannot be installed for Python 3.13 (cpu builds): nobody made one."
    )
    assert caught.value.hint == (
        "Take `--accelerator cuda` (3.0 GB) or start MOSAIC with Python 3.11."
    )


def test_builds_of_one_accelerator_never_stand_in_for_those_of_another(shelf: BundleShelf) -> None:
    with pytest.raises(BundleError, match="elsewhere") as caught:
        find(shelf, "learner+games", "3.11", ROCM)
    assert "`--accelerator cpu` (1 MB) or `--accelerator cuda` (3.0 GB)" in caught.value.hint


def test_what_has_no_lock_anywhere_says_so(shelf: BundleShelf) -> None:
    with pytest.raises(BundleError, match=r"for Python 3\.11: it was given up") as caught:
        find(shelf, "never", "3.11", CPU)
    assert "a venv of your own" in caught.value.hint


def test_an_add_on_alone_names_what_it_can_be_joined_with(shelf: BundleShelf) -> None:
    with pytest.raises(BundleError, match="games is an add-on") as caught:
        find(shelf, "games", "3.11", CPU)
    for name in ("learner+games", "player+games"):
        assert f"`mosaic bundles install {name}`" in caught.value.hint


def test_other_machines_have_no_locks(shelf: BundleShelf) -> None:
    with pytest.raises(BundleError, match="Linux on x86-64 only"):
        lock_for(shelf, ("player",), "3.11", CPU, platform="linux-aarch64")


def test_a_lock_under_the_name_of_another_is_not_taken(folder: Path, shelf: BundleShelf) -> None:
    (folder / "locks" / "player-py312-cpu.txt").write_text(
        (folder / "locks" / "player-py311-cpu.txt").read_text()
    )
    with pytest.raises(BundleError, match="not what its name says"):
        find(shelf, "player", "3.12", CPU)


def test_the_lock_of_two_packages_bundles_may_lie_with_either(tmp_path: Path, folder: Path) -> None:
    guest = tmp_path / "guest"
    (guest / "locks").mkdir(parents=True)
    (guest / "requirements").mkdir()
    (guest / "requirements" / "guest.txt").touch()
    (guest / "bundles.toml").write_text('[guest]\njoins = ["games"]\n')
    write(guest, make_lock("guest+games", "3.11", CPU, [package("ale")]))
    shelf = read_folders([("shop", folder), ("guest", guest)])
    assert find(shelf, "guest+games", "3.11", CPU).bundle == "guest+games"


def test_what_there_are_locks_for_is_known(shelf: BundleShelf) -> None:
    assert locked_variants(shelf.joined("learner")) == (
        ("3.11", CPU),
        ("3.11", CUDA),
        ("3.13", CUDA),
    )
    assert locked_variants(shelf.joined("learner+games")) == (("3.11", CPU), ("3.11", CUDA))


def test_why_nobody_made_a_lock_is_a_reason_that_ends_a_sentence(
    folder: Path, shelf: BundleShelf
) -> None:
    learner = shelf.joined("learner")
    assert why_no_lock(learner, "3.13.1", CPU) == "nobody made one"
    assert why_no_lock(learner, "3.11", ROCM) == "its maker has them elsewhere"
    assert why_no_lock(learner, "3.12", CPU) == "there is no lock of the cpu build for Python 3.12"
    assert why_no_lock(learner, "3.13.1", CUDA) == ""
    assert why_no_lock(shelf.joined("learner+games+videos"), "3.11.2", CPU) == ""
    # One that is damaged is there.
    (folder / "locks" / "learner-py311-cpu.txt").write_text("nonsense")
    assert why_no_lock(learner, "3.11", CPU) == ""
