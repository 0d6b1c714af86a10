"""Flags that workers bring to a command: their schemas say which, so no command knows any."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.contracts.learner import Mode

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.options import OptionSchema
    from mosaic.front.flags import PublishedFlags

_MODES = {"train": Mode.TRAIN, "eval": Mode.EVALUATE, "resume": Mode.RESUME}
_WATCH = "watch"
_GIVEN = "worker_flags"  # of the parsed arguments: what was given, by flag


def flags_by_command(words: Sequence[str] | None) -> dict[str, PublishedFlags]:
    """What workers publish, by command; empty for commands that are not among these words.

    Asking the workers takes a moment, which only those who use their flags shall wait for.
    """
    named = {*_MODES, _WATCH} if words is None else set(words)
    found: dict[str, PublishedFlags] = {command: {} for command in (*_MODES, _WATCH)}
    if named & _MODES.keys():
        from mosaic.front.catalogue import learner_options
        from mosaic.front.flags import published_flags

        learners = learner_options()
        found |= {command: published_flags(learners, mode) for command, mode in _MODES.items()}
    if _WATCH in named:
        from mosaic.front.flags import own_flags
        from mosaic.front.script_config import script_options

        found[_WATCH] = {flag: [schema] for flag, schema in own_flags(script_options()).items()}
    return found


class _Keep(argparse.Action):
    """Keeps the value by the flag, whose option may have any name, and another with each worker."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        value = option_string == self.const if self.nargs == 0 else values
        setattr(namespace, _GIVEN, {**getattr(namespace, _GIVEN), str(self.const): value})


def add_worker_flags(parser: argparse.ArgumentParser, published: PublishedFlags) -> None:
    parser.set_defaults(**{_GIVEN: {}})
    group = parser.add_argument_group("options of the worker")
    for flag, schemas in published.items():
        # One that the command has anyway is the command's.
        with contextlib.suppress(argparse.ArgumentError):
            _add_flag(group, flag, schemas)


def _add_flag(group: Any, flag: str, schemas: Sequence[OptionSchema]) -> None:
    from mosaic.contracts.options import is_switch, takes_file, value_types
    from mosaic.front.flags import flag_help, switch_names, text_choices, value_name

    schema = schemas[0]
    kept: dict[str, Any] = {
        "action": _Keep,
        "const": flag,
        "dest": _GIVEN,
        "default": argparse.SUPPRESS,
        "help": flag_help(schema).replace("%", "%%"),
    }
    if is_switch(schema):
        group.add_argument(*switch_names(flag), **kept, nargs=0)
        return
    kept["metavar"] = value_name(schema)
    if choices := text_choices(schemas):
        group.add_argument(flag, **kept, choices=choices)
    elif all(map(takes_file, schemas)):
        group.add_argument(flag, **kept, type=_whole_path)
    elif all(value_types(item) - {"null"} == {"string"} for item in schemas):
        group.add_argument(flag, **kept)
    else:
        group.add_argument(flag, **kept, type=_reader(schemas))


def _whole_path(text: str) -> str:
    """From the folder where the command is typed: its run has another."""
    return str(Path(text).expanduser().absolute()) if text else text


def _reader(schemas: Sequence[OptionSchema]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        from mosaic.errors import ConfigError
        from mosaic.front.flags import read_flag

        try:
            return read_flag(text, schemas)
        except ConfigError as error:
            raise argparse.ArgumentTypeError(error.message) from None

    return read


def chosen_extras(
    client: TrainerClient, arguments: argparse.Namespace, worker: str, mode: Mode
) -> dict[str, Any]:
    """What a learner is told by --extra and by its own flags, under the names it has for it."""
    from mosaic.front.set_values import parse_settings

    named = parse_settings(arguments.extra, {})
    if given := getattr(arguments, _GIVEN):
        return {**named, **_flagged(client, given, worker, mode)}
    return named  # then there is nothing to ask the daemon for


def _flagged(
    client: TrainerClient, given: Mapping[str, Any], worker: str, mode: Mode
) -> dict[str, Any]:
    """A run stands for its newest checkpoint."""
    from mosaic.contracts.learner import extras_schemas
    from mosaic.contracts.options import of_mode, takes_checkpoint
    from mosaic.front.flags import flag_settings
    from mosaic.front.references import find_policy, find_worker

    known = extras_schemas(find_worker(client.workers(), worker).config_schema)
    schemas = of_mode(known, mode)
    return {
        name: str(find_policy(client, value, worker).checkpoint)
        if takes_checkpoint(schemas[name])
        else value
        for name, value in flag_settings(given, schemas, worker).items()
    }
