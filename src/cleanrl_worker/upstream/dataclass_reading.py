"""The parameters of a script that gives a dataclass to `tyro.cli`, from its source."""

from __future__ import annotations

import ast
from itertools import pairwise

from cleanrl_worker.upstream.expressions import (
    called_name,
    constant,
    keywords_of,
    last_name,
)
from cleanrl_worker.upstream.parameters import UNKNOWN, Parameter, Style

_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean"}
_NULL = "None"


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
                parameter = _parameter(statement.target.id, statement, _text(following))
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


def _parameter(name: str, statement: ast.AnnAssign, help: str) -> Parameter:
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
        type=None if choices else _TYPES.get(kind),
        default=_default(statement.value),
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


def _default(value: ast.expr | None) -> object:
    if isinstance(value, ast.Call) and called_name(value) == "field":
        return constant(keywords_of(value).get("default"))
    return UNKNOWN if value is None else constant(value)


def _text(node: ast.stmt) -> str:
    """The sentence below a field, which tyro shows as its help."""
    match node:
        case ast.Expr(value=ast.Constant(value=str() as text)):
            return " ".join(text.split())
    return ""
