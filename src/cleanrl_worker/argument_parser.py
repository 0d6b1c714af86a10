"""Command lines made from an algorithm's dataclass: tyro parses, we say which flag was wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import io
import json
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from cleanrl_worker.kit.arguments import Arguments
from mosaic.worker import ConfigError, DependencyError, config_schema
from mosaic.worker.config_schema import config_fields


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
