"""`mosaic submit`: a run from a TrainRunConfig file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from mosaic.cli.session import open_client
from mosaic.errors import ConfigError


def add(commands: Any) -> None:
    from mosaic.cli.submission import add_environment_option

    parser = commands.add_parser("submit", help="start a run from a TrainRunConfig file")
    parser.add_argument("config", metavar="CONFIG.json", help="the file, or - for standard input")
    parser.add_argument("--wait", action="store_true", help="follow the run until it is over")
    parser.add_argument("--dry-run", action="store_true", help="check everything, start nothing")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument(
        "--yes", action="store_true", help="run what the config brings along without a question"
    )
    add_environment_option(parser)
    parser.set_defaults(handler=submit)


def submit(arguments: argparse.Namespace) -> int:
    from mosaic.cli.submission import parse_environment, submit_and_report

    config = read_config(arguments.config)
    variables = parse_environment(arguments.env)
    if variables:
        given = config.get("environment", {})
        if not isinstance(given, dict):
            raise ConfigError(
                f"'environment' in {arguments.config} is not an object",
                hint='write {"NAME": "value"}',
                field="environment",
            )
        config["environment"] = {**given, **variables}
    with open_client(arguments) as client:
        return submit_and_report(
            client,
            config,
            dry_run=arguments.dry_run,
            follow=arguments.wait,
            as_json=arguments.json,
            is_own=False,
            is_confirmed=arguments.yes,
        )


def read_config(source: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
        config = json.loads(text)
    except OSError as error:
        raise ConfigError(
            f"{source} cannot be read: {error.strerror}", hint="give the path of a JSON file"
        ) from error
    except RecursionError:
        raise ConfigError(f"{source} is nested too deeply", hint="flatten it") from None
    except ValueError as error:
        name = "standard input" if source == "-" else source
        raise ConfigError(
            f"{name} is not valid JSON: {error}", hint="check quotes and commas"
        ) from error
    if not isinstance(config, dict):
        raise ConfigError(f"{source} holds no JSON object", hint="a config begins with {")
    return config
