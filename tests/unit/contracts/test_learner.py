"""Requests to a learner: what the config of a run says, read and written by one module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.learner import (
    EvaluateRequest,
    Mode,
    PlayRequest,
    ResumeRequest,
    TrainRequest,
    lineage_of,
    mode_of,
    read_request,
    worker_settings,
)
from mosaic.contracts.run_record import Lineage, LineageKind

PARENT = "01M7GMPJSZ0BRD37XN2WQBJ4W5"
RUNS = Path("/home/someone/mosaic/runs")


def config(settings: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"worker": {"config": settings}, **metadata}}


def test_a_training_is_written_as_it_always_was() -> None:
    request = TrainRequest(
        algo="ppo",
        env_id="CartPole-v1",
        total_timesteps=1000,
        seed=3,
        parameters={"gamma": 0.9},
        use_gpu=True,
        warm_start="/x/model",
        extras={"notes": "a try"},
    )
    assert request.settings() == {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "total_timesteps": 1000,
        "seed": 3,
        "extras": {
            "notes": "a try",
            "warm_start_path": "/x/model",
            "algo_params": {"gamma": 0.9},
            "cuda": True,
        },
    }


@pytest.mark.parametrize(
    ("request_", "extras"),
    [
        (
            ResumeRequest(checkpoint="/x/model"),
            {"mode": "resume_training", "checkpoint_path": "/x/model"},
        ),
        (
            EvaluateRequest(policy="/x/model", extras={"eval_episodes": 5}),
            {"mode": "policy_eval", "policy_path": "/x/model", "eval_episodes": 5},
        ),
        (PlayRequest(play={"fps": 30}), {"mode": "interactive", "play": {"fps": 30}}),
    ],
)
def test_other_requests_name_their_mode(
    request_: ResumeRequest | EvaluateRequest | PlayRequest, extras: dict[str, Any]
) -> None:
    assert request_.settings() == {"extras": extras}
    assert read_request(request_.settings()) == request_


JSON = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
EXTRAS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from([None, "", *(mode.value for mode in Mode)]),
        "policy_path": st.none() | st.text(max_size=5),
        "checkpoint_path": st.none() | st.text(max_size=5),
        "warm_start_path": st.none() | st.text(max_size=5),
        "algo_params": st.none() | st.dictionaries(st.text(max_size=3), JSON, max_size=2),
        "cuda": JSON,
        "play": st.none() | st.dictionaries(st.text(max_size=3), JSON, max_size=2),
        "notes": JSON,
    },
)
SETTINGS = st.fixed_dictionaries(
    {"extras": EXTRAS},
    optional={
        "algo": st.none() | st.text(max_size=5),
        "env_id": st.none() | st.text(max_size=5),
        "total_timesteps": st.none() | st.integers(),
        "seed": st.none() | st.integers(),
        "agent_id": JSON,
    },
)


@given(SETTINGS)
def test_what_is_read_is_written_again_unchanged(settings: dict[str, Any]) -> None:
    request = read_request(settings)
    assert request is not None
    assert request.settings() == settings


@pytest.mark.parametrize(
    "settings",
    [
        {"extras": []},
        {"extras": {"mode": "of a later version"}},
        {"extras": {"mode": ["train"]}},
        {"seed": "1", "extras": {}},
        {"seed": True, "extras": {}},
        {"extras": {"mode": "policy_eval", "policy_path": 5}},
        {"extras": {"mode": "interactive", "play": "now"}},
    ],
)
def test_what_no_learner_understands_is_no_request(settings: dict[str, Any]) -> None:
    assert read_request(settings) is None


@pytest.mark.parametrize("odd", [None, 5, [], {}, {"metadata": []}, {"metadata": {"worker": 1}}])
def test_settings_of_anything_are_a_dictionary(odd: Any) -> None:
    assert worker_settings(odd) == {}


def test_a_config_without_a_mode_trains() -> None:
    assert mode_of({}) == mode_of({"extras": {"mode": None}}) == mode_of({"extras": 3}) == "train"
    assert mode_of({"extras": {"mode": "interactive"}}) == Mode.PLAY


def test_lineage_is_the_parent_a_client_named() -> None:
    evaluation = EvaluateRequest(policy="/elsewhere/step_4096.model").settings()
    found = lineage_of(config(evaluation, lineage={"parent_run": PARENT}), RUNS)
    assert found == Lineage(PARENT, LineageKind.EVALUATED, 4096)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (ResumeRequest(checkpoint=f"{RUNS}/{PARENT}/runs/x/ppo.model"), LineageKind.RESUMED),
        (PlayRequest(policy=f"{RUNS}/{PARENT}/ppo.model"), LineageKind.PLAYED),
        (TrainRequest(warm_start=f"{RUNS}/{PARENT}/ppo.model"), LineageKind.WARM_STARTED),
    ],
)
def test_else_it_is_the_run_in_whose_folder_the_checkpoint_lies(
    settings: ResumeRequest | PlayRequest | TrainRequest, kind: LineageKind
) -> None:
    assert lineage_of(config(settings.settings()), RUNS) == Lineage(PARENT, kind)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"metadata": None},
        config(TrainRequest(algo="ppo").settings()),
        config(ResumeRequest(checkpoint="/elsewhere/model").settings()),
        config(ResumeRequest(checkpoint=f"{RUNS}/{PARENT}/../../x").settings()),
        config(ResumeRequest(checkpoint=f"{RUNS}/not-a-run/model").settings()),
        config(ResumeRequest(checkpoint=None).settings(), lineage={"parent_run": "../etc"}),
        config({"extras": {"mode": "later"}}, lineage={"parent_run": PARENT}),
    ],
)
def test_other_configs_have_no_lineage(document: dict[str, Any]) -> None:
    assert lineage_of(document, RUNS) is None


def test_a_step_beyond_all_bounds_is_none() -> None:
    path = f"{RUNS}/{PARENT}/step_{'9' * 30}.model"
    assert lineage_of(config(ResumeRequest(checkpoint=path).settings()), RUNS) == Lineage(
        PARENT, LineageKind.RESUMED
    )
