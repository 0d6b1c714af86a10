"""`mosaic tensorboard`: runs shown by TensorBoard, for as long as the command runs."""

from __future__ import annotations

import argparse
import signal
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import whole_between
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import paint, printable, say, say_json, say_to_stderr
from mosaic.errors import MosaicError, RequestError
from mosaic.front.references import GROUP_HELP, resolve_runs

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from mosaic.analytics.tensorboard.logs import LogTree, NamedLog
    from mosaic.client import TrainerClient

MAX_PORT = 65_535


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "tensorboard",
        help="show runs in TensorBoard, until the command is ended",
        description=(
            "Shows runs in TensorBoard until the command is ended, on this machine only. Ends with "
            "status 0 after Ctrl-C."
        ),
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help=GROUP_HELP)
    parser.add_argument(
        "--port",
        type=whole_between(0, MAX_PORT),
        default=0,
        metavar="N",
        help="default: a free one",
    )
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    parser.add_argument(
        "--print", action="store_true", help="only print the command that would show the same"
    )
    parser.add_argument("--python", metavar="PATH", help="interpreter that has TensorBoard")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=tensorboard)


def tensorboard(arguments: argparse.Namespace) -> int:
    from mosaic.analytics.tensorboard.logs import LogTree

    with open_client(arguments) as client:
        run_ids = resolve_runs(client, arguments.runs)
        if arguments.print:
            return _print_command(client, run_ids)
        tree = LogTree()
        try:
            shown = _gather(client, run_ids, tree)
        except BaseException:
            tree.remove()
            raise
    return _serve(tree, shown, arguments)


def _serve(tree: LogTree, shown: dict[str, Path], arguments: argparse.Namespace) -> int:
    from mosaic.analytics.tensorboard.server import TensorBoardServer

    server = TensorBoardServer(tree, port=arguments.port, python=arguments.python)
    interrupts: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        server.ask_to_end()

    try:
        url = server.start()
        # From here on no exception: it would be lost where it hits a finalizer or a callback.
        signal.signal(signal.SIGINT, end)
        if arguments.json:
            runs = {name: str(folder) for name, folder in shown.items()}
            say_json({"url": url, "pid": server.pid, "runs": runs})
        else:
            say(f"{paint(url, 'bold')}  shows {printable(', '.join(shown))}")
            say(paint("Ctrl-C ends it", "dim"))
        if arguments.open:
            import webbrowser

            webbrowser.open(url)
        server.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        server.stop()
    if interrupts:
        return 0
    raise RequestError("TensorBoard has ended by itself", hint="start the command again")


def _gather(client: TrainerClient, run_ids: list[str], tree: LogTree) -> dict[str, Path]:
    """Put every run into the tree; those that cannot be shown are said, unless it is all."""
    shown: dict[str, Path] = {}
    problems: list[MosaicError] = []
    for run_id in run_ids:
        try:
            logs = _logs_of(client, run_id)
            for log in logs:
                shown[tree.add(log.name, log.folder)] = log.folder
            if not logs:
                folder = _export(client, run_id, tree)
                shown[folder.name] = folder
        except MosaicError as error:
            problems.append(error)
    _say_problems(problems, is_anything_shown=bool(shown))
    return shown


def _print_command(client: TrainerClient, run_ids: list[str]) -> int:
    from mosaic.analytics.tensorboard.logs import tensorboard_command

    logs: list[NamedLog] = []
    problems: list[MosaicError] = []
    for run_id in run_ids:
        try:
            found = _logs_of(client, run_id)
        except MosaicError as error:
            problems.append(error)
            continue
        logs += found
        if not found:
            problems.append(_without_files(run_id))
    _say_problems(problems, is_anything_shown=bool(logs))
    say(tensorboard_command(logs))
    return 0


def _logs_of(client: TrainerClient, run_id: str) -> list[NamedLog]:
    from mosaic.analytics.tensorboard.logs import tensorboard_logs
    from mosaic.front.references import local_run

    run = local_run(client.get_run(run_id))
    name = run.record.run_name or run_id
    return tensorboard_logs(
        name, run.directory, run.manifest, is_over=run.record.is_over, may_leave=run.may_leave
    )


def _export(client: TrainerClient, run_id: str, tree: LogTree) -> Path:
    """What the store has of a run that wrote no event files itself, as it is now."""
    record = client.get_run(run_id)
    if not record.progress.episodes and not client.metrics(run_id):
        raise RequestError(
            f"{record.run_name} has no TensorBoard files and has reported nothing to show",
            hint=f"`mosaic logs {run_id}` has what it printed",
        )
    return client.export_to_tensorboard(run_id, tree.new_place(record.run_name or run_id))


def _without_files(run_id: str) -> RequestError:
    return RequestError(
        f"Run {run_id} has no TensorBoard files",
        hint=f"`mosaic export {run_id} --to tensorboard` makes some of what it reported",
    )


def _say_problems(problems: list[MosaicError], *, is_anything_shown: bool) -> None:
    if problems and not is_anything_shown:
        raise problems[0]
    for problem in problems:
        say_to_stderr(f"left out: {printable(problem.message)}")
