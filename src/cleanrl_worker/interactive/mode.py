"""The worker's mode `interactive`: from the config to a player that is served."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.eval_registry import find_entry
from cleanrl_worker.evaluation_mode import find_source
from mosaic.worker import Run

if TYPE_CHECKING:
    from cleanrl_worker.evaluation.detection import PolicySource
    from cleanrl_worker.interactive.player import Player

DEFAULT_SEED = 1


def describe_play(config: CleanRLWorkerConfig) -> dict[str, Any]:
    source = _source(config)
    return {
        "mode": config.mode,
        "algo": config.algo if source is None else source.algo,
        "env_id": config.env_id if source is None else source.env_id,
        "policy_path": None if source is None else str(source.path),
        "frames": config.extra("frames"),
    }


def play(run: Run[CleanRLWorkerConfig]) -> None:
    from cleanrl_worker.interactive.serving import serve

    facts = {"run_id": run.run_id, **describe_play(run.config)}
    serve(run, lambda resources: open_player(run, facts["env_id"], resources), facts)


def open_player(run: Run[CleanRLWorkerConfig], env_id: str, resources: ExitStack) -> Player:
    from cleanrl_worker.environments.single import make_single
    from cleanrl_worker.interactive.frames import open_frames
    from cleanrl_worker.interactive.player import Player

    config, source = run.config, _source(run.config)
    frames = open_frames(config.extra("frames"), run.run_id)
    if frames is not None:
        resources.callback(frames.close)
    env = make_single(
        env_id,
        env_kwargs=_env_kwargs(config, source),
        render_mode=None if frames is None else "rgb_array",
        frame_stack=4 if source is None else find_entry(source.algo).frame_stack,
        training=False,
    )
    resources.callback(env.close)
    policy = None
    if source is not None:
        # Only now: a person who plays alone needs no torch.
        from cleanrl_worker.evaluation.loading import load_policy

        policy = load_policy(source, env.observation_space, env.action_space)
    seed = config.seed if source is None else source.seed
    return Player(
        env,
        policy,
        frames,
        default_seed=DEFAULT_SEED if seed is None else seed,
        is_deterministic=config.extra("eval_deterministic"),
    )


def _source(config: CleanRLWorkerConfig) -> PolicySource | None:
    return find_source(config) if config.extras.get("policy_path") else None


def _env_kwargs(config: CleanRLWorkerConfig, source: PolicySource | None) -> dict[str, Any]:
    given = {**config.extras, **(config.extras.get("algo_params") or {})}.get("env_kwargs")
    trained: Any = {} if source is None else source.env_kwargs
    return dict(trained if given is None else given)
