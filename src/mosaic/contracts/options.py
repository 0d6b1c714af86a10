"""What a worker's schema says about an option beyond its type and its bounds.

Front ends make forms and command lines of it, so they need to know no option of any worker. All of
it may be missing: then an option is called by its name, and stands where the form has room for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# An option as JSON Schema describes it, and all of a worker by their names.
OptionSchema = Mapping[str, Any]
OptionSchemas = Mapping[str, OptionSchema]

_FLAG = re.compile(r"--[a-z0-9]+(?:-[a-z0-9]+)*")
_OF_FILES = ("path", "folder", "plan")
_USUAL_MODE = "train"  # `learner.Mode.TRAIN`


@dataclass(frozen=True)
class OptionText:
    """How people meet an option; the default of each field stands for what is not said."""

    title: str = ""
    section: str | None = None  # heading in a form; empty: always in sight
    order: float | None = None  # within its section; those without one come last
    unit: str = ""
    placeholder: str | None = None  # what an empty entry means
    flag: str = ""  # its own option on the command line of `mosaic`
    modes: tuple[str, ...] = ()  # of a learner: where it has a meaning, see `learner.Mode`
    # Asked for only while another option has a value; of several, the first that the form has.
    shown_when: Mapping[str, Any] = field(default_factory=dict)
    choice_help: Mapping[str, str] = field(default_factory=dict)  # by choice
    role: str = ""  # of the agent that a file of plans is for
    template: str = ""  # what a new file begins with

    def schema_entries(self) -> dict[str, Any]:
        """The entries of the option's schema that say this."""
        said = {key: getattr(self, name) for name, key in _KEYS.items()}
        unsaid = {key: getattr(_NOTHING, name) for name, key in _KEYS.items()}
        found = {key: value for key, value in said.items() if value != unsaid[key]}
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in found.items()
        }


_KEYS = {
    "title": "title",
    "section": "x-section",
    "order": "x-order",
    "unit": "x-unit",
    "placeholder": "x-placeholder",
    "flag": "x-flag",
    "modes": "x-modes",
    "shown_when": "x-shown-when",
    "choice_help": "x-choice-help",
    "role": "x-role",
    "template": "x-template",
}
_NOTHING = OptionText()


def option_text(schema: OptionSchema) -> OptionText:
    """From a schema of any worker: what is of another type than it should be counts as missing."""

    def text(key: str) -> str | None:
        value = schema.get(key)
        return value if isinstance(value, str) else None

    def mapping(key: str) -> dict[str, Any]:
        value = schema.get(key)
        return dict(value) if isinstance(value, Mapping) else {}

    order, modes = schema.get("x-order"), schema.get("x-modes")
    flag = text("x-flag") or ""
    return OptionText(
        title=text("title") or "",
        section=text("x-section"),
        order=order if isinstance(order, int | float) and not isinstance(order, bool) else None,
        unit=text("x-unit") or "",
        placeholder=text("x-placeholder"),
        flag=flag if _FLAG.fullmatch(flag) else "",
        modes=tuple(mode for mode in modes if isinstance(mode, str))
        if isinstance(modes, list)
        else (),
        shown_when=mapping("x-shown-when"),
        choice_help={name: str(words) for name, words in mapping("x-choice-help").items()},
        role=text("x-role") or "",
        template=text("x-template") or "",
    )


def value_types(schema: OptionSchema) -> set[str]:
    """What JSON Schema calls the types of its values; empty where it does not say."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return {declared}
    if isinstance(declared, list):
        return set(declared)
    if "enum" in schema:
        return {"null"} if None in schema["enum"] else set()
    return {name for option in schema.get("anyOf", ()) for name in value_types(option)}


def in_order(schemas: OptionSchemas) -> dict[str, OptionSchema]:
    """As they say themselves; those that say nothing come last, as they were.

    Of these the last are objects, which few people ever need.
    """

    def place(name: str) -> tuple[bool, float, bool]:
        order = option_text(schemas[name]).order
        return order is None, order or 0, "object" in value_types(schemas[name])

    return {name: schemas[name] for name in sorted(schemas, key=place)}


def of_mode(schemas: OptionSchemas, mode: str) -> dict[str, OptionSchema]:
    """Those that belong to this mode, in their order.

    An option says so itself; one that has a flag and names no mode is for trainings.
    """

    def belongs(text: OptionText) -> bool:
        return mode in (text.modes or ([_USUAL_MODE] if text.flag else ()))

    return {
        name: schema for name, schema in in_order(schemas).items() if belongs(option_text(schema))
    }


def by_section(schemas: OptionSchemas, unsaid: str = "") -> dict[str, dict[str, OptionSchema]]:
    """All of them below their headings, those always in sight first; `unsaid`: of the others."""
    found: dict[str, dict[str, OptionSchema]] = {"": {}}
    for name, schema in schemas.items():
        section = option_text(schema).section
        found.setdefault(unsaid if section is None else section, {})[name] = schema
    return {section: in_order(options) for section, options in found.items() if options}


def flagged(schemas: OptionSchemas) -> dict[str, str]:
    """The names of options that have a flag, with the flag, section by section."""
    found = {
        name: option_text(schema).flag
        for options in by_section(schemas).values()
        for name, schema in options.items()
    }
    return {name: flag for name, flag in found.items() if flag}


def switched(schema: OptionSchema) -> bool:
    """What the flag of a yes-or-no option sets: the contrary of its default."""
    return schema.get("default") is not True


def is_switch(schema: OptionSchema) -> bool:
    """Whether it is a yes-or-no option, whose flag takes no value."""
    return value_types(schema) - {"null"} == {"boolean"}


def takes_checkpoint(schema: OptionSchema) -> bool:
    """Whether its value is the file of a policy, so that people may name a run instead."""
    return schema.get("x-editor") == "checkpoint"


def takes_file(schema: OptionSchema) -> bool:
    """Whether its value is the path of a file or a folder."""
    return schema.get("x-editor") in _OF_FILES
