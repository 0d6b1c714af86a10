"""Parameters of an upstream script: how each is called, what it takes, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mosaic.contracts.schema_check import violations


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
