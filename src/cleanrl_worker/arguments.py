"""Arguments: the flags every algorithm has, named as CleanRL's.

An algorithm's own dataclass inherits from this one, adds its hyperparameters and overrides
defaults; a preset of the registry overrides them once more. `option` carries help and bounds, from
which the command line, `schemas.json` and the forms are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mosaic.worker import option

MAX_TIMESTEPS = 10**12  # beyond any budget, and every product of it still fits into 64 bits


@dataclass(frozen=True)
class Arguments:
    exp_name: str = option(
        "", help="name of the experiment; default: the algorithm's name", section=""
    )
    seed: int = option(1, help="seed of networks, sampling and environments", minimum=0, section="")
    env_id: str = option(
        "CartPole-v1", help="environment; see `mosaic envs`", editor="env_id", section=""
    )
    env_kwargs: Mapping[str, Any] = option(dict, help="further arguments of the environment (JSON)")
    total_timesteps: int = option(
        500_000,
        help="environment steps of the whole run",
        minimum=1,
        maximum=MAX_TIMESTEPS,
        section="",
    )
    learning_rate: float = option(2.5e-4, help="step size of the optimiser", minimum=0.0)
    num_envs: int = option(1, help="copies of the environment stepped together", minimum=1)
    gamma: float = option(0.99, help="discount factor", minimum=0.0, maximum=1.0)
    torch_deterministic: bool = option(
        True, help="only deterministic kernels", section="Computation"
    )
    cuda: bool = option(
        False, help="train on the GPU; refused when there is none", section="Computation"
    )
    compile: bool = option(
        False, help="on a GPU: torch.compile and CUDA graphs", section="Computation"
    )
    accelerate: bool = option(
        True,
        help="faster code for the same maths where there is some; off: plain torch alone",
        section="Computation",
    )
    threads: int = option(
        0,
        help="CPU threads of torch; 0 chooses by the network",
        minimum=0,
        section="Computation",
    )
    vectorization: Literal["auto", "native", "loop", "processes"] = option(
        "auto",
        help="how the environments are stepped; auto takes the fastest correct way",
        section="Computation",
    )
    capture_video: bool = option(
        False, help="record videos of the first environment", section="Recording", order=4
    )
    record_episodes: bool = option(
        True,
        help="record actions, so that every episode can be replayed as pictures",
        section="Recording",
        order=5,
    )
    recording_limit_mb: int = option(
        1000,
        help="recording stops when its file has this many megabytes",
        minimum=1,
        title="Recording limit",
        section="Recording",
        order=6,
        unit="MB",
    )
    # The worker's own extras stand between these: see `WorkerExtras`.
    track: bool = option(False, help="log to Weights & Biases too", section="Tracking", order=1)
    wandb_project_name: str = option(
        "cleanRL",
        help="project on W&B",
        title="W&B project",
        section="Tracking",
        order=2,
        shown_when={"track_wandb": True},
    )
    wandb_entity: str | None = option(
        None, help="team on W&B", section="Tracking", order=3, shown_when={"track_wandb": True}
    )
    wandb_run_name: str | None = option(
        None,
        help="name of the run on W&B",
        section="Tracking",
        order=4,
        shown_when={"track_wandb": True},
    )
    tensorboard_dir: str | None = option(
        None, help="folder of the event files", section="Tracking", order=8
    )
    save_model: bool = option(
        True,
        help="keep checkpoints; without them nothing can be resumed",
        section="Recording",
        order=1,
    )
    checkpoint_interval: int = option(
        0,
        help="steps between checkpoints; 0 is a tenth of the run",
        minimum=0,
        section="Recording",
        order=2,
    )
    keep_checkpoints: int = option(
        3,
        help="how many of the newest checkpoints stay",
        minimum=1,
        section="Recording",
        order=3,
    )


@dataclass(frozen=True)
class RolloutArguments(Arguments):
    """Those of algorithms that learn from one rollout after the other."""

    num_envs: int = option(4, help="copies of the environment stepped together", minimum=1)
    num_steps: int = option(128, help="steps of each environment per rollout", minimum=1)
    anneal_lr: bool = option(True, help="let the learning rate fall to zero over the run")
    num_minibatches: int = option(4, help="minibatches a rollout is cut into", minimum=1)
    update_epochs: int = option(4, help="times a rollout is learnt from", minimum=1)

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    def rate_at(self, step: int) -> float:
        """The learning rate, on its straight way to zero at the end of the run."""
        if not self.anneal_lr:
            return self.learning_rate
        return self.learning_rate * max(0.0, 1.0 - step / self.total_timesteps)

    def rollout_steps(self, step: int) -> int:
        """How long the next rollout is: the last one of a run ends with the budget."""
        steps_left = -(-(self.total_timesteps - step) // self.num_envs)
        return min(self.num_steps, steps_left)
