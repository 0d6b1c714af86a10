"""`mosaic stop`, `pause`, `unpause` and `control`: what can be done to runs that are not over."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import number_between
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.failures import report
from mosaic.cli.shared.terminal import printable, say, say_json
from mosaic.errors import MosaicError, RequestError, TrainerUnreachableError
from mosaic.front.references import GROUP_HELP, HELP, resolve_run, resolve_runs

if TYPE_CHECKING:
    from mosaic.client import TrainerClient

# How much longer than its grace period a run may take to be gone.
STOP_MARGIN_S = 30.0
DEFAULT_GRACE_S = 10.0
MAX_GRACE_S = 3600.0  # what the daemon takes
MAX_ANSWER_S = 600.0


def add(commands: Any) -> None:
    stop = commands.add_parser(
        "stop",
        help="stop runs, gently first",
        description=(
            "Asks the worker to stop, kills it after the grace period, and returns when the run is "
            "over."
        ),
    )
    stop.add_argument("runs", nargs="+", metavar="RUN", help=GROUP_HELP)
    stop.add_argument(
        "--grace",
        type=number_between(0, MAX_GRACE_S),
        metavar="S",
        help="seconds before it is killed; default: 10",
    )
    stop.add_argument("--reason", default="", metavar="TEXT", help="kept with the run")
    stop.add_argument(
        "--wait",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="return when the run is over (default), or at once",
    )
    stop.set_defaults(handler=stop_runs)

    for name, text, handler in (
        ("pause", "pause runs", pause_runs),
        ("unpause", "let paused runs go on", unpause_runs),
    ):
        parser = commands.add_parser(name, help=text)
        parser.add_argument("runs", nargs="+", metavar="RUN", help=GROUP_HELP)
        parser.set_defaults(handler=handler)

    tell = commands.add_parser(
        "control",
        help="tell the worker of a run something",
        description=(
            "Sends a command to the worker of a run and shows its answer. Which commands there are "
            "is the worker's own: see its page."
        ),
    )
    tell.add_argument("run", metavar="RUN", help=HELP)
    tell.add_argument(
        "words",
        nargs="+",
        metavar="WORD",
        help="the command's name, then name=value or plain values (@FILE: what is in that file); "
        "or all of it as JSON",
    )
    tell.add_argument(
        "--wait",
        type=number_between(0, MAX_ANSWER_S),
        metavar="S",
        help="seconds to wait for the answer; default: 5",
    )
    tell.add_argument("--json", action="store_true", help="the answer as JSON")
    tell.set_defaults(handler=control_run)


def control_run(arguments: argparse.Namespace) -> int:
    from mosaic.front.worker_commands import ANSWER_TIMEOUT_S, ask, read_command

    command = read_command(arguments.words)
    wait_s = ANSWER_TIMEOUT_S if arguments.wait is None else arguments.wait
    with open_client(arguments) as client:
        answer = ask(client, resolve_run(client, arguments.run), command, wait_s)
    if arguments.json:
        say_json(answer)
        return 0 if answer is None or answer.get("ok") else RequestError.exit_status
    if answer is None:
        say("sent; the worker has not answered")
        return 0
    text = printable(str(answer.get("text") or "done"))
    if not answer.get("ok"):
        raise RequestError(text, hint="the worker refused the command")
    say(text)
    return 0


def stop_runs(arguments: argparse.Namespace) -> int:
    def stop(client: TrainerClient, run_id: str) -> None:
        record = client.stop_run(run_id, arguments.reason, grace_s=arguments.grace)
        name = printable(record.run_name)
        if not arguments.wait:
            say(f"stopping {name} ({run_id})")
            return
        grace_s = DEFAULT_GRACE_S if arguments.grace is None else arguments.grace
        try:
            record = client.wait(run_id, grace_s + STOP_MARGIN_S)
        except TimeoutError as error:
            raise TrainerUnreachableError(
                f"{name} is still not over", hint=f"look at it with `mosaic show {run_id}`"
            ) from error
        say(f"{record.outcome}: {name} ({run_id})")

    with open_client(arguments) as client:
        return for_each_run(client, arguments.runs, stop)


def pause_runs(arguments: argparse.Namespace) -> int:
    def pause(client: TrainerClient, run_id: str) -> None:
        say(f"pausing {printable(client.pause_run(run_id).run_name)} ({run_id})")

    with open_client(arguments) as client:
        return for_each_run(client, arguments.runs, pause)


def unpause_runs(arguments: argparse.Namespace) -> int:
    def unpause(client: TrainerClient, run_id: str) -> None:
        say(f"going on with {printable(client.unpause_run(run_id).run_name)} ({run_id})")

    with open_client(arguments) as client:
        return for_each_run(client, arguments.runs, unpause)


def for_each_run(
    client: TrainerClient, references: list[str], action: Callable[[TrainerClient, str], None]
) -> int:
    """The action gets the id of each run; a group that is named stands for its runs."""
    run_ids, not_found = find_each(client, references)
    failed = for_each(client, run_ids, action)
    return not_found or failed


def find_each(client: TrainerClient, references: list[str]) -> tuple[list[str], int]:
    """The ids of all that can be found, each once, and the exit status for the rest."""
    run_ids: dict[str, None] = {}

    def find(client: TrainerClient, text: str) -> None:
        run_ids.update(dict.fromkeys(resolve_runs(client, [text])))

    not_found = for_each(client, references, find)
    return list(run_ids), not_found


def for_each(
    client: TrainerClient, items: list[str], action: Callable[[TrainerClient, str], None]
) -> int:
    """Act on every item that can be acted on; the first error decides the exit status."""
    status = 0
    for item in items:
        try:
            action(client, item)
        except TrainerUnreachableError:
            raise
        except MosaicError as error:
            failure = report(error, as_json=False)
            status = status or failure
    return status
