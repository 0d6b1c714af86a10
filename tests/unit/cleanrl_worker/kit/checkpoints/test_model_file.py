"""Model files: laid out as CleanRL's, and refused when they do not fit."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import nn

from cleanrl_worker.kit.checkpoints.model_file import ModelFile, split_payload
from mosaic.errors import WorkerError


def saved_and_read(payload: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(payload, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


def test_one_network_is_its_plain_state_dict() -> None:
    network, other = nn.Linear(2, 3), nn.Linear(2, 3)
    payload = saved_and_read(ModelFile(network).payload())
    assert list(payload) == ["weight", "bias"]
    ModelFile(other).load(payload)
    assert torch.equal(network.weight, other.weight)


def test_several_networks_are_a_tuple_in_order() -> None:
    actor, critic = nn.Linear(2, 1), nn.Linear(3, 1)
    payload = saved_and_read(ModelFile(actor, critic).payload())
    assert isinstance(payload, tuple)
    assert [state["weight"].shape[1] for state in payload] == [2, 3]
    only_actor = nn.Linear(2, 1)
    ModelFile(only_actor).load(payload)  # evaluation needs no critic
    assert torch.equal(only_actor.weight, actor.weight)


def test_arguments_stand_beside_the_weights_as_cleanrls_c51_reads_them() -> None:
    network = nn.Linear(2, 3)
    arguments = {"n_atoms": 101, "v_min": -100.0, "wandb_entity": None, "env_kwargs": {"a": 1}}
    model = ModelFile(network, arguments=arguments)
    payload = saved_and_read(model.payload())
    assert payload["args"] == {"n_atoms": 101, "v_min": -100.0, "wandb_entity": None}
    assert list(payload["model_weights"]) == ["weight", "bias"]
    other = nn.Linear(2, 3)
    ModelFile(other).load(payload)
    assert torch.equal(other.bias, network.bias)


def test_weights_load_in_place() -> None:
    network = nn.Linear(2, 3)
    memory = network.weight.data_ptr()
    ModelFile(network).load(ModelFile(nn.Linear(2, 3)).payload())
    assert network.weight.data_ptr() == memory


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"weight": torch.zeros(3, 2)}, "Missing key"),
        (
            {"weight": torch.zeros(3, 9), "bias": torch.zeros(3)},
            "its weight is 3×9, and 3×2",
        ),
        ((), "no network weights"),
        ("text", "no network weights"),
        ({"weight": [1, 2]}, "no network weights"),
        (torch.zeros(3), "no network weights"),
    ],
)
def test_weights_that_do_not_fit_are_refused(payload: Any, message: str) -> None:
    with pytest.raises(WorkerError, match=message) as caught:
        ModelFile(nn.Linear(2, 3)).load(payload)
    assert caught.value.hint


def test_too_few_networks_are_refused() -> None:
    actor, critic = nn.Linear(2, 1), nn.Linear(3, 1)
    with pytest.raises(WorkerError, match="holds 1 networks, 2 are needed"):
        ModelFile(actor, critic).load(ModelFile(actor).payload())


def test_lists_and_wrapped_tuples_are_split_too() -> None:
    one, other = {"a": torch.zeros(1)}, {"b": torch.zeros(1)}
    assert [list(state) for state in split_payload([one, other])] == [["a"], ["b"]]
    assert [list(state) for state in split_payload({"model_weights": (one, other)})] == [
        ["a"],
        ["b"],
    ]
