"""The parameters of a script that makes an `argparse.ArgumentParser`, from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from cleanrl_worker.upstream.expressions import constant, keywords_of, last_name
from cleanrl_worker.upstream.parameters import UNKNOWN, Parameter, Style

_TYPES = {"int": "integer", "float": "number", "str": "string"}
_ACTIONS = {
    "store_true": Style.TURNS_ON,
    "store_false": Style.TURNS_OFF,
    "BooleanOptionalAction": Style.PAIR,
}


def argparse_parameters(tree: ast.Module) -> list[Parameter]:
    return [*_parameters(tree)]


def _parameters(tree: ast.Module) -> Iterator[Parameter]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument")):
                options = [text for text in map(constant, node.args) if isinstance(text, str)]
                long = next((text for text in options if text.startswith("--")), "")
                if long:
                    yield _parameter(long, keywords_of(node))


def _parameter(option: str, given: Mapping[str, ast.expr]) -> Parameter:
    style = _style(given)
    named = constant(given.get("dest"))
    choices = constant(given.get("choices"))
    description = constant(given.get("help"))
    return Parameter(
        name=named if isinstance(named, str) else option.removeprefix("--").replace("-", "_"),
        option=option,
        style=style,
        type=_type(style, given),
        default=_default(style, given),
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
    return _TYPES.get(last_name(given["type"]))


def _default(style: Style, given: Mapping[str, ast.expr]) -> object:
    if "default" in given:
        return constant(given["default"])
    switched = {Style.TURNS_ON: False, Style.TURNS_OFF: True}
    return switched.get(style)
