"""A run's config as people read it."""

from __future__ import annotations

import json
from typing import Any

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.run_record import Lineage, LineageKind, Transition
from mosaic.contracts.run_state import RunState
from mosaic.gui.run_config.model import (
    ConfigView,
    Setting,
    config_view,
    lineage_lines,
    value_text,
)
from tests.unit.gui.run_samples import record

PPO = AlgorithmInfo(
    "ppo",
    "sample",
    "",
    parameters={
        "learning_rate": {"default": 0.00025, "description": "step size"},
        "num_envs": {"default": 4},
        "gamma": {"default": 0.99},
        "seed": {"default": 1},
    },
)


def config(**parameters: Any) -> dict[str, Any]:
    settings = {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "seed": 7,
        "extras": {"algo_params": parameters, "notes": "a try", "track_wandb": True},
    }
    return {
        "run_name": "first",
        "entry_point": "sample",
        "environment": {"WANDB_API_KEY": "do-not-show"},
        "metadata": {"worker": {"config": settings}, "lineage": {"parent_run": "01PARENT"}},
    }


def view(**parameters: Any) -> ConfigView:
    return config_view(record(config=config(**parameters)), [PPO])


def setting(found: ConfigView, name: str) -> Setting:
    return next(one for group in found.groups for one in group.settings if one.name == name)


def test_what_differs_from_the_default_is_marked_with_it() -> None:
    found = view(learning_rate=0.001, gamma=0.99)
    assert setting(found, "learning_rate").default == "0.00025"
    assert setting(found, "learning_rate").help == "step size"
    assert not setting(found, "gamma").is_changed
    assert found.changed == 1


def test_parameters_that_nobody_gave_are_shown_with_their_defaults() -> None:
    found = view(learning_rate=0.001)
    assert setting(found, "num_envs") == Setting("num_envs", "4", "", True)
    # The seed was given, beside the parameters.
    seeds = [s for group in found.groups for s in group.settings if s.name == "seed"]
    assert [one.value for one in seeds] == ["7"]


def test_notes_and_json_are_taken_along() -> None:
    found = view()
    assert found.notes == "a try"
    assert json.loads(found.text)["run_name"] == "first"
    told = {"metadata": {"remarks": ["no live view", "try --compat"]}}
    found = config_view(record(config=config(), manifest=told), [PPO])
    assert found.notes == "a try\nno live view\ntry --compat"


def test_the_venvs_of_a_run_and_of_its_program_are_named() -> None:
    venv = {"name": "learner", "lock_hash": "ab" * 32, "accelerator": "cpu", "python": "3.11.7"}
    program = {**venv, "name": "scripts", "python": "3.10.4"}
    told = {"run_id": "1", "worker_type": "w", "bundle": venv, "other_bundles": [program]}
    found = config_view(record(config=config(), manifest=told), [PPO])
    assert setting(found, "bundle").value == "learner, CPU, Python 3.11.7, lock abababababab"
    words = "scripts, CPU, Python 3.10.4, lock abababababab"
    assert setting(found, "program's bundle").value == words
    names = {one.name for group in view().groups for one in group.settings}
    assert not names & {"bundle", "program's bundle"}


def test_secrets_are_never_shown() -> None:
    found = view()
    assert "do-not-show" not in found.text
    assert all("do-not-show" not in one.value for group in found.groups for one in group.settings)


def test_search_finds_words_in_names_and_values() -> None:
    found = view(learning_rate=0.001)
    (group,) = found.found("learn rate")
    assert [one.name for one in group.settings] == ["learning_rate"]
    assert next(one.name for g in found.found("cartpole") for one in g.settings) == "env_id"
    assert found.found("nothing like it") == ()


def test_an_unknown_algorithm_shows_what_was_given() -> None:
    found = config_view(record(config=config(other=3)), [])
    assert setting(found, "other").value == "3"
    assert found.changed == 0


def test_history_says_when_and_how_long_after() -> None:
    steps = (
        Transition(RunState.INIT, 1000.0, "submitted", 0),
        Transition(RunState.EXEC, 1065.0, "first sample received", 1),
    )
    found = config_view(record(config=config(), transitions=steps), [])
    history = next(group for group in found.groups if group.title == "History")
    assert history.settings[1].value == "running: first sample received (after 1 min 5 s)"


def test_values_are_written_as_people_write_them() -> None:
    assert [value_text(v) for v in (True, None, 1_000_000, "", 2.5e-4, [1, "a"])] == [
        "yes",
        "none",
        "1,000,000",
        "(empty)",
        "0.00025",
        '[1, "a"]',
    ]


def test_what_a_run_came_from_and_what_became_of_it_is_named_by_kind() -> None:
    resumed, evaluated = LineageKind.RESUMED, LineageKind.EVALUATED
    parent = record(5, lineage=Lineage(record(4).run_id, resumed))
    others = [
        record(8, lineage=Lineage(parent.run_id, evaluated)),
        record(7, lineage=Lineage(parent.run_id, evaluated)),
        record(6, lineage=Lineage(parent.run_id, resumed)),
        record(9, lineage=Lineage(record(4).run_id, resumed)),
        record(3),
    ]
    assert lineage_lines(parent, others) == (
        ("Resumes", (record(4).run_id,)),
        ("Resumed as", (record(6).run_id,)),
        ("Evaluated by", (record(7).run_id, record(8).run_id)),
    )
    assert lineage_lines(record(3), others) == ()
