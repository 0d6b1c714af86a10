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
    exp_name: str = option("", help="name of the experiment; default: the algorithm's name")
    seed: int = option(1, help="seed of networks, sampling and environments", minimum=0)
    env_id: str = option("CartPole-v1", help="environment; see `mosaic envs`", editor="env_id")
    env_kwargs: Mapping[str, Any] = option(dict, help="further arguments of the environment (JSON)")
    total_timesteps: int = option(
        500_000, help="environment steps of the whole run", minimum=1, maximum=MAX_TIMESTEPS
    )
    learning_rate: float = option(2.5e-4, help="step size of the optimiser", minimum=0.0)
    num_envs: int = option(1, help="copies of the environment stepped together", minimum=1)
    gamma: float = option(0.99, help="discount factor", minimum=0.0, maximum=1.0)
    torch_deterministic: bool = option(True, help="only deterministic kernels")
    cuda: bool = option(False, help="train on the GPU; refused when there is none")
    compile: bool = option(False, help="on a GPU: torch.compile and CUDA graphs")
    threads: int = option(0, help="CPU threads of torch; 0 chooses by the network", minimum=0)
    vectorization: Literal["auto", "native", "loop", "processes"] = option(
        "auto", help="how the environments are stepped; auto takes the fastest correct way"
    )
    capture_video: bool = option(False, help="record videos of the first environment")
    track: bool = option(False, help="log to Weights & Biases too")
    wandb_project_name: str = option("cleanRL", help="project on W&B")
    wandb_entity: str | None = option(None, help="team on W&B")
    wandb_run_name: str | None = option(None, help="name of the run on W&B")
    tensorboard_dir: str | None = option(None, help="folder of the event files")
    save_model: bool = option(True, help="keep checkpoints; without them nothing can be resumed")
    checkpoint_interval: int = option(
        0, help="steps between checkpoints; 0 is a tenth of the run", minimum=0
    )
    keep_checkpoints: int = option(3, help="how many of the newest checkpoints stay", minimum=1)
