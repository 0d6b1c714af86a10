"""What the worker itself understands beside an algorithm's parameters: its extras and flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mosaic.worker import Shortcut, option

TRAIN, RESUME, EVALUATE, INTERACTIVE = "train", "resume_training", "policy_eval", "interactive"
NATIVE, UPSTREAM = "native", "upstream"
NAMES_OF_CUDA = ("cuda", "use_cuda", "gpu")


@dataclass(frozen=True)
class WorkerExtras:
    """The `extras` that are no parameters of an algorithm; None is as if it were not given."""

    mode: Literal["train", "resume_training", "policy_eval", "interactive"] = option(
        "train", help="what to do with the algorithm"
    )
    source: Literal["native", "upstream"] = option(
        "native", help="whose algorithm: ours, or the script of that name from CleanRL itself"
    )
    upstream_path: str | None = option(
        None,
        help="upstream: a checkout of CleanRL, its folder of scripts, or one of them; default: the "
        "package cleanrl of env_python",
    )
    env_python: str | None = option(
        None, help="upstream: the interpreter that runs the script; default: the worker's own"
    )
    compatibility: bool = option(
        True, help="upstream: let scripts written for Gymnasium before 1.0 see the old behaviour"
    )
    algo_params: Mapping[str, Any] = option(dict, help="parameters of the algorithm")
    checkpoint_path: str | None = option(
        None, help="resume_training: the checkpoint to go on from", editor="checkpoint"
    )
    warm_start_path: str | None = option(
        None,
        help="train: a checkpoint of the same algorithm, with whose networks it begins",
        editor="checkpoint",
    )
    policy_path: str | None = option(
        None, help="policy_eval, interactive: the checkpoint that acts", editor="checkpoint"
    )
    use_cuda: bool | None = option(None, help="the same as cuda")
    gpu: bool | None = option(None, help="the same as cuda")
    track_wandb: bool | None = option(None, help="log to Weights & Biases too")
    wandb_email: str | None = option(None, help="whose account on W&B; sets WANDB_EMAIL")
    notes: str | None = option(None, help="your own words, kept in analytics.json")
    agent_id: str | None = option(None, help="name of the agent")
    curriculum_schedule: Sequence[Mapping[str, Any]] | None = option(
        None, help="stages of a curriculum; not available yet", editor="curriculum"
    )
    eval_batch_size: int = option(50, help="policy_eval: episodes of one batch", minimum=1)
    eval_episodes: int | None = option(
        None, help="policy_eval: episodes of all batches; default: one batch", minimum=1
    )
    eval_repeat: bool = option(False, help="policy_eval: go on with batches until stopped")
    eval_capture_video: bool = option(False, help="policy_eval: record a video of each batch")
    eval_deterministic: bool = option(True, help="policy_eval: the best action, not a sampled one")
    eval_gamma: float | None = option(
        None, help="policy_eval: discount of the discounted return", minimum=0.0, maximum=1.0
    )
    eval_max_episode_steps: int | None = option(
        None, help="policy_eval: cut episodes off after this many steps", minimum=1
    )
    seed_override: int | None = option(None, help="policy_eval: seed of the episodes", minimum=0)
    frames: Literal["none", "png", "shm"] = option(
        "png", help="interactive: frames as PNG, as a shared-memory segment, or not at all"
    )
    play: Mapping[str, Any] | None = option(
        None, help="interactive: play in real time at once; the fields of the command play"
    )
    fastlane_enabled: bool | None = option(None, help="live view: false turns it off")
    fastlane_only: bool | None = option(
        None, help="kept for compatibility: this worker sends frames to the live view only"
    )
    fastlane_slot: int | None = option(
        None, help="live view: which environment, in mode single", minimum=0
    )
    fastlane_video_mode: Literal["single", "grid", "off"] | None = option(
        None, help="live view: one environment, several, or none"
    )
    fastlane_grid_limit: int | None = option(
        None, help="live view: how many environments, in mode grid", minimum=1
    )
    fastlane_budget: float | None = option(
        None,
        help="live view: the share of its time that a run may give to it; more is smoother",
        minimum=0.001,
        maximum=1.0,
    )
    video_mode: Literal["single", "grid", "off"] | None = option(
        None, help="policy_eval: as fastlane_video_mode, and before it"
    )
    grid_limit: int | None = option(
        None, help="policy_eval: as fastlane_grid_limit, and before it", minimum=1
    )


SHORTCUTS = (
    Shortcut("--algo", "algo", "the algorithm, as algo in the config"),
    Shortcut("--env-id", "env_id", "the environment, as env_id in the config"),
    Shortcut("--total-timesteps", "total_timesteps", "environment steps of the whole run"),
    Shortcut("--seed", "seed", "seed of networks, sampling and environments"),
    Shortcut("--worker-id", "worker_id", "name of this worker"),
    Shortcut("--policy-path", "extras.policy_path", "the checkpoint to evaluate or to play with"),
    Shortcut("--extras", "extras", "entries of extras", is_object=True),
    Shortcut(
        "--interactive",
        "extras.mode",
        "reset and step by JSON lines on stdin; answers on stdout",
        value=INTERACTIVE,
    ),
)
