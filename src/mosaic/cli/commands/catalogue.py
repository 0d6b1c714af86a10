"""`mosaic algos` and `mosaic envs`: what can be trained, and where."""

from __future__ import annotations

import argparse
from typing import Any

from mosaic.cli.shared.terminal import paint, printable, say, say_fields, say_json, say_table
from mosaic.errors import ConfigError


def add(commands: Any) -> None:
    algos = commands.add_parser(
        "algos",
        help="list the algorithms that can be trained",
        description=(
            "Lists the algorithms that can be trained. With --json every parameter has its type, "
            "default, help and bounds."
        ),
    )
    algos.add_argument("--json", action="store_true", help="with all parameters, as JSON")
    algos.set_defaults(handler=list_algorithms)
    envs = commands.add_parser("envs", help="list environments, or describe one")
    envs.add_argument("env_id", metavar="ENV", nargs="?", help="describe this one")
    envs.add_argument(
        "--family", metavar="NAME", help="only this family, for example classic_control"
    )
    envs.add_argument("--json", action="store_true", help="machine-readable output")
    envs.set_defaults(handler=list_environments)


def list_algorithms(arguments: argparse.Namespace) -> int:
    from mosaic.front.catalogue import algorithms

    found = sorted(algorithms(), key=lambda item: (not item.is_available, item.name))
    if arguments.json:
        say_json([item.to_dict() for item in found])
        return 0
    if not found:
        say("no installed package offers algorithms; the README says what to install")
        return 0
    rows = [
        (
            item.name,
            ", ".join(item.action_spaces) if item.is_available else "",
            ", ".join(item.observation_spaces) if item.is_available else "",
            str(len(item.recipes) or ""),
            item.summary if item.is_available else "not available yet",
        )
        for item in found
    ]
    colours = ["" if item.is_available else "dim" for item in found]
    columns = ("ALGORITHM", "ACTIONS", "OBSERVATIONS", "RECIPES", "WHAT IT IS")
    say_table(columns, rows, colours, flexible=4)
    say(paint("\n`mosaic train ALGORITHM --help` shows its parameters and its recipes", "dim"))
    return 0


def list_environments(arguments: argparse.Namespace) -> int:
    from mosaic.front.catalogue import environments

    found = environments()
    if arguments.family:
        found = _of_family(found, arguments.family)
    if arguments.env_id:
        return _describe(found, arguments.env_id, arguments.json)
    if arguments.json:
        say_json([item.to_dict() for item in found])
        return 0
    rows = [(item.id, item.family, item.action_space, item.summary) for item in found]
    say_table(("ENVIRONMENT", "FAMILY", "ACTIONS", "WHAT IT IS"), rows, flexible=3)
    return 0


def _of_family(found: list[Any], family: str) -> list[Any]:
    families = sorted({item.family for item in found})
    if family not in families:
        raise ConfigError(
            f"There is no family {family[:80]!r}",
            hint=f"families: {', '.join(families)}",
            field="family",
        )
    return [item for item in found if item.family == family]


def _describe(found: list[Any], env_id: str, as_json: bool) -> int:
    by_id = {item.id: item for item in found}
    item = by_id.get(env_id)
    if item is None:
        import difflib

        close = difflib.get_close_matches(env_id, by_id, n=3)
        raise ConfigError(
            f"The catalogue has no environment {env_id[:80]!r}",
            hint=f"did you mean {' or '.join(close)}?" if close else "`mosaic envs` lists them",
            field="env_id",
        )
    if as_json:
        say_json(item.to_dict())
        return 0
    say(paint(printable(item.id), "bold"))
    say(printable(item.summary))
    shown = {key: value for key, value in item.to_dict().items() if key not in ("id", "summary")}
    say_fields([(key.replace("_", " "), _text(value)) for key, value in shown.items()])
    _say_recipes(item.id)
    return 0


def _say_recipes(env_id: str) -> None:
    from mosaic.front.catalogue import algorithms

    found = [(item, recipe) for item in algorithms() for recipe in item.recipes_for(env_id)]
    for algorithm, recipe in found:
        say()
        say(f"mosaic train {algorithm.name} {printable(env_id)} --recipe {recipe.name}")
        say(f"  {recipe.text}, {recipe.total_timesteps:,} steps")
        for sentence in recipe.details:
            say(paint(f"  {sentence}", "dim"))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
