"""`mosaic train ALGO ENV`: train, follow, and end with a saved policy; several seeds at once."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import config_number, natural, seed, total_steps
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import paint, say, say_json
from mosaic.errors import ConfigError, RequestError
from mosaic.front.catalogue import find_algorithm, source_algorithms

if TYPE_CHECKING:
    from mosaic.contracts.catalogue import AlgorithmInfo


class _AlgorithmHelp(argparse.Action):
    """`--help` after an algorithm's name also lists its parameters."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(
            option_strings, dest, nargs=0, help="show this, and with ALGO its parameters"
        )

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: Any
    ) -> None:
        parser.print_help()
        if namespace.algo:
            say()
            say_parameters(chosen_algorithm(namespace))
        parser.exit()


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "train",
        help="train an algorithm in an environment",
        add_help=False,
        description=(
            "Trains an algorithm in an environment and follows the run; `mosaic train ALGO --help` "
            "lists the parameters of an algorithm. Without --cpus a run gets as many CPUs as its "
            "algorithm keeps busy, the runs of --seeds one each: side by side they finish sooner. "
            "--seeds ends with mean ± deviation. --retries goes on from the last checkpoint after "
            "a crash."
        ),
    )
    parser.add_argument("algo", metavar="ALGO", nargs="?", help="see `mosaic algos`")
    parser.add_argument("env_id", metavar="ENV", nargs="?", help="see `mosaic envs`")
    parser.add_argument(
        "--source", metavar="NAME", help="another source of algorithms; default: our own"
    )
    parser.add_argument("--upstream-path", metavar="PATH", help="--source: where its scripts are")
    parser.add_argument("--env-python", metavar="PATH", help="--source: the interpreter to use")
    parser.add_argument("-h", "--help", action=_AlgorithmHelp)
    parser.add_argument("--total-timesteps", type=total_steps, metavar="N", help="1e6 works too")
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seed", type=seed, metavar="N", help="of the run")
    seeds.add_argument("--seeds", metavar="1..5", help="one run for each of these seeds")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the algorithm (repeatable)",
    )
    parser.add_argument(
        "--extra",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="anything else of the worker's config, as fastlane_video_mode=single (repeatable)",
    )
    parser.add_argument("--cuda", action="store_true", help="on a GPU; refused when there is none")
    parser.add_argument(
        "--warm-start", metavar="RUN|PATH", help="begin with the networks of this checkpoint"
    )
    _add_run_options(parser)
    parser.set_defaults(handler=train)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    from mosaic.cli.shared.submission import (
        add_consent_option,
        add_environment_option,
        add_following_options,
    )

    parser.add_argument("--track", action="store_true", help="log to Weights & Biases too")
    parser.add_argument("--notes", metavar="TEXT", help="a remark kept with the run")
    parser.add_argument("--name", metavar="TEXT", help="a label for the run")
    parser.add_argument("--agent-id", metavar="ID", help="what telemetry calls the agent")
    parser.add_argument("--worker-id", metavar="ID", help="what telemetry calls the worker")
    parser.add_argument(
        "--cpus",
        metavar="N",
        type=config_number("resources.cpus"),
        help="CPU slots, as many threads in each run",
    )
    parser.add_argument(
        "--memory-mb",
        metavar="N",
        type=config_number("resources.memory_mb"),
        help="memory limit in MB; default: none",
    )
    parser.add_argument(
        "--priority",
        metavar="N",
        type=config_number("priority"),
        help="-100 to 100; higher starts first",
    )
    parser.add_argument(
        "--retries", metavar="N", type=natural, default=0, help="continue so often after a crash"
    )
    add_environment_option(parser)
    add_following_options(parser)
    add_consent_option(parser)


def train(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.following import follow_all
    from mosaic.cli.shared.submission import say_warnings, submit_and_report, submit_with_consent
    from mosaic.front.training_config import parse_seeds

    if not arguments.algo:
        raise RequestError("ALGO is missing", hint="for example `mosaic train ppo CartPole-v1`")
    algorithm = chosen_algorithm(arguments)
    if arguments.warm_start:
        from mosaic.front.references import find_policy

        with open_client(arguments) as client:
            policy = find_policy(client, arguments.warm_start, algorithm.worker)
        arguments.warm_start = str(policy.checkpoint)
    if not arguments.seeds:
        cpus = arguments.cpus or algorithm.cpus
        document = training_document(algorithm, arguments, arguments.seed, cpus)
        with open_client(arguments) as client:
            if not arguments.cpus and cpus > 1:  # what helps is no reason to be refused
                cpus = min(cpus, client.health().cpus_total)
                document["resources"]["cpus"] = cpus
            return submit_and_report(
                client,
                document,
                dry_run=arguments.dry_run,
                follow=not arguments.detach,
                as_json=arguments.json,
                is_confirmed=arguments.yes,
            )
    # Side by side on a CPU each, runs finish sooner than in turn on several CPUs each.
    cpus = arguments.cpus or 1
    documents = [
        training_document(algorithm, arguments, seed, cpus) for seed in parse_seeds(arguments.seeds)
    ]
    with open_client(arguments) as client:
        if arguments.dry_run:
            return submit_and_report(
                client, documents[0], dry_run=True, follow=False, as_json=arguments.json
            )
        submissions = [
            submit_with_consent(client, document, is_confirmed=arguments.yes)
            for document in documents
        ]
        say_warnings(submissions[0])
        run_ids = [submission.run_id for submission in submissions]
        if arguments.detach:
            if arguments.json:
                say_json(run_ids)
            else:
                for run_id in run_ids:
                    say(run_id)
            return 0
        return follow_all(client, run_ids, arguments.json)


def chosen_algorithm(arguments: argparse.Namespace) -> AlgorithmInfo:
    """By its name, from the source that is asked for."""
    given = (arguments.upstream_path, arguments.env_python)
    if arguments.source is None:
        if any(given):
            raise ConfigError(
                "--upstream-path and --env-python belong to another source of algorithms",
                hint="add --source NAME, for example --source upstream",
                field="source",
            )
        return find_algorithm(arguments.algo)
    path, env_python = (text and str(Path(text).expanduser().absolute()) for text in given)
    return find_algorithm(
        arguments.algo, source_algorithms(arguments.source, path or None, env_python or None)
    )


def training_document(
    algorithm: AlgorithmInfo, arguments: argparse.Namespace, seed: int | None, cpus: int
) -> dict[str, Any]:
    from mosaic.cli.shared.submission import parse_environment
    from mosaic.front.catalogue import environments
    from mosaic.front.set_values import parse_settings
    from mosaic.front.training_config import Training, check_fit, train_document

    given = {
        "track_wandb": arguments.track,
        "notes": arguments.notes,
    }
    schema = {"properties": algorithm.parameters, "additionalProperties": False}
    training = Training(
        algorithm,
        arguments.env_id or "",
        total_timesteps=arguments.total_timesteps,
        seed=seed,
        is_one_of_several=bool(arguments.seeds),
        parameters=parse_settings(arguments.set, schema),
        extras={
            **{name: value for name, value in given.items() if value},
            **parse_settings(arguments.extra, {}),
        },
        warm_start=arguments.warm_start or "",
        name=arguments.name or "",
        cpus=cpus,
        memory_mb=arguments.memory_mb,
        use_gpu=arguments.cuda,
        priority=arguments.priority,
        retries=arguments.retries,
        environment=parse_environment(arguments.env),
        agent_id=arguments.agent_id or "",
        worker_id=arguments.worker_id or "",
    )
    check_fit(algorithm, training.env_id, environments())
    return train_document(training)


def say_parameters(algorithm: AlgorithmInfo) -> None:
    say(paint(f"{algorithm.name}: {algorithm.summary}", "bold"))
    say("parameters (--set NAME=VALUE):")
    for name, schema in sorted(algorithm.parameters.items()):
        kind = schema.get("type") or "/".join(json.dumps(item) for item in schema.get("enum", ()))
        shown = kind if isinstance(kind, str) else " or ".join(kind)
        bounds = "".join(
            f", {sign} {schema[key]}"
            for key, sign in (("minimum", "≥"), ("maximum", "≤"))
            if key in schema
        )
        default = json.dumps(schema.get("default"))
        say(f"  {name:<26} {shown}{bounds}, default {default}")
        if description := schema.get("description"):
            say(f"  {'':<26} {paint(description, 'dim')}")
