"""What packages of bundles say, and what becomes of one that says it wrongly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mosaic.bundles.definitions import BundleShelf, indexes_of, python_tag, read_folders
from mosaic.contracts.bundles import Accelerator, BundleKind
from mosaic.errors import BundleError

LEARNER = '[learner]\ntitle = "Learner"\nabout = "Learns."\nimports = ["numbers"]\n'
GAMES = '[games]\nkind = "add-on"\njoins = ["learner"]\n'
ALONE = "[alone]\nown_python = true\n"


def package(folder: Path, text: str, **requirements: str) -> Path:
    (folder / "requirements").mkdir(parents=True)
    (folder / "bundles.toml").write_text(text)
    for name, lines in requirements.items():
        (folder / "requirements" / f"{name}.txt").write_text(lines)
    return folder


@pytest.fixture
def shelf(tmp_path: Path) -> BundleShelf:
    folder = package(
        tmp_path / "data",
        LEARNER + GAMES + ALONE,
        learner="# why\nnumpy>=2\n\ntorch>=2.4  # and why this\n",
        games="games-of-old",
        alone="numpy<2",
    )
    return read_folders([("shop", folder)])


def test_a_bundle_says_what_it_is_and_what_it_requires(shelf: BundleShelf) -> None:
    learner = shelf.definitions["learner"]
    assert (learner.title, learner.about, learner.kind) == ("Learner", "Learns.", BundleKind.WORKER)
    assert learner.requirements == ("numpy>=2", "torch>=2.4")
    assert learner.imports == ("numbers",)
    assert shelf.definitions["alone"].own_python
    assert shelf.problems == ()


def test_names_are_joined_with_the_worker_first(shelf: BundleShelf) -> None:
    assert shelf.check_name("learner") == ("learner",)
    assert shelf.check_name("learner+games+games") == ("learner", "games")


def test_an_unknown_name_is_answered_with_one_that_is_close(shelf: BundleShelf) -> None:
    with pytest.raises(BundleError, match="no bundle 'learnr'") as caught:
        shelf.check_name("learnr")
    assert "Did you mean learner?" in caught.value.hint
    assert caught.value.details == {"bundle": "learnr"}


@pytest.mark.parametrize("name", ["", "../up", "a+", "Learner", "a b"])
def test_what_cannot_be_a_name_never_becomes_part_of_a_path(shelf: BundleShelf, name: str) -> None:
    with pytest.raises(BundleError, match="cannot be the name"):
        shelf.check_name(name)


def test_two_workers_are_not_joined(shelf: BundleShelf) -> None:
    with pytest.raises(BundleError, match="only add-ons are joined") as caught:
        shelf.check_name("learner+alone")
    assert "one after the other" in caught.value.hint


def test_an_add_on_joins_only_what_it_is_made_for(shelf: BundleShelf) -> None:
    with pytest.raises(BundleError, match="not made for alone") as caught:
        shelf.check_name("alone+games")
    assert caught.value.hint == "alone has no add-ons; games joins learner."


def test_a_worker_of_somebody_else_can_name_the_add_ons_it_takes(tmp_path: Path) -> None:
    ours = package(tmp_path / "ours", LEARNER + GAMES, learner="", games="")
    theirs = package(tmp_path / "theirs", '[guest]\njoins = ["games"]\n', guest="")
    shelf = read_folders([("ours", ours), ("theirs", theirs)])
    assert shelf.check_name("guest+games") == ("guest", "games")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[broken", "bundles.toml is not TOML"),
        ("[Bad]", "Bad is left out: a name has small letters"),
        ("bad = 3", r"bad is left out: \[bad\] is not a table"),
        ("[bad]\nkind = 'game'", "kind is worker or add-on"),
        ("[bad]\nkind = 'add-on'", "an add-on says in `joins`"),
        ("[bad]\nimports = 'numpy'", "imports is not a list of texts"),
        ("[bad]\ntitle = 3", "title is not a text"),
        ("[bad]\nown_python = 'no'", "own_python is neither true nor false"),
        ("[bad]\nunavailable = 'never'", "unavailable is not a table"),
        ("[bad]\nindexes = 'https://one.test'", "indexes is not a table"),
        ("[bad.indexes]\ntpu = 'https://one.test'", "indexes: tpu is not one of cpu, cuda, rocm"),
        *(
            (f"[bad.indexes]\ncpu = {address}", "indexes: cpu is not an address that begins with")
            for address in (
                *("3", "''", "'http://one.test'", "'one.test'", "'https://'", "'file://'"),
                *("'https:///simple'", "'file://host/simple'", "'https://a.test/${HOME}'"),
                *("'https://one.test http://two.test'", "'https://me:secret@one.test'"),
            )
        ),
        ("[lost]", "lost is left out: No such file"),
        ("[wild]", "wild is left out: 'numpy >> 2' is not a requirement"),
        ("[far]", "names an address"),
    ],
)
def test_a_broken_bundle_is_said_and_costs_nobody_the_others(
    tmp_path: Path, text: str, said: str
) -> None:
    good = package(tmp_path / "good", LEARNER, learner="numpy")
    bad = package(
        tmp_path / "bad", text, bad="", wild="numpy >> 2", far="numpy @ file:///numpy.whl"
    )
    shelf = read_folders([("bad", bad), ("good", good)])
    assert list(shelf.definitions) == ["learner"]
    assert len(shelf.problems) == 1
    assert re.search(said, shelf.problems[0])


def test_a_package_without_its_definitions_is_said(tmp_path: Path) -> None:
    shelf = read_folders([("empty", tmp_path)])
    assert shelf.problems == (
        "Bundles of empty: bundles.toml cannot be read (No such file or directory).",
    )


def test_nobody_takes_a_name_that_is_taken(tmp_path: Path) -> None:
    ours = package(tmp_path / "ours", LEARNER, learner="numpy>=2")
    theirs = package(tmp_path / "theirs", LEARNER, learner="malware")
    shelf = read_folders([("ours", ours), ("theirs", theirs)])
    assert shelf.definitions["learner"].requirements == ("numpy>=2",)
    assert shelf.problems == ("Bundles of theirs: ours has a bundle learner already.",)


def test_the_most_precise_sentence_says_why_there_is_no_lock(tmp_path: Path) -> None:
    text = '[learner.unavailable]\nany = "never"\npy313 = "not yet"\npy313-cpu = "elsewhere"\n'
    folder = package(tmp_path / "data", text, learner="")
    learner = read_folders([("shop", folder)]).definitions["learner"]
    assert learner.why_unavailable("3.13.1", "cpu") == "elsewhere"
    assert learner.why_unavailable("3.13", "cuda") == "not yet"
    assert learner.why_unavailable("3.12", "cuda") == "never"


def test_versions_of_python_are_told_apart_by_their_first_two_numbers() -> None:
    assert python_tag("3.11") == python_tag("3.11.7") == "py311"


def test_joined_bundles_have_the_indexes_of_all_of_them(tmp_path: Path) -> None:
    ours, theirs, files = "https://ours.test/cpu", "https://theirs.test/simple", "file:///wheels"
    text = (
        f'[learner.indexes]\ncpu = "{ours}"\ncuda = "{files}"\n{GAMES}'
        f'[games.indexes]\ncpu = "{theirs}"\n'
        f'[more]\nkind = "add-on"\njoins = ["learner"]\nindexes = {{ cpu = "{ours}" }}\n'
    )
    folder = package(tmp_path / "data", text, learner="", games="", more="")
    shelf = read_folders([("shop", folder)])
    assert shelf.problems == ()
    joined = shelf.joined("learner+games+more")
    assert indexes_of(joined, Accelerator.CPU) == (ours, theirs)
    assert indexes_of(joined, Accelerator.CUDA) == (files,)
    assert indexes_of(joined, Accelerator.ROCM) == ()
