"""A run once more: its document, what it had, what cannot be the same, and whether it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.consent import CONFIG_OF, REPRODUCES
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.contracts.secrets import secret_reference
from mosaic.errors import ConfigError
from mosaic.front.reproducing import Here, compare_outcomes, reproduce

RUN_ID = "01KATF461V3681NE4E0T3TX33Z"
VERSIONS = {"learner": "1.0", "numpy": "2.1.0"}
HERE = Here("3.11.7", lambda package: VERSIONS.get(package, ""))
BUNDLE = {
    "distribution": "learner",
    "version": "1.0",
    "python": "3.11.7",
    "packages": {"numpy": "2.1.0"},
    "interpreter": "/usr/bin/python3.11",
}
IN_VENV = {**BUNDLE, "name": "learner+atari", "lock_hash": "ab" * 32, "accelerator": "cpu"}


def manifest(bundle: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"run_id": RUN_ID, "worker_type": "learner", "bundle": bundle, **changes}


def config(**changes: Any) -> dict[str, Any]:
    return {
        "run_name": "mine",
        "entry_point": "learner",
        "environment": {},
        "metadata": {"worker": {"config": {"env_id": "Maze-v0", "seed": 3}}},
        **changes,
    }


RUN = RunRecord(
    *(RUN_ID, "mine#2", "learner", RunState.TERM, Outcome.SUCCEEDED, 1, 0, 0.0, 0.0),
    config=config(),
    manifest=manifest(BUNDLE),
)


def changed(**changes: Any) -> tuple[str, ...]:
    return reproduce(replace(RUN, **changes), HERE).differences


# The document


def test_it_is_the_same_config_with_the_run_it_is_to_be_like() -> None:
    document = reproduce(RUN, HERE).document
    assert document["metadata"][REPRODUCES] == RUN_ID
    document["metadata"].pop(REPRODUCES)
    assert document == RUN.config
    assert REPRODUCES not in RUN.config["metadata"]


def test_it_may_have_a_name_of_its_own() -> None:
    assert reproduce(RUN, HERE, name="again").document["run_name"] == "again"


def test_what_came_from_an_archive_keeps_saying_so() -> None:
    metadata = {**RUN.config["metadata"], CONFIG_OF: RUN_ID}
    document = reproduce(replace(RUN, config=config(metadata=metadata)), HERE).document
    assert document["metadata"][CONFIG_OF] == RUN_ID


def test_values_that_are_stored_nowhere_have_to_be_given_again() -> None:
    secret = {"API_KEY": secret_reference(RUN_ID, "API_KEY"), "PLAIN": "1"}
    run = replace(RUN, config=config(environment=secret))
    with pytest.raises(ConfigError, match="API_KEY") as refused:
        reproduce(run, HERE)
    assert "--env API_KEY" in refused.value.hint
    document = reproduce(run, HERE, environment={"API_KEY": "new"}).document
    assert document["environment"] == {"API_KEY": "new", "PLAIN": "1"}


def test_a_run_without_its_config_cannot_be_reproduced() -> None:
    with pytest.raises(ConfigError, match="not kept"):
        reproduce(replace(RUN, config={}), HERE)


# What it had


def test_what_it_had_is_said() -> None:
    found = dict(reproduce(replace(RUN, manifest=manifest(IN_VENV)), HERE).found)
    assert found["bundle"] == "learner+atari"
    assert found["lock"] == "abababababab"
    assert found["builds"] == "cpu"
    assert found["Python"] == "3.11.7 (/usr/bin/python3.11)"
    assert found["worker"] == "learner 1.0"
    assert found["seed"] == "3"
    assert found["config"].startswith("SHA-256 ")


def test_the_digest_is_of_the_config_and_not_of_where_it_came_from() -> None:
    metadata = {**RUN.config["metadata"], CONFIG_OF: RUN_ID, REPRODUCES: RUN_ID}
    same = reproduce(replace(RUN, config=config(metadata=metadata)), HERE)
    other = reproduce(replace(RUN, config=config(arguments=["-v"])), HERE)
    digest = dict(reproduce(RUN, HERE).found)["config"]
    assert dict(same.found)["config"] == digest != dict(other.found)["config"]


def test_a_run_beside_mosaic_says_that_it_had_no_bundle() -> None:
    found = dict(reproduce(RUN, HERE).found)
    assert "beside MOSAIC" in found["bundle"] and "lock" not in found


# What cannot be the same


def test_with_the_same_packages_nothing_differs() -> None:
    assert reproduce(RUN, HERE).differences == ()


def test_packages_beside_mosaic_that_have_changed_are_named() -> None:
    bundle = {**BUNDLE, "packages": {"numpy": "1.26.0", "gone": "3.0"}, "python": "3.11.2"}
    differences = changed(manifest=manifest(bundle))
    assert "Python was 3.11.2, and is 3.11.7 here" in differences
    assert "numpy was 1.26.0, and is 2.1.0 now" in differences
    assert "gone was 3.0, and is not installed beside MOSAIC any more" in differences


def test_packages_of_a_venv_are_those_of_its_lock() -> None:
    bundle = {**IN_VENV, "packages": {"numpy": "1.26.0"}}
    assert changed(manifest=manifest(bundle)) == ()


def test_a_lock_that_was_not_kept_is_said(tmp_path: Path) -> None:
    paths = {"run_directory": str(tmp_path)}
    (difference,) = changed(manifest=manifest(IN_VENV), paths=paths)
    assert "the lock of learner+atari was not kept" in difference
    (tmp_path / "bundle-lock.txt").touch()
    assert changed(manifest=manifest(IN_VENV), paths=paths) == ()


def test_the_venv_of_a_program_is_named_and_its_lock_is_missed(tmp_path: Path) -> None:
    scripts = {"name": "scripts", "lock_hash": "cd" * 32, "accelerator": "cpu", "python": "3.10.4"}
    words = "scripts, CPU, Python 3.10.4, lock cdcdcdcdcdcd"
    paths = {"run_directory": str(tmp_path)}
    for bundle, file in ((IN_VENV, "bundle-lock-2.txt"), (BUNDLE, "bundle-lock.txt")):
        run = replace(RUN, manifest=manifest(bundle, other_bundles=[scripts]), paths=paths)
        assert dict(reproduce(run, HERE).found)["program's bundle"] == words
        assert any(
            "lock of scripts was not kept" in one for one in reproduce(run, HERE).differences
        )
        (tmp_path / "bundle-lock.txt").touch()
        (tmp_path / file).touch()
        assert reproduce(run, HERE).differences == ()
        for path in tmp_path.iterdir():
            path.unlink()
    assert "program's bundle" not in dict(reproduce(RUN, HERE).found)


def test_nothing_is_compared_with_a_machine_that_is_not_this_one() -> None:
    far = replace(HERE, is_known=False)
    (difference,) = reproduce(RUN, far).differences
    assert "not known here" in difference
    assert reproduce(replace(RUN, manifest=manifest(IN_VENV)), far).differences == ()


@pytest.mark.parametrize("broken", [{}, {"bundle": 7}, manifest({"packages": [1]})])
def test_a_damaged_manifest_says_that_nothing_is_known(broken: dict[str, Any]) -> None:
    (difference,) = changed(manifest=broken)
    assert "nothing can be compared" in difference


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"gpu_slots": (0,)}, "GPU"),
        ({"origin": Origin.SCRIPT}, "script is not kept"),
        ({"outcome": Outcome.FAILED}, "it failed"),
        ({"outcome": Outcome.CANCELED}, "it was stopped"),
        ({"outcome": None, "state": RunState.EXEC}, "not over yet"),
        ({"config": config(metadata={"worker": {"config": {}}})}, "no seed"),
    ],
)
def test_what_else_cannot_be_the_same(changes: dict[str, Any], said: str) -> None:
    (difference,) = changed(**changes)
    assert said in difference


# What came of it


def trained(sha256: str, digest: str = "d") -> RunRecord:
    checkpoints = [
        {"path": "a", "step": 1, "sha256": "0" * 64},
        {"path": "b", "step": 2, "sha256": sha256, "is_final": True},
    ]
    return replace(RUN, manifest=manifest(BUNDLE, checkpoints=checkpoints), metrics_digest=digest)


def test_the_last_weights_and_the_metrics_are_compared() -> None:
    same = compare_outcomes(trained("a" * 64), trained("a" * 64))
    assert same == ["the weights are the same (SHA-256 aaaaaaaaaaaa)", "every metric is the same"]
    other = compare_outcomes(trained("a" * 64), trained("b" * 64, "e"))
    assert other[0].startswith("the weights differ") and other[1] == "the metrics differ"


def test_where_there_is_nothing_to_compare_nothing_is_said() -> None:
    assert compare_outcomes(RUN, RUN) == []
