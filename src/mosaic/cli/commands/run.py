"""`mosaic run` and `mosaic submit`: a run of any worker.

Its settings are on the command line, or in a TrainRunConfig file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import config_number, seed, total_steps
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.run_options import FOLLOWING, add_run_options
from mosaic.errors import ConfigError

if TYPE_CHECKING:
    from mosaic.contracts.capabilities import WorkerCapabilities


def add_run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="start a run of a worker and follow it",
        description=(
            "Starts a run of a worker and follows it. Ctrl-C detaches: the run goes on. The "
            "worker's schema gives the type of a setting: seed=1, learning_rate=3e-4, "
            "total_timesteps=1e6, anneal=true, layers=[64,64], policy=null. a.b=1 reaches into an "
            "object. An unknown key is refused, with the nearest known one."
        ),
    )
    parser.add_argument("worker", metavar="WORKER", help="its name; see `mosaic workers`")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the worker's config (repeatable)",
    )
    parser.add_argument("--seed", metavar="N", type=seed, help="short for `--set seed=N`")
    parser.add_argument(
        "--gpus",
        metavar="N",
        type=config_number("resources.gpus.requested"),
        help="GPUs to reserve; refused when missing",
    )
    parser.add_argument(
        "--max-steps", metavar="N", type=total_steps, help="stop after so many environment steps"
    )
    add_run_options(
        parser,
        *("--name", "--cpus", "--memory-mb", "--max-duration", "--priority", "--retries", "--env"),
        *(*FOLLOWING, "--install", "--yes"),
    )
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.install_agreement import RunInstalls
    from mosaic.cli.shared.submission import submit_and_report
    from mosaic.front.references import find_worker

    with open_client(arguments) as client:
        capabilities = find_worker(client.workers(), arguments.worker)
        return submit_and_report(
            client,
            build_config(arguments, capabilities),
            dry_run=arguments.dry_run,
            follow=not arguments.detach,
            as_json=arguments.json,
            is_confirmed=arguments.yes,
            installs=RunInstalls.of(arguments),
        )


def build_config(arguments: argparse.Namespace, capabilities: WorkerCapabilities) -> dict[str, Any]:
    """The TrainRunConfig that the command line describes."""
    from mosaic.cli.shared.submission import parse_environment
    from mosaic.front.set_values import parse_settings
    from mosaic.front.training_config import WorkerRun, worker_document

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


def add_submit(commands: Any) -> None:
    parser = commands.add_parser(
        "submit",
        help="start a run from a TrainRunConfig file",
        description=(
            "Starts a run from a TrainRunConfig file and prints its id. What the file brings along "
            "that did not come with this installation (a program, variables that run something, a "
            "`module:` before an environment) is shown and asked about first; without a terminal "
            "--yes is required."
        ),
    )
    parser.add_argument("config", metavar="CONFIG.json", help="the file, or - for standard input")
    parser.add_argument("--wait", action="store_true", help="follow the run until it is over")
    add_run_options(parser, "--env", "--dry-run", "--json", "--install", "--yes")
    parser.set_defaults(handler=submit)


def submit(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.install_agreement import RunInstalls
    from mosaic.cli.shared.submission import parse_environment, submit_and_report

    config = read_config(arguments.config)
    variables = parse_environment(arguments.env)
    if variables:
        given = config.get("environment", {})
        if not isinstance(given, dict):
            raise ConfigError(
                f"'environment' in {arguments.config} is not an object",
                hint='write {"NAME": "value"}',
                field="environment",
            )
        config["environment"] = {**given, **variables}
    with open_client(arguments) as client:
        return submit_and_report(
            client,
            config,
            dry_run=arguments.dry_run,
            follow=arguments.wait,
            as_json=arguments.json,
            is_own=False,
            is_confirmed=arguments.yes,
            installs=RunInstalls.of(arguments),
        )


def read_config(source: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
        config = json.loads(text)
    except OSError as error:
        raise ConfigError(
            f"{source} cannot be read: {error.strerror}", hint="give the path of a JSON file"
        ) from error
    except RecursionError:
        raise ConfigError(f"{source} is nested too deeply", hint="flatten it") from None
    except ValueError as error:
        name = "standard input" if source == "-" else source
        raise ConfigError(
            f"{name} is not valid JSON: {error}", hint="check quotes and commas"
        ) from error
    if not isinstance(config, dict):
        raise ConfigError(f"{source} holds no JSON object", hint="a config begins with {")
    return config
