"""`mosaic eval` and `mosaic resume`: what becomes of a checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.numbers import number_between, positive, seed, total_steps
from mosaic.cli.session import open_client
from mosaic.cli.terminal import say, say_table

if TYPE_CHECKING:
    from mosaic.client import TrainerClient


def add(commands: Any) -> None:
    evaluating = commands.add_parser("eval", help="evaluate the policy of a run or a checkpoint")
    evaluating.add_argument("policy", metavar="RUN|PATH", help="a run, or a checkpoint file")
    evaluating.add_argument("--episodes", type=positive, metavar="N", help="default: 50")
    evaluating.add_argument("--batch-size", type=positive, metavar="N", help="episodes per batch")
    evaluating.add_argument("--repeat", action="store_true", help="batch after batch until stopped")
    evaluating.add_argument("--stochastic", action="store_true", help="sample actions")
    evaluating.add_argument("--seed", type=seed, help="of the first episode; default: 1")
    evaluating.add_argument("--env-id", help="another environment than the trained one")
    evaluating.add_argument("--algo", help="when it cannot be told from the files")
    evaluating.add_argument(
        "--gamma", type=number_between(0, 1), help="discount of the reported returns"
    )
    evaluating.add_argument(
        "--extra",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="anything else of the worker's config, as video_mode=single (repeatable)",
    )
    evaluating.add_argument("--video", action="store_true", help="record the first episodes")
    _add_shared(evaluating)
    evaluating.set_defaults(handler=evaluate)
    resuming = commands.add_parser("resume", help="go on with a training from its checkpoint")
    resuming.add_argument("policy", metavar="RUN|PATH", help="a run, or a checkpoint file")
    resuming.add_argument(
        "--total-timesteps",
        type=total_steps,
        metavar="N",
        help="the new total, old steps included",
    )
    resuming.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a parameter"
    )
    _add_shared(resuming)
    resuming.set_defaults(handler=resume)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    from mosaic.cli.submission import add_consent_option

    parser.add_argument("--worker", help="only for files, when several workers could load it")
    parser.add_argument("--cuda", action="store_true", help="on a GPU; refused when there is none")
    parser.add_argument("--name", help="a label for the run")
    parser.add_argument("--detach", action="store_true", help="print the run's id and return")
    parser.add_argument("--dry-run", action="store_true", help="check everything, start nothing")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    add_consent_option(parser)


def evaluate(arguments: argparse.Namespace) -> int:
    from mosaic.front.policy_config import evaluation_document
    from mosaic.front.policy_reference import find_policy
    from mosaic.front.set_values import parse_settings

    with open_client(arguments) as client:
        policy = find_policy(client, arguments.policy, arguments.worker)
        given = {
            **parse_settings(arguments.extra, {}),
            "eval_episodes": arguments.episodes,
            "eval_batch_size": arguments.batch_size,
            "eval_gamma": arguments.gamma,
            "eval_repeat": arguments.repeat or None,
            "eval_deterministic": False if arguments.stochastic else None,
            "seed_override": arguments.seed,
            "eval_capture_video": arguments.video or None,
        }
        document = evaluation_document(
            policy,
            {name: value for name, value in given.items() if value is not None},
            env_id=arguments.env_id,
            algo=arguments.algo,
            name=arguments.name,
            use_gpu=arguments.cuda,
        )
        return _submit(client, arguments, document)


def resume(arguments: argparse.Namespace) -> int:
    from mosaic.front.policy_config import resuming_document
    from mosaic.front.policy_reference import find_policy
    from mosaic.front.set_values import parse_settings

    with open_client(arguments) as client:
        document = resuming_document(
            find_policy(client, arguments.policy, arguments.worker),
            total_timesteps=arguments.total_timesteps,
            parameters=parse_settings(arguments.set, {}),
            name=arguments.name,
            use_gpu=arguments.cuda,
        )
        return _submit(client, arguments, document)


def _submit(client: TrainerClient, arguments: argparse.Namespace, document: dict[str, Any]) -> int:
    from mosaic.cli.submission import submit_and_report

    return submit_and_report(
        client,
        document,
        dry_run=arguments.dry_run,
        follow=not arguments.detach,
        as_json=arguments.json,
        at_end=None if arguments.json else lambda record: say_evaluation(record.paths),
        is_confirmed=arguments.yes,
    )


def say_evaluation(paths: dict[str, str]) -> None:
    """The table of an evaluation's batches, if this run was one."""
    from mosaic.files import read_json

    path = Path(paths["run_directory"]) / "eval_summary.json"
    try:
        found = read_json(path)
        history = found["history"] if found else []
    except (OSError, ValueError, KeyError, TypeError):
        return
    rows = [
        (
            str(batch["batch_index"]),
            str(batch["episodes"]),
            f"{batch['avg_return']:.2f} ± {batch['std_return']:.2f}",
            f"{batch['min_return']:.2f}",
            f"{batch['max_return']:.2f}",
            f"{batch['duration_sec']:.1f} s",
        )
        for batch in history
    ]
    if rows:
        say_table(("BATCH", "EPISODES", "RETURN", "MIN", "MAX", "TOOK"), rows)
        say(f"  {path}")
