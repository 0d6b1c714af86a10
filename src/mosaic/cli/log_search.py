"""`mosaic logs --search`: which runs have said this, and where."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from mosaic.cli.session import open_client
from mosaic.cli.terminal import paint, printable, say, say_aside, say_json
from mosaic.contracts.history import LogMatch
from mosaic.errors import RequestError
from mosaic.front.human import amount
from mosaic.front.run_reference import resolve_runs

NOTHING_FOUND = 1  # as grep has it


def search_logs(arguments: argparse.Namespace) -> int:
    if arguments.follow or arguments.tail:
        raise RequestError("--search goes through whole logs, so not with --follow or --tail")
    if not arguments.limit:
        raise RequestError("--limit 0 would find nothing")
    found = 0
    with open_client(arguments) as client:
        run_ids = resolve_runs(client, arguments.runs)
        names: dict[str, str] = {}
        for match in client.search_logs(
            arguments.search,
            run_ids,
            is_regex=arguments.regex,
            ignore_case=arguments.ignore_case,
            stream=arguments.stream,
            limit=arguments.limit,
        ):
            found += 1
            if arguments.json:
                say_json(asdict(match), indent=None)
                continue
            if match.run_id not in names:
                names[match.run_id] = client.get_run(match.run_id).run_name
            say(line_of(match, names[match.run_id]))
    if found == arguments.limit:
        say_aside(f"stopped after {amount(found, 'line')} (--limit)")
    return 0 if found else NOTHING_FOUND


def line_of(match: LogMatch, run_name: str) -> str:
    place = f"{match.run_id} {printable(run_name)} {match.stream}:{match.line_number}:"
    return f"{paint(place, 'dim')} {printable(match.line)}"
