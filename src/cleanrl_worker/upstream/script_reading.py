"""What an upstream script can be told and needs, read from its source: it is never imported."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from mosaic.contracts.schema_check import violations
from mosaic.worker import ConfigError

_NUMBERS = {"int": int, "float": float}
_ARGPARSE_TYPES = {"int": "integer", "float": "number", "str": "string"}
_FIELD_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}
_NULL = "None"
ARGPARSE, TYRO = "argparse", "tyro"
_LARGEST_BYTES = 2_000_000


@dataclass(frozen=True)
class Script:
    path: Path
    generation: str
    parameters: Mapping[str, Parameter]
    imports: tuple[str, ...]  # packages it cannot start without

    @property
    def name(self) -> str:
        return self.path.stem


def read_script(path: Path) -> Script:
    """Raises ConfigError for what is no script that takes flags."""
    tree = _parse(path)
    for generation, read in ((TYRO, dataclass_parameters), (ARGPARSE, argparse_parameters)):
        if parameters := {parameter.name: parameter for parameter in read(tree)}:
            return Script(path, generation, parameters, tuple(dict.fromkeys(_imports(tree))))
    raise ConfigError(
        f"'algo': {path} takes no flags that can be read",
        hint="scripts that use argparse, or tyro with a dataclass, can be run; for others there is "
        "`mosaic watch`",
        field="algo",
    )


def _parse(path: Path) -> ast.Module:
    try:
        size = path.stat().st_size
        if size > _LARGEST_BYTES:
            raise ValueError(f"{size} bytes are too many for a script")
        return ast.parse(path.read_bytes(), str(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(
            f"'algo': {path} cannot be read: {error}", hint="is it the right file?", field="algo"
        ) from error


def _imports(tree: ast.Module) -> Iterator[str]:
    """Of the module itself; what functions and `try` import may be missing."""
    for statement in tree.body:
        match statement:
            case ast.Import(names=names):
                yield from (item.name.partition(".")[0] for item in names)
            case ast.ImportFrom(module=str() as module, level=0):
                yield module.partition(".")[0]


class Unknown(Enum):
    """A default that only the running script knows."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


class Style(Enum):
    """How a value is written on the command line."""

    VALUE = "value"  # --gamma=0.9
    TRUTH = "truth"  # --cuda=False
    PAIR = "pair"  # --cuda, --no-cuda
    TURNS_ON = "turns_on"  # --cuda, or nothing
    TURNS_OFF = "turns_off"  # --no-cuda, or nothing


@dataclass(frozen=True)
class Parameter:
    name: str  # env_id
    option: str  # --env-id
    style: Style = Style.VALUE
    type: str | None = None  # as in JSON Schema; None where the source does not tell
    default: Any = UNKNOWN
    choices: tuple[Any, ...] = ()
    help: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of its values, for checks, help and forms."""
        schema: dict[str, Any] = {}
        if self.type is not None:
            schema["type"] = self.type
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.default is not UNKNOWN:
            schema["default"] = self.default
        if self.help:
            schema["description"] = self.help
        return schema

    def problem(self, value: Any) -> str:
        """Why it cannot take this value; empty when it can."""
        # Many defaults are None where the type says otherwise; a value that is given fits the type.
        return next((found.message for found in violations(value, self.schema)), "")

    def words(self, value: Any) -> list[str]:
        """The value on the script's command line."""
        match self.style:
            case Style.PAIR:
                return [self.option if value else f"--no-{self.option.removeprefix('--')}"]
            case Style.TURNS_ON:
                return [self.option] if value else []
            case Style.TURNS_OFF:
                return [] if value else [self.option]
        if isinstance(value, list | tuple):
            return [self.option, *map(_text, value)]
        if self.type == "integer" and isinstance(value, float):
            value = int(value)  # 1e6 is a whole number
        return [f"{self.option}={_text(value)}"]


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, Mapping) else str(value)


def constant(node: ast.expr | None) -> Any:
    """The value of a literal, also within `int(...)` and `float(...)`; else UNKNOWN."""
    match node:
        case None:
            return UNKNOWN
        case ast.Call(func=ast.Name(id=("int" | "float") as kind), args=[argument], keywords=[]):
            value = constant(argument)
            if isinstance(value, int | float | str):
                try:
                    return _NUMBERS[kind](value)
                except (ValueError, OverflowError):
                    return UNKNOWN
            return UNKNOWN
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN
    return value if _is_plain(value) else UNKNOWN


def keywords_of(call: ast.Call) -> Mapping[str, ast.expr]:
    return {item.arg: item.value for item in call.keywords if item.arg is not None}


def called_name(call: ast.Call) -> str:
    """`cli` of `tyro.cli(Args)`."""
    return last_name(call.func)


def last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold it."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)


_ACTIONS = {
    "store_true": Style.TURNS_ON,
    "store_false": Style.TURNS_OFF,
    "BooleanOptionalAction": Style.PAIR,
}


def argparse_parameters(tree: ast.Module) -> list[Parameter]:
    return [*_added_parameters(tree)]


def _added_parameters(tree: ast.Module) -> Iterator[Parameter]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument")):
                options = [text for text in map(constant, node.args) if isinstance(text, str)]
                long = next((text for text in options if text.startswith("--")), "")
                if long:
                    yield _added_parameter(long, keywords_of(node))


def _added_parameter(option: str, given: Mapping[str, ast.expr]) -> Parameter:
    style = _style(given)
    named = constant(given.get("dest"))
    choices = constant(given.get("choices"))
    description = constant(given.get("help"))
    return Parameter(
        name=named if isinstance(named, str) else option.removeprefix("--").replace("-", "_"),
        option=option,
        style=style,
        type=_type(style, given),
        default=_added_default(style, given),
        choices=tuple(choices) if isinstance(choices, list | tuple) else (),
        help=description if isinstance(description, str) else "",
    )


def _style(given: Mapping[str, ast.expr]) -> Style:
    if action := given.get("action"):
        name = constant(action)
        found = _ACTIONS.get(name if isinstance(name, str) else last_name(action))
        return found or Style.VALUE
    is_truth = constant(given.get("const")) is True or _mentions_truth(given.get("type"))
    return Style.TRUTH if is_truth else Style.VALUE


def _mentions_truth(node: ast.expr | None) -> bool:
    """`type=lambda x: bool(strtobool(x))`, `type=strtobool` and the like."""
    if node is None:
        return False
    names = {last_name(part) for part in ast.walk(node) if isinstance(part, ast.expr)}
    return any("bool" in name for name in names)


def _type(style: Style, given: Mapping[str, ast.expr]) -> str | None:
    if style is not Style.VALUE:
        return "boolean"
    if constant(given.get("nargs")) not in (UNKNOWN, None, "?"):
        return None  # several values
    if "type" not in given:
        return "string" if "action" not in given else None
    return _ARGPARSE_TYPES.get(last_name(given["type"]))


def _added_default(style: Style, given: Mapping[str, ast.expr]) -> object:
    if "default" in given:
        return constant(given["default"])
    switched = {Style.TURNS_ON: False, Style.TURNS_OFF: True}
    return switched.get(style)


def dataclass_parameters(tree: ast.Module) -> list[Parameter]:
    """Empty when there is no class whose fields `tyro.cli` would read."""
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    name = _class_given_to_tyro(tree)
    if name not in classes:
        return []
    fields: dict[str, Parameter] = {}
    for node in _with_bases(classes[name], classes):
        for statement, following in pairwise([*node.body, ast.Pass()]):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                parameter = _field_parameter(statement.target.id, statement, _help_below(following))
                fields[parameter.name] = parameter
    return [*fields.values()]


def _class_given_to_tyro(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called_name(node) == "cli" and node.args:
            return last_name(node.args[0])
    return ""


def _with_bases(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """The classes whose fields it has, the most general first."""
    found: dict[str, ast.ClassDef] = {}
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.name not in found:
            found[current.name] = current
            names = [last_name(base) for base in current.bases]
            waiting += [classes[name] for name in names if name in classes]
    return [*reversed(found.values())]


def _field_parameter(name: str, statement: ast.AnnAssign, help: str) -> Parameter:
    kinds, choices = _kinds(statement.annotation)
    is_optional = _NULL in kinds
    (kind,) = kinds - {_NULL} if len(kinds - {_NULL}) == 1 else {""}
    # tyro makes a pair of flags only of a truth that cannot be None and has a default.
    style = Style.VALUE
    if kind == "bool":
        style = Style.TRUTH if is_optional or statement.value is None else Style.PAIR
    return Parameter(
        name=name,
        option=f"--{name.replace('_', '-')}",
        style=style,
        type=None if choices else _FIELD_TYPES.get(kind),
        default=_field_default(statement.value),
        choices=choices,
        help=help,
    )


def _kinds(annotation: ast.expr) -> tuple[set[str], tuple[object, ...]]:
    """The names in `int`, `Optional[int]`, `int | None`, and what a `Literal` offers."""
    match annotation:
        case ast.Constant(value=None):
            return {_NULL}, ()
        case ast.Constant(value=str() as quoted):
            try:
                return _kinds(ast.parse(quoted, mode="eval").body)
            except SyntaxError:
                return {""}, ()
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            (some, few), (more, many) = _kinds(left), _kinds(right)
            return some | more, few + many
        case ast.Subscript(value=outer, slice=inner):
            return _subscripted(last_name(outer), inner)
    return {last_name(annotation)}, ()


def _subscripted(outer: str, inner: ast.expr) -> tuple[set[str], tuple[object, ...]]:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if outer == "Literal":
        return {outer}, tuple(constant(part) for part in parts)
    if outer == "Annotated":
        return _kinds(parts[0])
    if outer in ("Optional", "Union"):
        found = [_kinds(part) for part in parts]
        null = {_NULL} if outer == "Optional" else set()
        return null.union(*(kinds for kinds, _ in found)), sum((some for _, some in found), ())
    return {""}, ()  # a list, a tuple: several values


def _field_default(value: ast.expr | None) -> object:
    if isinstance(value, ast.Call) and called_name(value) == "field":
        return constant(keywords_of(value).get("default"))
    return UNKNOWN if value is None else constant(value)


def _help_below(node: ast.stmt) -> str:
    """The sentence below a field, which tyro shows as its help."""
    match node:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return " ".join(text.split())
    return ""
