"""PPO's hand-derived gradients and sampling agree with torch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from cleanrl_worker.accelerators.ppo import NumpyPPO
from cleanrl_worker.accelerators.ppo_cuda import CudaPPO
from cleanrl_worker.accelerators.ppo_policy import (
    CategoricalWithGradient,
    GaussianWithGradient,
    NumpyPolicy,
)
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.algorithms.ppo import PPOArguments, PPOLearner, ppo_loss
from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters
from cleanrl_worker.kit.rollout import RolloutBatch

ROWS, INPUTS, ACTIONS = 96, 5, 3
HUGE = 1e9  # a gradient norm nothing is clipped to


class QuietSession:
    device = torch.device("cpu")

    def note(self, text: str) -> None: ...


class NoOptimizer(FlatAdam):
    """Leaves the gradient to be looked at."""

    def step(self) -> None: ...


def make_agent(continuous: bool) -> DiscreteTowers | ContinuousTowers:
    torch.manual_seed(3)
    agent = (ContinuousTowers if continuous else DiscreteTowers)(INPUTS, ACTIONS)
    with torch.no_grad():  # a policy that is sure of something, or all gradients look alike
        for parameter in agent.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return agent


def make_batch(agent: DiscreteTowers | ContinuousTowers) -> RolloutBatch:
    rng = np.random.default_rng(5)
    observations = rng.standard_normal((ROWS, INPUTS), dtype=np.float32)
    tensors = torch.from_numpy(observations)
    actions = agent.act(tensors, deterministic=False)
    with torch.no_grad():
        output, values = agent.policy_and_value(tensors)
        log_probabilities = agent.log_probability(output, actions).numpy()
    wobble = rng.standard_normal((4, ROWS), dtype=np.float32)
    return RolloutBatch(
        observations,
        actions.numpy(),
        log_probabilities + 0.3 * wobble[0],  # some ratios beyond the clip, some within
        wobble[1],
        values.numpy() + wobble[2],
        values.numpy() + 0.3 * wobble[3],
    )


def learners(arguments: PPOArguments, continuous: bool) -> list[tuple[Any, FlatParameters]]:
    made: list[tuple[Any, FlatParameters]] = []
    session: Any = QuietSession()
    for kind in ("plain", "numpy", "cuda"):  # the last one on the CPU, where its maths is the same
        agent = make_agent(continuous)
        flat = FlatParameters(agent)
        optimizer = NoOptimizer(flat, arguments.learning_rate)
        learner: Any = PPOLearner(agent, optimizer, arguments)
        if kind == "numpy":
            learner = NumpyPPO(agent, optimizer, arguments)
        elif kind == "cuda":
            learner = CudaPPO(agent, optimizer, ppo_loss, arguments, session)
        made.append((learner, flat))
    return made


@pytest.mark.parametrize(
    ("continuous", "clip_vloss", "norm_adv", "shifted"),
    [
        flags
        for flags in itertools.product((False, True), repeat=4)
        if flags[0] or not flags[3]  # only continuous actions can be shifted
    ],
)
def test_all_learners_find_the_same_gradient_and_metrics(
    continuous: bool, clip_vloss: bool, norm_adv: bool, shifted: bool
) -> None:
    arguments = PPOArguments(
        clip_vloss=clip_vloss, norm_adv=norm_adv, max_grad_norm=HUGE, ent_coef=0.02
    )
    rng = np.random.default_rng(7)
    order = rng.permutation(ROWS)
    shift = rng.uniform(-0.5, 0.5, (ROWS, ACTIONS)).astype(np.float32) if shifted else None
    batch = make_batch(make_agent(continuous))
    gradients, metrics = [], []
    for learner, flat in learners(arguments, continuous):
        learner.load(batch)
        learner.start_epoch(order, shift)
        learner.update(10, 74)
        gradients.append(flat.gradient.clone())
        metrics.append(learner.metrics())
    plain, *others = gradients
    for gradient in others:
        assert gradient.dtype == torch.float32
        difference = (gradient - plain).norm() / plain.norm()
        assert float(difference) < 1e-4
        torch.testing.assert_close(gradient, plain, rtol=1e-3, atol=1e-5)
    for found in metrics[1:]:
        assert found.keys() == metrics[0].keys()
        for name, value in found.items():
            assert value == pytest.approx(metrics[0][name], rel=1e-3, abs=1e-5), name
    assert 0.0 < metrics[0]["losses/clipfrac"] < 1.0


def test_a_batch_is_not_changed_by_learning() -> None:
    arguments = PPOArguments(rpo_alpha=0.5)
    batch = make_batch(make_agent(continuous=True))
    copies = [field.copy() for field in batch]
    for learner, _ in learners(arguments, continuous=True):
        learner.load(batch)
        learner.start_epoch(np.arange(ROWS), np.ones((ROWS, ACTIONS), np.float32))
        learner.update(0, ROWS)
    for field, before in zip(batch, copies, strict=True):
        np.testing.assert_array_equal(field, before)


@pytest.mark.parametrize("continuous", [False, True])
def test_long_gradients_are_clipped_alike(continuous: bool) -> None:
    arguments = PPOArguments(max_grad_norm=0.01)
    batch = make_batch(make_agent(continuous))
    for learner, flat in learners(arguments, continuous):
        learner.load(batch)
        learner.start_epoch(np.arange(ROWS), None)
        learner.update(0, ROWS)
        assert float(flat.gradient.norm()) == pytest.approx(0.01, rel=1e-3)


def test_a_minibatch_of_one_row_has_a_finite_gradient() -> None:
    batch = make_batch(make_agent(continuous=False))
    for learner, flat in learners(PPOArguments(), continuous=False):
        learner.load(batch)
        learner.start_epoch(np.arange(ROWS), None)
        learner.update(0, 1)
        assert bool(flat.gradient.isfinite().all())


def test_categorical_samples_follow_the_logits() -> None:
    distribution = CategoricalWithGradient(3)
    logits = np.log(np.array([[0.2, 0.5, 0.3]], np.float32))
    noise = distribution.draw_noise(np.random.default_rng(1), 20_000, 1)
    actions = distribution.sample(np.repeat(logits, 20_000, 0), noise[:, 0])
    shares = np.bincount(actions, minlength=3) / 20_000
    np.testing.assert_allclose(shares, [0.2, 0.5, 0.3], atol=0.015)


def test_gaussian_samples_have_the_mean_and_the_spread() -> None:
    log_std = np.log(np.array([[0.5, 2.0]], np.float32))
    distribution = GaussianWithGradient(log_std, np.zeros_like(log_std))
    means = np.tile(np.array([1.0, -3.0], np.float32), (20_000, 1))
    noise = distribution.draw_noise(np.random.default_rng(1), 1, 20_000)
    actions = distribution.sample(means, noise[0])
    np.testing.assert_allclose(actions.mean(0), [1.0, -3.0], atol=0.05)
    np.testing.assert_allclose(actions.std(0), [0.5, 2.0], rtol=0.03)
    assert actions.dtype == np.float32


@pytest.mark.parametrize("continuous", [False, True])
def test_log_probabilities_and_entropy_equal_those_of_torch_distributions(
    continuous: bool,
) -> None:
    agent = make_agent(continuous)
    batch = make_batch(agent)
    FlatParameters(agent)
    policy = NumpyPolicy(agent)
    outputs, values = policy.evaluate(batch.observations)
    found = policy.distribution.log_probabilities(outputs, batch.actions)
    actions = torch.from_numpy(batch.actions)
    expected: Any
    if isinstance(agent, ContinuousTowers):
        normal = torch.distributions.Normal(torch.from_numpy(outputs), agent.actor_logstd.exp())
        expected, entropy = normal.log_prob(actions).sum(1), normal.entropy().sum(1).mean()
    else:
        categorical = torch.distributions.Categorical(logits=torch.from_numpy(outputs))
        expected, entropy = categorical.log_prob(actions), categorical.entropy().mean()
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert policy.distribution.mean_entropy() == pytest.approx(entropy.item(), rel=1e-5)
    with torch.no_grad():
        torch_values = agent.value(torch.from_numpy(batch.observations)).numpy()
    np.testing.assert_allclose(values, torch_values, rtol=1e-4, atol=1e-5)


def test_the_highest_logits_do_not_overflow() -> None:
    distribution = CategoricalWithGradient(2)
    output = np.array([[1000.0, 0.0], [-1000.0, 500.0]], np.float32)
    found = distribution.log_probabilities(output, np.array([0, 1]))
    np.testing.assert_allclose(found, [0.0, 0.0], atol=1e-6)
    gradient = distribution.backward(np.ones(2, np.float32), -0.01)
    assert np.isfinite(gradient).all()
