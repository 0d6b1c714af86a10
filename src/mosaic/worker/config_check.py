"""Asks a worker's own function about a config: `python -m mosaic.worker.config_check NAME`.

NAME is "package.module:function". The config, as JSON, comes on stdin; the answer, one line of JSON
on stdout, is empty or says what is wrong.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from mosaic.errors import MosaicError

ConfigCheck = Callable[[Mapping[str, Any]], None]


def answer(check: ConfigCheck, config: Mapping[str, Any]) -> dict[str, Any]:
    """Empty where the check has nothing to say against it."""
    try:
        check(config)
    except MosaicError as error:
        found = {"message": error.message, "hint": error.hint, "field": error.details.get("field")}
        return {name: text for name, text in found.items() if text}
    return {}


def load_check(name: str) -> ConfigCheck:
    module, _, function = name.partition(":")
    found: ConfigCheck = getattr(importlib.import_module(module), function)
    return found


def main() -> None:
    # Whatever a worker prints while it is imported must not spoil the answer.
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(load_check(sys.argv[1]), json.load(sys.stdin))
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
