"""From flags to an algorithm's arguments: finds its module and preset, parses and checks.

The algorithm then runs in this very process; there is no second one. tyro parses the flags,
and what it refuses is reported by the name of the flag.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import importlib
import io
import json
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Protocol

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.registry import Algorithm
from mosaic.contracts.schema_check import violations
from mosaic.worker import ConfigError, DependencyError, config_schema
from mosaic.worker.config import config_fields, config_to_dict

INSTALL = 'pip install "mosaic-rl[cleanrl]"'
_TRAINING_PACKAGES = ("torch", "numpy", "gymnasium", "safetensors", "tyro", "google_crc32c")
_FILE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")


class AlgorithmModule(Protocol):
    """What every module in `algorithms/` has."""

    ARGUMENTS: type[Arguments]

    def train(self, arguments: Any, session: Any) -> None: ...


def load_module(algorithm: Algorithm) -> AlgorithmModule:
    try:
        return typing.cast(AlgorithmModule, importlib.import_module(algorithm.module))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _TRAINING_PACKAGES:
            raise
        raise DependencyError(
            f"{algorithm.name} needs the package {error.name}, which is not installed",
            hint=INSTALL,
        ) from error


def default_arguments(algorithm: Algorithm) -> Arguments:
    """The module's defaults with the preset upon them."""
    arguments = load_module(algorithm).ARGUMENTS
    return arguments(**{"exp_name": algorithm.name, **algorithm.preset})


def restore_arguments(algorithm: Algorithm, values: Mapping[str, Any]) -> Arguments:
    """The arguments a checkpoint was trained with; what this version does not know is left out."""
    defaults = config_to_dict(default_arguments(algorithm))
    known = {name: value for name, value in values.items() if name in defaults}
    return checked_arguments(load_module(algorithm).ARGUMENTS, {**defaults, **known})


def parse_arguments(
    algorithm: Algorithm, flags: Sequence[str], base: Arguments | None = None
) -> Arguments:
    """Raises ConfigError naming the flag. `base` holds the values of flags that are not given."""
    base = base or default_arguments(algorithm)
    values = parse_flags(algorithm.name, flags, base)
    return checked_arguments(
        type(base), {**values, "exp_name": values["exp_name"] or algorithm.name}
    )


def checked_arguments(cls: type[Arguments], values: Mapping[str, Any]) -> Arguments:
    """Raises ConfigError naming the first value of a wrong type or out of its bounds."""
    arguments = cls(**values)
    schema = config_schema(cls)
    for violation in violations(config_to_dict(arguments), schema):
        described = schema["properties"].get(violation.path, {})
        raise ConfigError(
            f"'{violation.path}': {violation.message}",
            hint=violation.hint or described.get("description", ""),
            field=violation.path,
        )
    if not _FILE_NAME.fullmatch(arguments.exp_name):
        raise ConfigError(
            f"'exp_name': {arguments.exp_name[:80]!r} cannot be the name of a file",
            hint="letters, digits, '.', '_' and '-', beginning with a letter or a digit",
            field="exp_name",
        )
    return arguments


@dataclasses.dataclass(frozen=True)
class Flag:
    """One flag of a command line."""

    name: str
    hint: Any  # its type
    default: Any
    help: str


def parse_flags(
    prog: str, flags: Sequence[str], base: Arguments, more: Sequence[Flag] = ()
) -> dict[str, Any]:
    """All values by name; `more` are flags beside the algorithm's. `--help` prints and exits."""
    known = {item.name: item for item in (*more, *_flags_of(base))}
    if any(text in ("-h", "--help") for text in flags):
        _parse(prog, known, ["--help"])
    groups = _groups(flags)
    for group in groups:
        _check_name(prog, group, known)
    try:
        with _silenced():
            return _parse(prog, known, flags)
    except SystemExit:
        raise _bad_value(prog, groups, known, base) from None


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
        raise DependencyError(
            f"tyro cannot be imported: {error}", hint='pip install "mosaic-rl[cleanrl]"'
        ) from error
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


def _check_name(prog: str, group: Sequence[str], known: Mapping[str, Flag]) -> None:
    name = _name_of(group)
    if name in known:
        return
    positive = name.removeprefix("no_")
    if positive != name and positive in known and known[positive].hint is bool:
        return
    close = difflib.get_close_matches(name, known, n=3)
    raise ConfigError(
        f"'{name[:80]}' is not a parameter of {prog}",
        hint=f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}",
        field=name,
    )


def _bad_value(
    prog: str, groups: Sequence[Sequence[str]], known: Mapping[str, Flag], base: Arguments
) -> ConfigError:
    """Tyro explains itself in a box for people; which flag it meant is found by trying each."""
    for group in groups:
        try:
            with _silenced():
                _parse(prog, known, group)
        except SystemExit:
            name = _name_of(group)
            value = " ".join([group[0].partition("=")[2], *group[1:]]).strip()
            schema = config_schema(type(base))["properties"].get(name, {})
            wanted = schema.get("enum") or schema.get("type", "something else")
            spelling = group[0].partition("=")[0].removeprefix("--")
            hint = f"write --{spelling} or --no-{spelling}" if wanted == "boolean" else ""
            return ConfigError(
                f"'{name}': {value[:80]!r} is not a valid value; {_listed(wanted)} was expected",
                hint=hint or schema.get("description", ""),
                field=name,
            )
    given = " ".join(text for group in groups for text in group)
    return ConfigError(f"The flags of {prog} contradict each other: {given}", field="flags")


def _name_of(group: Sequence[str]) -> str:
    return group[0].partition("=")[0].removeprefix("--").replace("-", "_")


def _listed(wanted: Any) -> str:
    return wanted if isinstance(wanted, str) else " or ".join(str(item) for item in wanted)


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        yield
