"""`mosaic train ALGO ENV`: train, follow, and end with a saved policy; several seeds at once."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import seed, total_steps
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.run_options import FOLLOWING, add_run_options
from mosaic.cli.shared.terminal import paint, say, say_json
from mosaic.cli.shared.worker_flags import add_worker_flags, chosen_extras
from mosaic.errors import ConfigError, RequestError
from mosaic.front.catalogue import find_algorithm, source_algorithms

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.catalogue import AlgorithmInfo
    from mosaic.contracts.options import OptionSchema
    from mosaic.front.flags import PublishedFlags


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


def add(commands: Any, flags: PublishedFlags) -> None:
    """`flags`: those of the installed learners."""
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
    parser.add_argument(
        "--worker", metavar="NAME", help="whose algorithm, where several have one of that name"
    )
    parser.add_argument("--upstream-path", metavar="PATH", help="--source: where its scripts are")
    parser.add_argument("--env-python", metavar="PATH", help="--source: the interpreter to use")
    parser.add_argument("-h", "--help", action=_AlgorithmHelp)
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help="published parameters for ENV, for example tuned; what else is given has precedence",
    )
    parser.add_argument(
        "--total-timesteps",
        type=total_steps,
        metavar="N",
        help="default: as usual in ENV; 1e6, 500k and 1.2M work too",
    )
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
    parser.add_argument("--agent-id", metavar="ID", help="what telemetry calls the agent")
    parser.add_argument("--worker-id", metavar="ID", help="what telemetry calls the worker")
    add_run_options(
        parser,
        *("--extra", "--cuda", "--name", "--cpus", "--memory-mb", "--priority", "--retries"),
        *("--env", *FOLLOWING, "--install", "--yes"),
    )
    add_worker_flags(parser, flags)
    parser.set_defaults(handler=train)


def train(arguments: argparse.Namespace) -> int:
    from mosaic.contracts.learner import Mode

    if not arguments.algo:
        raise RequestError("ALGO is missing", hint="for example `mosaic train ppo CartPole-v1`")
    algorithm = chosen_algorithm(arguments)
    with open_client(arguments) as client:
        extras = chosen_extras(client, arguments, algorithm.worker, Mode.TRAIN)
        start = _train_seeds if arguments.seeds else _train_one
        return start(client, arguments, algorithm, extras)


def _train_one(
    client: TrainerClient,
    arguments: argparse.Namespace,
    algorithm: AlgorithmInfo,
    extras: Mapping[str, Any],
) -> int:
    from mosaic.cli.shared.install_agreement import RunInstalls
    from mosaic.cli.shared.submission import submit_and_report

    cpus = arguments.cpus or algorithm.cpus
    document = training_document(algorithm, arguments, extras, arguments.seed, cpus)
    if not arguments.cpus and cpus > 1:  # what helps is no reason to be refused
        document["resources"]["cpus"] = min(cpus, client.health().cpus_total)
    return submit_and_report(
        client,
        document,
        dry_run=arguments.dry_run,
        follow=not arguments.detach,
        as_json=arguments.json,
        is_confirmed=arguments.yes,
        installs=RunInstalls.of(arguments),
    )


def _train_seeds(
    client: TrainerClient,
    arguments: argparse.Namespace,
    algorithm: AlgorithmInfo,
    extras: Mapping[str, Any],
) -> int:
    from mosaic.cli.shared.following import follow_all
    from mosaic.cli.shared.install_agreement import RunInstalls
    from mosaic.cli.shared.submission import say_warnings, submit_and_report, submit_with_consent
    from mosaic.front.training_config import parse_seeds

    # Side by side on a CPU each, runs finish sooner than in turn on several CPUs each.
    cpus = arguments.cpus or 1
    documents = [
        training_document(algorithm, arguments, extras, seed, cpus)
        for seed in parse_seeds(arguments.seeds)
    ]
    installs = RunInstalls.of(arguments)
    if arguments.dry_run:
        return submit_and_report(
            client,
            documents[0],
            dry_run=True,
            follow=False,
            as_json=arguments.json,
            installs=installs,
        )
    submissions = [
        submit_with_consent(client, document, is_confirmed=arguments.yes, installs=installs)
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
        return find_algorithm(arguments.algo, of_worker(arguments.worker))
    path, env_python = (text and str(Path(text).expanduser().absolute()) for text in given)
    return find_algorithm(
        arguments.algo, source_algorithms(arguments.source, path or None, env_python or None)
    )


def of_worker(name: str | None) -> list[AlgorithmInfo] | None:
    """The algorithms of one worker; None, for all there are, where none is asked for."""
    if name is None:
        return None
    from mosaic.front.catalogue import algorithms

    found = [item for item in algorithms() if item.worker == name]
    if not found:
        known = sorted({item.worker for item in algorithms()})
        raise ConfigError(
            f"No algorithm is of a worker {name[:80]!r}",
            hint=f"there are those of {', '.join(known)}",
            field="worker",
        )
    return found


def training_document(
    algorithm: AlgorithmInfo,
    arguments: argparse.Namespace,
    extras: Mapping[str, Any],
    seed: int | None,
    cpus: int,
) -> dict[str, Any]:
    from mosaic.cli.shared.submission import parse_environment
    from mosaic.front.catalogue import environments
    from mosaic.front.set_values import parse_settings
    from mosaic.front.training_config import (
        Training,
        check_fit,
        train_document,
        usual_timesteps,
    )

    known = environments()
    steps = arguments.total_timesteps
    if steps is None and not arguments.recipe:
        steps = usual_timesteps(algorithm, arguments.env_id or "", known)
    schema = {"properties": algorithm.parameters, "additionalProperties": False}
    training = Training(
        algorithm,
        arguments.env_id or "",
        total_timesteps=steps,
        seed=seed,
        is_one_of_several=bool(arguments.seeds),
        parameters=parse_settings(arguments.set, schema),
        extras=extras,
        name=arguments.name or "",
        cpus=cpus,
        memory_mb=arguments.memory_mb,
        use_gpu=arguments.cuda,
        priority=arguments.priority,
        retries=arguments.retries or 0,
        environment=parse_environment(arguments.env),
        agent_id=arguments.agent_id or "",
        worker_id=arguments.worker_id or "",
        recipe=arguments.recipe or "",
    )
    check_fit(algorithm, training.env_id, known)
    return train_document(training)


def say_parameters(algorithm: AlgorithmInfo) -> None:
    """Below the headings that they have in a form."""
    from mosaic.contracts.options import by_section

    say(paint(f"{algorithm.name}: {algorithm.summary}", "bold"))
    say("parameters (--set NAME=VALUE):")
    for section, parameters in by_section(algorithm.options).items():
        if section:
            say()
            say(paint(section, "bold"))
        for name, schema in parameters.items():
            say(f"  {name:<26} {_value_words(schema)}")
            if description := schema.get("description"):
                say(f"  {'':<26} {paint(description, 'dim')}")
    if algorithm.recipes:
        say()
        say(paint("recipes (--recipe NAME)", "bold"))
        for recipe in algorithm.recipes:
            say(f"  {recipe.env_id:<26} {recipe.text}, {recipe.total_timesteps:,} steps")


def _value_words(schema: OptionSchema) -> str:
    """`integer in MB, ≥ 1, default 1000`"""
    from mosaic.contracts.options import option_text

    kind = schema.get("type") or "/".join(json.dumps(item) for item in schema.get("enum", ()))
    shown = kind if isinstance(kind, str) else " or ".join(kind)
    unit = option_text(schema).unit
    bounds = "".join(
        f", {sign} {schema[key]}"
        for key, sign in (("minimum", "≥"), ("maximum", "≤"))
        if key in schema
    )
    default = json.dumps(schema.get("default"))
    return f"{shown}{f' in {unit}' if unit else ''}{bounds}, default {default}"
