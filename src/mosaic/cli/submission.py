"""What `submit` and `run` share: environment variables, dry runs, and what follows a submission."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from mosaic.cli.follow import follow_to_the_end
from mosaic.cli.terminal import is_terminal, paint, printable, say, say_json
from mosaic.contracts.consent import consent_asked
from mosaic.errors import ConfigError, ConsentError, PreflightError

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
    submit: Callable[[dict[str, Any]], Submission] | None = None,
) -> int:
    """`at_end` is called with the record of a run that was followed to its success.

    `submit`: another way than that of a config which is what the person typed.
    """
    if dry_run:
        return say_dry_run(client.submit(config, dry_run=True), as_json)
    submission = submit(config) if submit is not None else submit_typed(client, config)
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


def submit_typed(client: TrainerClient, config: dict[str, Any]) -> Submission:
    """Whoever typed a command has consented to what it says, whichever run it goes on from."""
    try:
        return client.submit(config)
    except ConsentError as error:
        needed = consent_asked(error)
        if needed is None:
            raise
        return client.submit(config, consent=needed.digest)


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
