"""The command line every worker has; its help lists the config fields from the schema."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities

_FLAGS_OF_DRY_RUN = {"--dry-run", "--emit-summary"}


def parse_arguments(
    argv: Sequence[str], module: str, capabilities: WorkerCapabilities
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
    return parser.parse_args(argv)


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
