"""The command line every worker has; its help lists the config fields from the schema."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.errors import ConfigError

_FLAGS_OF_DRY_RUN = {"--dry-run", "--emit-summary"}


@dataclass(frozen=True)
class Shortcut:
    """A flag of one worker that stands for `--set field=…`; `--set` itself wins over it."""

    flag: str
    field: str
    help: str
    value: str | None = None  # what a flag without argument sets
    is_object: bool = False  # takes a JSON object, whose entries are set one by one

    @property
    def destination(self) -> str:
        return f"shortcut_{self.flag.strip('-').replace('-', '_')}"


def parse_arguments(
    argv: Sequence[str],
    module: str,
    capabilities: WorkerCapabilities,
    shortcuts: Sequence[Shortcut] = (),
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=capabilities.metadata.description or f"The {capabilities.worker_type} worker.",
        epilog=fields_help(capabilities.config_schema),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="JSON file with the config")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="assignments",
        help="set one config field; may be repeated and wins over the file",
    )
    parser.add_argument("--dry-run", action="store_true", help="check everything, run nothing")
    parser.add_argument(
        "--emit-summary", action="store_true", help="print a summary as one line of JSON at the end"
    )
    parser.add_argument(
        "--describe", action="store_true", help="print the capabilities and the config's schema"
    )
    parser.add_argument("--run-id", default="", metavar="ID", help="a ULID; default: a new one")
    parser.add_argument(
        "--run-dir", default="", metavar="DIR", help="folder for what the run leaves"
    )
    for item in shortcuts:
        if item.value is None:
            metavar = "JSON" if item.is_object else item.flag.rpartition("-")[2].upper()
            parser.add_argument(item.flag, metavar=metavar, dest=item.destination, help=item.help)
        else:
            parser.add_argument(
                item.flag,
                action="store_const",
                const=item.value,
                dest=item.destination,
                help=item.help,
            )
    return parser.parse_args(argv)


def shortcut_assignments(arguments: argparse.Namespace, shortcuts: Sequence[Shortcut]) -> list[str]:
    """What the worker's own flags mean, in the words of `--set`."""
    assignments = []
    for item in shortcuts:
        text = getattr(arguments, item.destination)
        if text is None:
            continue
        if item.is_object:
            entries = _json_object(item, text)
            assignments += [f"{item.field}.{key}={json.dumps(entries[key])}" for key in entries]
        else:
            assignments.append(f"{item.field}={text}")
    return assignments


def _json_object(shortcut: Shortcut, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ConfigError(
            f"{shortcut.flag} {text[:80]!r} is not a JSON object",
            hint=f"""write {shortcut.flag} '{{"name": 1}}'""",
            field=shortcut.field,
        )
    return value


def module_name(train: Any) -> str:
    """How `python -m` knows the module that defines this function."""
    name: str = train.__module__
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec.name if name == "__main__" and spec is not None else name


def command_of(module: str, argv: Sequence[str]) -> tuple[str, ...]:
    """The exact command of the run that a dry run stands for."""
    kept = [text for text in argv if text not in _FLAGS_OF_DRY_RUN]
    return (sys.executable, "-m", module, *kept)


def fields_help(schema: dict[str, Any]) -> str:
    lines = ["config fields:"]
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        kind = field.get("type") or (
            "one of " + json.dumps(field["enum"]) if "enum" in field else ""
        )
        shown = kind if isinstance(kind, str) else " or ".join(kind)
        default = "required" if name in required else f"default {json.dumps(field.get('default'))}"
        lines.append(f"  {name:<24} {shown or 'any'}, {default}")
        if description := field.get("description"):
            lines.append(f"  {'':<24} {description}")
    return "\n".join(lines)
