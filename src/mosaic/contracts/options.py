"""What a worker's schema says about an option beyond its type and its bounds.

Front ends make forms and command lines of it, so they need to know no option of any worker. All of
it may be missing: then an option is called by its name, and stands where the form has room for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# An option as JSON Schema describes it, and all of a worker by their names.
OptionSchema = Mapping[str, Any]
OptionSchemas = Mapping[str, OptionSchema]


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

    def schema_entries(self) -> dict[str, Any]:
        """The entries of the option's schema that say this."""
        found = {key: getattr(self, name) for name, key in _KEYS.items()}
        found["x-modes"] = list(self.modes)
        unsaid = {key: getattr(_NOTHING, name) for name, key in _KEYS.items()} | {"x-modes": []}
        return {key: value for key, value in found.items() if value != unsaid[key]}


_KEYS = {
    "title": "title",
    "section": "x-section",
    "order": "x-order",
    "unit": "x-unit",
    "placeholder": "x-placeholder",
    "flag": "x-flag",
}
_NOTHING = OptionText()


def option_text(schema: OptionSchema) -> OptionText:
    """From a schema of any worker: what is of another type than it should be counts as missing."""

    def text(key: str) -> str | None:
        value = schema.get(key)
        return value if isinstance(value, str) else None

    order, modes = schema.get("x-order"), schema.get("x-modes")
    flag = text("x-flag") or ""
    return OptionText(
        title=text("title") or "",
        section=text("x-section"),
        order=order if isinstance(order, int | float) and not isinstance(order, bool) else None,
        unit=text("x-unit") or "",
        placeholder=text("x-placeholder"),
        flag=flag if flag.startswith("--") else "",
        modes=tuple(mode for mode in modes if isinstance(mode, str))
        if isinstance(modes, list)
        else (),
    )


def in_order(schemas: OptionSchemas) -> dict[str, OptionSchema]:
    """As they say themselves; those that say nothing come last, as they were."""
    orders = {name: option_text(schema).order for name, schema in schemas.items()}
    names = sorted(schemas, key=lambda name: (orders[name] is None, orders[name] or 0))
    return {name: schemas[name] for name in names}


def of_mode(schemas: OptionSchemas, mode: str) -> dict[str, OptionSchema]:
    """Those that say they belong to this mode, in their order."""
    return {
        name: schema
        for name, schema in in_order(schemas).items()
        if mode in option_text(schema).modes
    }


def of_section(schemas: OptionSchemas, section: str) -> dict[str, OptionSchema]:
    """Those that say they stand below this heading, in their order."""
    return {
        name: schema
        for name, schema in in_order(schemas).items()
        if option_text(schema).section == section
    }


def flagged(schemas: OptionSchemas) -> dict[str, str]:
    """The names of options that have a flag, with the flag, in their order."""
    found = {name: option_text(schema).flag for name, schema in in_order(schemas).items()}
    return {name: flag for name, flag in found.items() if flag}


def switched(schema: OptionSchema) -> bool:
    """What the flag of a yes-or-no option sets: the contrary of its default."""
    return schema.get("default") is not True
