"""TD3: DDPG with twin critics, a smoothed target policy and a delayed actor (Fujimoto 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cleanrl_worker.agents.action_range import ActionRange
from cleanrl_worker.agents.deterministic import DeterministicActor
from cleanrl_worker.algorithms.continuous_control import train_by_replay
from cleanrl_worker.algorithms.ddpg import DDPGArguments, DDPGLearner
from cleanrl_worker.kit.session import Session
from mosaic.worker import option


@dataclass(frozen=True)
class TD3Arguments(DDPGArguments):
    policy_noise: float = option(
        0.2, help="deviation of the noise on the target policy's actions", minimum=0.0
    )
    noise_clip: float = option(0.5, help="the largest such noise", minimum=0.0)


ARGUMENTS = TD3Arguments


def train(arguments: TD3Arguments, session: Session) -> None:
    train_by_replay(arguments, session, TD3Learner)


class TD3Learner(DDPGLearner):
    def __init__(
        self,
        arguments: TD3Arguments,
        observation_size: int,
        actions: ActionRange,
        device: torch.device,
    ) -> None:
        super().__init__(arguments, observation_size, actions, device, num_critics=2)
        self.policy_noise, self.noise_clip = arguments.policy_noise, arguments.noise_clip
        self._low = torch.from_numpy(actions.low).to(device)
        self._high = torch.from_numpy(actions.high).to(device)

    def make_actor(self, observation_size: int) -> DeterministicActor:
        return DeterministicActor(observation_size, self.action_range)

    def next_actions(self) -> Tensor:
        """Actions nearby count as well, so a critic's narrow error is no goal for the policy."""
        actions = super().next_actions()
        noise = torch.randn_like(actions).mul_(self.policy_noise)
        noise.clamp_(-self.noise_clip, self.noise_clip)
        actions.addcmul_(noise, self.actor.action_scale)
        return actions.clamp_(self._low, self._high)


if __name__ == "__main__":
    from cleanrl_worker.kit.standalone import run_alone

    run_alone("td3_continuous_action")
