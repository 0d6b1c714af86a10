"""C51: DQN that learns the distribution of returns instead of their mean (Bellemare 2017)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from cleanrl_worker.agents.c51_network import LARGEST_PROBABILITY, SMALLEST_PROBABILITY, C51Network
from cleanrl_worker.agents.q_learner import AutogradLearner, QLearner, Transitions
from cleanrl_worker.agents.q_network import spaces_of
from cleanrl_worker.algorithms.dqn import DQNArguments, learn_from_replay
from cleanrl_worker.analytic.c51_learner import AnalyticC51Learner
from cleanrl_worker.kit.model_file import ModelFile
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from mosaic.errors import ConfigError
from mosaic.worker import option


@dataclass(frozen=True)
class C51Arguments(DQNArguments):
    n_atoms: int = option(101, help="returns a distribution can hold", minimum=2)
    v_min: float = option(-100.0, help="the smallest of these returns")
    v_max: float = option(100.0, help="the largest of these returns")

    def __post_init__(self) -> None:
        if self.v_min >= self.v_max:
            raise ConfigError(
                f"'v_max': {self.v_max} must be larger than v_min, {self.v_min}",
                hint="they enclose the returns to be expected",
                field="v_max",
            )


ARGUMENTS = C51Arguments


def train(arguments: C51Arguments, session: Session) -> None:
    with session.environments() as envs:
        network = C51Network(
            *spaces_of(envs), arguments.n_atoms, arguments.v_min, arguments.v_max
        ).to(session.device)
        learner = make_learner(network, arguments)
        model = ModelFile(network, arguments=asdict(arguments))
        learn_from_replay(arguments, session, envs, learner, model, loss_name="losses/loss")


def make_learner(network: C51Network, arguments: C51Arguments) -> QLearner[C51Network]:
    rates = arguments.gamma, arguments.learning_rate, 0.01 / arguments.batch_size
    if not network.needs_autograd:
        choose_threads(arguments, default=1)
        return AnalyticC51Learner(network, *rates)
    choose_threads(arguments, default=2)
    return AutogradC51Learner(network, *rates, use_graph=arguments.compile)


class AutogradC51Learner(AutogradLearner[C51Network]):
    def loss(self, batch: Transitions) -> tuple[Tensor, Tensor]:
        """Cross entropy with the target network's distribution of the best action that follows.

        Only a terminated episode is worth nothing beyond its end; a truncated one would go on.
        """
        rows = torch.arange(len(batch.rewards), device=self.network.atoms.device)
        with torch.no_grad():
            following = self.target.distributions(batch.next_observations)
            best = self.target.values(following).argmax(1)
            discounts = self.gamma * (1.0 - batch.terminated)
            wanted = project(following[rows, best], batch.rewards, discounts, self.target.atoms)
        chosen = self.network.distributions(batch.observations)[rows, batch.actions]
        likely = chosen.clamp(SMALLEST_PROBABILITY, LARGEST_PROBABILITY)
        return -(wanted * likely.log()).sum(1).mean(), self.network.values(chosen)


def project(probabilities: Tensor, rewards: Tensor, discounts: Tensor, atoms: Tensor) -> Tensor:
    """Move each atom to `reward + discount * atom`; the two nearest atoms share its probability."""
    last = len(atoms) - 1
    moved = torch.addcmul(rewards[:, None], discounts[:, None], atoms)
    places = (moved - atoms[0]).mul_(last / (atoms[last] - atoms[0])).clamp_(0, last)
    below = places.floor()
    above_share = places.sub_(below) * probabilities
    lower = below.long()
    upper = (lower + 1).clamp_(max=last)  # from the last place a share of 0 goes nowhere
    projected = torch.zeros_like(probabilities)
    projected.scatter_add_(1, lower, probabilities - above_share)
    return projected.scatter_add_(1, upper, above_share)


if __name__ == "__main__":
    from cleanrl_worker.kit.standalone import run_alone

    run_alone("c51")
