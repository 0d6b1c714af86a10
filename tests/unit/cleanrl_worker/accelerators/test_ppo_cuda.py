"""On a GPU: the captured update learns as the eager one does, and a failed capture is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import pytest
import torch

from cleanrl_worker.accelerators import cuda_graphs, ppo_cuda
from cleanrl_worker.accelerators.cuda_graphs import graphed
from cleanrl_worker.agents.choice import make_actor_critic
from cleanrl_worker.algorithms import ppo
from cleanrl_worker.algorithms.ppo import PPOArguments
from cleanrl_worker.kit.seeding import seed_everything
from cleanrl_worker.kit.session import Session
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    DriftingPoints,
    RememberingReporter,
)

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

SMALL = PPOArguments(
    num_envs=2, num_steps=16, num_minibatches=2, update_epochs=2, total_timesteps=100, threads=1
)


def trained(device: str, **settings: Any) -> tuple[torch.Tensor, list[str]]:
    """The weights after a short training, and the notes it made."""
    arguments = replace(SMALL, **settings)
    actions = None if arguments.rpo_alpha else gymnasium.spaces.Discrete(3)
    agents: list[torch.nn.Module] = []

    def remember_agent(*spaces: Any) -> Any:
        agents.append(make_actor_critic(*spaces))
        return agents[0]

    seed_everything(arguments.seed, deterministic=True)
    reporter = RememberingReporter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "cleanrl_worker.kit.session.make_env_batch",
            lambda _, n, **__: DriftingPoints(n, 0.2, actions),
        )
        patch.setattr(ppo, "make_actor_critic", remember_agent)
        ppo.train(arguments, Session(arguments, torch.device(device), reporter))
    weights = [parameter.detach().cpu().flatten() for parameter in agents[0].parameters()]
    return torch.cat(weights), reporter.notes


@needs_gpu
@pytest.mark.parametrize("settings", [{}, {"network": "mlp"}, {"rpo_alpha": 0.5}], ids=str)
def test_eager_and_captured_updates_learn_as_the_cpu_does(
    settings: dict[str, Any],
) -> None:
    on_cpu, _ = trained("cpu", **settings)
    eager, _ = trained("cuda", **settings)
    captured, notes = trained("cuda", compile=True, **settings)
    assert not [note for note in notes if "not possible" in note]
    torch.testing.assert_close(eager, on_cpu, rtol=0.0, atol=1e-3)
    torch.testing.assert_close(captured, on_cpu, rtol=0.0, atol=1e-3)


@needs_gpu
def test_a_graph_computes_anew_with_each_input_and_leaves_no_trace_of_warming_up() -> None:
    total = torch.zeros(3, device="cuda")

    def add(values: torch.Tensor) -> torch.Tensor:
        total.add_(values)
        return total * 2.0

    replay = graphed(add, [torch.ones(3, device="cuda")], changes=[total])
    assert total.tolist() == [0.0] * 3
    assert replay(torch.full((3,), 2.0, device="cuda")).tolist() == [4.0] * 3
    assert replay(torch.ones(3, device="cuda")).tolist() == [6.0] * 3


def test_where_nothing_can_be_captured_the_plain_function_runs_and_a_note_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError("no capture here\nand a long trace")

    monkeypatch.setattr(cuda_graphs, "graphed", refuse)
    notes: list[str] = []
    candidates = [(torch.sin, "a compiled CUDA graph"), (torch.cos, "a CUDA graph")]
    function = cuda_graphs.first_graph(candidates, torch.zeros(1), (), notes.append)
    assert function is torch.cos
    assert [note.partition(" is not possible")[0] for note in notes] == [
        "a compiled CUDA graph",
        "a CUDA graph",
    ]
    assert all(note.endswith("no capture here") for note in notes)


def test_a_captured_update_is_used_for_minibatches_of_its_size_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected, _ = trained("cpu", network="mlp")
    replayed: list[int] = []

    def pretend(function: Any, example: Any, changes: Any) -> Any:
        def replay(inputs: torch.Tensor) -> torch.Tensor:
            if inputs.dtype == torch.int64:  # rows of a minibatch, not observations
                replayed.append(len(inputs))
            result: torch.Tensor = function(inputs)
            return result

        return replay

    def cuda_learner(agent: Any, optimizer: Any, arguments: Any, session: Any) -> Any:
        return ppo_cuda.CudaPPO(agent, optimizer, ppo.ppo_loss, arguments, session)

    monkeypatch.setattr(ppo, "make_learner", cuda_learner)
    monkeypatch.setattr(cuda_graphs, "graphed", pretend)
    monkeypatch.setattr(torch, "compile", lambda function: function)
    captured, _ = trained("cpu", network="mlp", compile=True)
    # Three full rollouts in 2 x 2 minibatches of 16; the last rollout of 4 rows goes without.
    assert replayed == [16] * 12
    assert torch.equal(captured, expected)
