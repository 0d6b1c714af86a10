"""What all commands that start a run share: consent, dry runs, and what follows.

What did not come with this installation runs only after a person has seen it, line by line.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mosaic.cli.shared.failures import INTERRUPTED
from mosaic.cli.shared.following import follow_to_the_end, say_detached
from mosaic.cli.shared.install_agreement import RunInstalls
from mosaic.cli.shared.terminal import (
    confirmed,
    is_terminal,
    paint,
    printable,
    say,
    say_json,
    say_to_stderr,
)
from mosaic.contracts.consent import Consent, requested_consent
from mosaic.errors import BundleError, ConfigError, ConsentError, PreflightError
from mosaic.front.bundle_words import install_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mosaic.client import TrainerClient
    from mosaic.contracts.bundles import VenvInfo
    from mosaic.contracts.check_result import CheckResult
    from mosaic.contracts.run_record import RunRecord
    from mosaic.wire.answers import Submission


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
    installs: RunInstalls | None = None,
) -> int:
    """`at_end` is called with the record of a run that was followed to its success.

    `is_own`: the person typed it, while a file may be somebody else's. `is_confirmed`: --yes.
    """
    installs = installs or RunInstalls(as_json=as_json)
    if dry_run:
        unasked = None if is_own else ""
        answer = client.submit(config, dry_run=True, consent=unasked, **installs.for_dry_run)
        return say_dry_run(answer, as_json)
    try:
        submission = submit_with_consent(
            client, config, is_own=is_own, is_confirmed=is_confirmed, installs=installs
        )
    except KeyboardInterrupt:
        say_to_stderr("\nInterrupted: `mosaic runs` says whether the run was started.")
        return INTERRUPTED
    try:
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
    except KeyboardInterrupt:
        say_detached(submission.run_id)
        return INTERRUPTED
    status = follow_to_the_end(client, submission.run_id, as_json)
    if at_end is not None and status == 0:
        at_end(client.get_run(submission.run_id))
    return status


def submit_with_consent(
    client: TrainerClient,
    config: dict[str, Any],
    *,
    is_own: bool = True,
    is_confirmed: bool = False,
    installs: RunInstalls,
) -> Submission:
    """What a person typed is asked about only where it goes on from an imported run, or needs what
    is not installed."""
    unasked = None if is_own else ""

    def submit(granted: Sequence[str]) -> Submission:
        consent = granted[-1] if granted else unasked
        return client.submit(config, consent=consent, **installs.agreed)

    def missing() -> Sequence[VenvInfo]:
        return client.submit(config, dry_run=True, consent=unasked).missing

    if installs.looks_first:
        installs.ask(missing())
    while True:
        try:
            return with_consent(submit, is_given=is_confirmed)
        except BundleError as error:
            installs.ask(missing(), error)


def say_dry_run(submission: Submission, as_json: bool) -> int:
    """What would be run, and what stands in its way."""
    if as_json:
        say_json({**submission.to_dict(), "ready": submission.is_ready})
    else:
        say(printable(shlex.join(submission.command)))
        say_checks(submission.preflight)
        if submission.missing:
            say("  what is not installed yet:")
            for info in submission.missing:
                say(f"        {printable(install_words(info))}")
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


T = TypeVar("T")
_ABOUT_TO_RUN = "This would run:"


def with_consent(
    act: Callable[[Sequence[str]], T], *, is_given: bool, question: str = "Start it?"
) -> T:
    """`act` gets the digests of all that was confirmed so far, the latest last; at first none.

    `is_given`: the command line said --yes, which is for exactly what is shown.
    """
    granted: list[str] = []
    while True:
        try:
            return act(granted)
        except ConsentError as error:
            needed = requested_consent(error)
            if needed is None or needed.digest in granted:
                raise
            confirm(needed, is_given=is_given, question=question)
            granted.append(needed.digest)


def confirm(needed: Consent, *, is_given: bool, question: str) -> None:
    """Raises ConsentError unless somebody wants exactly this."""
    for line in (_ABOUT_TO_RUN, *(f"  {line}" for line in needed.lines)):
        say_to_stderr(printable(line))
    if is_given:
        return
    if not sys.stdin.isatty():
        raise ConsentError(
            "This runs code that did not come with this installation, which needs a confirmation",
            hint="look at what it would run, above; then pass --yes",
            **needed.to_dict(),
        )
    if not confirmed(question):
        raise ConsentError("Nothing was started", hint="answer y, or pass --yes")
