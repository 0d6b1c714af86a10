"""What `submit` and `run` share: environment variables, dry runs, and what follows a submission."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from mosaic.cli.consent import with_consent
from mosaic.cli.follow import follow_to_the_end
from mosaic.cli.terminal import is_terminal, paint, printable, say, say_json
from mosaic.errors import ConfigError, PreflightError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mosaic.client import TrainerClient
    from mosaic.contracts.run_record import RunRecord
    from mosaic.wire.answers import CheckResult, Submission


def add_environment_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="KEY[=VALUE]",
        help="environment variable for the worker; KEY alone passes on your own (repeatable)",
    )


def add_consent_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--yes", action="store_true", help="run what an imported run brings along, too"
    )


def parse_environment(pairs: Iterable[str]) -> dict[str, str]:
    variables = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            found = os.environ.get(name)
            if found is None:
                raise ConfigError(
                    f"The environment variable {name} is not set here",
                    hint=f"write --env {name}=VALUE, or export it first",
                    field=f"environment.{name}",
                )
            value = found
        variables[name] = value
    return variables


def submit_and_report(
    client: TrainerClient,
    config: dict[str, Any],
    *,
    dry_run: bool,
    follow: bool,
    as_json: bool,
    at_end: Callable[[RunRecord], None] | None = None,
    is_own: bool = True,
    is_confirmed: bool = False,
) -> int:
    """`at_end` is called with the record of a run that was followed to its success.

    `is_own`: the person typed it, while a file may be somebody else's. `is_confirmed`: --yes.
    """
    if dry_run:
        unasked = None if is_own else ""
        return say_dry_run(client.submit(config, dry_run=True, consent=unasked), as_json)
    submission = submit_asking(client, config, is_own=is_own, is_confirmed=is_confirmed)
    say_warnings(submission)
    if not follow:
        if as_json:
            say_json(submission.to_dict())
        else:
            say(submission.run_id)
        return 0
    if not as_json:
        colour = "dim" if is_terminal(sys.stdout) else ""
        say(paint(f"run {submission.run_id}", colour))
    status = follow_to_the_end(client, submission.run_id, as_json)
    if at_end is not None and status == 0:
        at_end(client.get_run(submission.run_id))
    return status


def submit_asking(
    client: TrainerClient,
    config: dict[str, Any],
    *,
    is_own: bool = True,
    is_confirmed: bool = False,
) -> Submission:
    """What a person typed is asked about only where it goes on from an imported run."""
    unasked = None if is_own else ""
    return with_consent(
        lambda granted: client.submit(config, consent=granted[-1] if granted else unasked),
        is_given=is_confirmed,
    )


def say_dry_run(submission: Submission, as_json: bool) -> int:
    """What would be run, and what stands in its way."""
    if as_json:
        say_json({**submission.to_dict(), "ready": submission.is_ready})
    else:
        say(printable(shlex.join(submission.command)))
        say_checks(submission.preflight)
        if submission.consent is not None:
            say("  what did not come with this installation:")
            for line in submission.consent.lines:
                say(f"        {printable(line)}")
    return 0 if submission.is_ready else PreflightError.exit_status


def say_warnings(submission: Submission) -> None:
    """What was accepted all the same; on standard error, for standard output may be data."""
    for result in submission.preflight:
        if not result.ok:
            fix = f"; {result.fix}" if result.fix else ""
            text = f"warning: {result.check}: {result.message}{fix}"
            print(paint(printable(text), "yellow", sys.stderr), file=sys.stderr, flush=True)


def say_checks(results: Iterable[CheckResult]) -> None:
    for result in results:
        if result.ok:
            mark = paint("ok  ", "green")
        else:
            mark = paint("FAIL", "red") if result.required else paint("warn", "yellow")
        say(f"  {mark}  {printable(result.check)}: {printable(result.message)}")
        if not result.ok and result.fix:
            say(f"        fix: {printable(result.fix)}")
