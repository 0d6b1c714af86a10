"""`mosaic run`: a run of a worker, with its settings on the command line."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any

from mosaic.cli.numbers import config_number, natural, seed, total_steps
from mosaic.cli.session import open_client
from mosaic.errors import DependencyError, UnknownWorkerError

if TYPE_CHECKING:
    from mosaic.contracts.capabilities import WorkerCapabilities
    from mosaic.wire.answers import WorkerInfo


def add(commands: Any) -> None:
    from mosaic.cli.submission import add_environment_option

    parser = commands.add_parser("run", help="start a run of a worker and follow it")
    parser.add_argument("worker", metavar="WORKER", help="its name; see `mosaic workers`")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the worker's config (repeatable)",
    )
    parser.add_argument("--name", help="a label for the run")
    parser.add_argument("--seed", type=seed, help="short for --set seed=N")
    parser.add_argument(
        "--cpus",
        type=config_number("resources.cpus"),
        help="CPU slots; default: what the worker asks for",
    )
    parser.add_argument(
        "--memory-mb",
        type=config_number("resources.memory_mb"),
        help="memory limit in MB; default: none",
    )
    parser.add_argument(
        "--gpus",
        type=config_number("resources.gpus.requested"),
        help="GPUs to reserve; refused when missing",
    )
    parser.add_argument(
        "--max-steps", type=total_steps, help="stop after so many environment steps"
    )
    parser.add_argument(
        "--max-duration",
        type=config_number("schedule.max_duration_seconds"),
        metavar="SECONDS",
        help="stop after this time",
    )
    parser.add_argument(
        "--priority", type=config_number("priority"), help="-100 to 100; higher starts first"
    )
    parser.add_argument("--retries", type=natural, help="start again so many times after a failure")
    add_environment_option(parser)
    parser.add_argument("--detach", action="store_true", help="print the run's id and return")
    parser.add_argument("--dry-run", action="store_true", help="check everything, start nothing")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    from mosaic.cli.submission import submit_and_report

    with open_client(arguments) as client:
        capabilities = find_worker(client.workers(), arguments.worker)
        return submit_and_report(
            client,
            build_config(arguments, capabilities),
            dry_run=arguments.dry_run,
            follow=not arguments.detach,
            as_json=arguments.json,
        )


def find_worker(workers: list[WorkerInfo], name: str) -> WorkerCapabilities:
    for worker in workers:
        if worker.name == name:
            if worker.capabilities is None:
                raise DependencyError(
                    f"The worker {name} cannot be used: {worker.error}",
                    hint="`mosaic workers --refresh` looks again",
                )
            return worker.capabilities
    names = [worker.name for worker in workers]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise UnknownWorkerError(
        f"There is no worker {name[:80]!r}",
        hint=f"{hint}known workers: {', '.join(sorted(names)) or 'none'}",
    )


def build_config(arguments: argparse.Namespace, capabilities: WorkerCapabilities) -> dict[str, Any]:
    """The TrainRunConfig that the command line describes."""
    from mosaic.cli.submission import parse_environment
    from mosaic.front.set_values import parse_settings
    from mosaic.front.worker_config import WorkerRun, worker_document

    schema = capabilities.config_schema
    settings = parse_settings(arguments.set, schema)
    if arguments.seed is not None:
        settings.update(parse_settings([f"seed={arguments.seed}"], schema))
    return worker_document(
        WorkerRun(
            arguments.worker,
            capabilities,
            settings,
            name=arguments.name or "",
            cpus=arguments.cpus,
            memory_mb=arguments.memory_mb,
            gpus=arguments.gpus,
            priority=arguments.priority,
            retries=arguments.retries,
            max_steps=arguments.max_steps,
            max_duration_s=arguments.max_duration,
            environment=parse_environment(arguments.env),
        )
    )
