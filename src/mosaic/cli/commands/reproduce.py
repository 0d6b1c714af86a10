"""`mosaic reproduce RUN`: the same run once more, in the same venv, with the same config."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.clients import is_remote, open_client
from mosaic.cli.shared.run_options import FOLLOWING, add_run_options
from mosaic.cli.shared.terminal import paint, printable, say, say_json, say_to_stderr
from mosaic.front.references import HELP, resolve_run

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.run_record import RunRecord
    from mosaic.front.reproducing import Reproduction


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "reproduce",
        help="the same run once more, with the packages it had",
        description=(
            "Starts a run once more with the same config and seed, in a venv made from the lock "
            "that was kept with it, and follows it. Says what it found, and before anything starts "
            "what cannot be the same; at the end whether the weights and the metrics are."
        ),
    )
    parser.add_argument("run", metavar="RUN", help=HELP)
    add_run_options(parser, "--name", "--env", *FOLLOWING, "--install", "--yes")
    parser.set_defaults(handler=reproduce_run)


def reproduce_run(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.install_agreement import RunInstalls
    from mosaic.cli.shared.submission import parse_environment, submit_and_report
    from mosaic.front.reproducing import Here, reproduce

    with open_client(arguments) as client:
        record = client.get_run(resolve_run(client, arguments.run))
        again = reproduce(
            record,
            Here(is_known=not is_remote(arguments)),
            name=arguments.name or "",
            environment=parse_environment(arguments.env),
        )
        installs = RunInstalls.of(arguments)
        if arguments.dry_run and arguments.json:
            return _say_plan(client, again, installs.for_dry_run)
        if not arguments.json:
            say_reproduction(record, again)
        return submit_and_report(
            client,
            again.document,
            dry_run=arguments.dry_run,
            follow=not arguments.detach,
            as_json=arguments.json,
            at_end=None if arguments.json else lambda now: say_comparison(record, now),
            is_confirmed=arguments.yes,
            installs=installs,
        )


def _say_plan(client: TrainerClient, again: Reproduction, options: dict[str, Any]) -> int:
    from mosaic.errors import PreflightError

    answer = client.submit(again.document, dry_run=True, **options)
    say_json({**again.to_dict(), **answer.to_dict(), "ready": answer.is_ready})
    return 0 if answer.is_ready else PreflightError.exit_status


def say_reproduction(record: RunRecord, again: Reproduction) -> None:
    """On standard error, for the id of the new run may be what a script reads."""
    say_to_stderr(f"{printable(record.run_name)} ({record.run_id}) ran with")
    width = max(len(name) for name, _ in again.found)
    for name, value in again.found:
        say_to_stderr(f"  {paint(name.ljust(width), 'dim', sys.stderr)}  {printable(value)}")
    if again.differences:
        say_to_stderr("what cannot be the same:")
        for sentence in again.differences:
            say_to_stderr(f"  {paint('note:', 'yellow', sys.stderr)} {printable(sentence)}")


def say_comparison(then: RunRecord, now: RunRecord) -> None:
    from mosaic.front.reproducing import compare_outcomes

    for sentence in compare_outcomes(then, now):
        say(printable(sentence))
