"""The flags of an algorithm's own command line: tyro reads them, and prints the help.

What it refuses is reported by the name of the flag. Only `cleanrl_worker.standalone` needs this: a
config has values, not flags.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.launcher import INSTALL, default_arguments, invalid_value, unknown_parameter
from cleanrl_worker.registry import Algorithm
from mosaic.worker import ConfigError, DependencyError
from mosaic.worker.config import config_fields


@dataclass(frozen=True)
class Flag:
    """One flag of a command line."""

    name: str
    hint: Any  # its type
    default: Any
    help: str


def parse_flags(algorithm: Algorithm, flags: Sequence[str]) -> dict[str, Any]:
    """The values that are given, by name. Raises ConfigError naming the flag."""
    base = default_arguments(algorithm)
    known = {item.name: item for item in _flags_of(base)}
    groups = _groups(flags)
    given = [_parameter(algorithm, group, known) for group in groups]
    try:
        with _silenced():
            parsed = _parse(algorithm.name, known, flags)
    except SystemExit:
        raise _bad_value(algorithm, groups, known, type(base)) from None
    return {name: parsed[name] for name in given}


def print_help(prog: str, algorithm: Algorithm, more: Sequence[Flag] = ()) -> NoReturn:
    """Prints every flag, `more` before the algorithm's, and exits."""
    flags = (*more, *_flags_of(default_arguments(algorithm)))
    _parse(prog, {item.name: item for item in flags}, ["--help"])
    raise AssertionError("tyro exits after its help")


def _flags_of(base: Arguments) -> list[Flag]:
    hints = typing.get_type_hints(type(base))
    return [
        Flag(
            name=item.name,
            hint=hints[item.name],
            default=getattr(base, item.name),
            help=item.metadata.get("schema", {}).get("description", ""),
        )
        for item in config_fields(type(base))
    ]


def _parse(prog: str, known: Mapping[str, Flag], flags: Sequence[str]) -> dict[str, Any]:
    """Tyro gets a dataclass of its own, with the help texts in the annotations."""
    tyro = _import_tyro()
    fields: list[Any] = []
    for item in known.values():
        is_object = typing.get_origin(item.hint) in (dict, Mapping)
        hint = Annotated[Any, _json_object(tyro)] if is_object else item.hint
        default = dataclasses.field(default_factory=_returning(item.default))
        fields.append((item.name, Annotated[hint, tyro.conf.arg(help=item.help)], default))
    parsed = tyro.cli(dataclasses.make_dataclass("Flags", fields), args=list(flags), prog=prog)
    return {name: getattr(parsed, name) for name in known}


def _returning(value: Any) -> Any:
    return lambda: value


def _import_tyro() -> Any:
    try:
        import tyro
    except ImportError as error:
        raise DependencyError(f"tyro cannot be imported: {error}", hint=INSTALL) from error
    return tyro


def _json_object(tyro: Any) -> Any:
    def parse(texts: list[str]) -> Any:
        value = json.loads(texts[0])
        if not isinstance(value, dict):
            raise ValueError("not a JSON object")  # noqa: TRY004 (tyro reports ValueError only)
        return value

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="JSON",
        instance_from_str=parse,
        is_instance=lambda value: isinstance(value, Mapping),
        str_from_instance=lambda value: [json.dumps(value)],
    )


def _groups(flags: Sequence[str]) -> list[list[str]]:
    """Each flag with the values that follow it."""
    groups: list[list[str]] = []
    for text in flags:
        if text.startswith("--") or not groups:
            groups.append([text])
        else:
            groups[-1].append(text)
    return groups


def _parameter(algorithm: Algorithm, group: Sequence[str], known: Mapping[str, Flag]) -> str:
    """Which one a flag is for: `--cuda` and `--no-cuda` are for the same."""
    name = _name_of(group)
    if name in known:
        return name
    positive = name.removeprefix("no_")
    if positive in known and known[positive].hint is bool:
        return positive
    raise unknown_parameter(name, algorithm.name, known)


def _bad_value(
    algorithm: Algorithm,
    groups: Sequence[Sequence[str]],
    known: Mapping[str, Flag],
    cls: type[Arguments],
) -> ConfigError:
    """Tyro explains itself in a box for people; which flag it meant is found by trying each."""
    for group in groups:
        try:
            with _silenced():
                _parse(algorithm.name, known, group)
        except SystemExit:
            name = _parameter(algorithm, group, known)
            value = " ".join([group[0].partition("=")[2], *group[1:]]).strip()
            option = name.replace("_", "-")
            hint = f"write --{option} or --no-{option}" if known[name].hint is bool else ""
            return invalid_value(cls, name, repr(value[:80]), hint)
    given = " ".join(text for group in groups for text in group)
    return ConfigError(
        f"The flags of {algorithm.name} contradict each other: {given}", field="flags"
    )


def _name_of(group: Sequence[str]) -> str:
    return group[0].partition("=")[0].removeprefix("--").replace("-", "_")


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        yield
