"""`mosaic daemon` and `mosaic doctor`: the process behind everything, and what a run needs."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.clients import home_of, open_client
from mosaic.cli.shared.terminal import paint, printable, say, say_fields, say_json
from mosaic.errors import DaemonConflictError, PreflightError, TrainerUnreachableError
from mosaic.front.human import age, amount

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.client.daemon_process import DaemonInfo
    from mosaic.wire.answers import Health

TLS_OPTIONS = ("--tls-cert", "--tls-key", "--tls-client-ca")


def add_daemon(commands: Any) -> None:
    daemon = commands.add_parser("daemon", help="start, stop or look at the daemon")
    actions = daemon.add_subparsers(metavar="start | stop | status", required=True)
    start = actions.add_parser(
        "start",
        help="start it (any command does that when needed)",
        description=(
            "Starts the daemon; any command does that when needed. TCP beyond this machine is "
            "refused without mutual TLS."
        ),
    )
    start.add_argument("--tcp", metavar="HOST:PORT", help="listen here too; port 0 picks one")
    for option in TLS_OPTIONS:
        start.add_argument(option, metavar="FILE", help="needed beyond this machine (PEM)")
    start.set_defaults(handler=start_daemon)

    stop = actions.add_parser(
        "stop",
        help="stop it; runs go on unless told otherwise",
        description="Stops the daemon; runs go on and the next daemon adopts them.",
    )
    how = stop.add_mutually_exclusive_group()
    how.add_argument(
        "--drain",
        action="store_true",
        help="first wait until every run, queued ones included, is over",
    )
    how.add_argument("--kill-runs", action="store_true", help="first stop every run")
    stop.set_defaults(handler=stop_daemon)

    status = actions.add_parser(
        "status",
        help="whether it runs, and how it is",
        description=(
            "Tells whether the daemon runs (status 0) or not (status 8), its load and its alarms."
        ),
    )
    status.add_argument("--json", action="store_true", help="machine-readable output")
    status.set_defaults(handler=show_status)


def start_daemon(arguments: argparse.Namespace) -> int:
    from mosaic.client.daemon_process import ensure_daemon, living_daemon

    home = home_of(arguments)
    options: list[str] = []
    for name in ("--tcp", *TLS_OPTIONS):
        value = getattr(arguments, name.removeprefix("--").replace("-", "_"))
        if value is not None:
            options += [name, value]
    running = living_daemon(home)
    if running is not None and options:
        raise DaemonConflictError(
            f"The daemon (pid {running.identity.pid}) is running already, with its own options",
            hint="`mosaic daemon stop` first; no run is hurt",
        )
    info = ensure_daemon(home, options=options)
    word = "started" if running is None else "was running"
    say(f"daemon {word}: pid {info.identity.pid}, {', '.join(info.addresses)}")
    return 0


def stop_daemon(arguments: argparse.Namespace) -> int:
    from mosaic.client import TrainerClient, daemon_process

    home = home_of(arguments)
    info = daemon_process.living_daemon(home)
    if info is None:
        say("no daemon is running")
        return 0
    if arguments.drain or arguments.kill_runs:
        with TrainerClient(home, autostart=False) as client:
            finish_runs(client, kill=arguments.kill_runs)
    live = _live_runs(info)
    daemon_process.stop_daemon(home)
    say("daemon stopped" + (f"; {amount(live, 'run')} left running" if live else ""))
    return 0


def _live_runs(info: DaemonInfo) -> int:
    from mosaic.client.channel import ask_health
    from mosaic.client.daemon_process import ANSWER_TIMEOUT_S

    try:
        return ask_health(info.target, ANSWER_TIMEOUT_S).live_runs
    except TrainerUnreachableError:
        return 0  # a daemon that hangs can be stopped all the same


def finish_runs(client: TrainerClient, kill: bool) -> None:
    """Return when no run is left that is queued or live."""
    from mosaic.contracts.run_state import RunState
    from mosaic.errors import RunStateError

    unfinished = [state for state in RunState if state is not RunState.TERM]
    while records := client.list_runs(states=unfinished):
        if not kill:
            say(f"waiting for {amount(len(records), 'run')}")
        for record in records if kill else ():
            try:
                client.stop_run(record.run_id)
            except RunStateError:
                continue  # it ended by itself
        for record in records:
            client.wait(record.run_id)


def show_status(arguments: argparse.Namespace) -> int:
    from mosaic.client.channel import ask_health
    from mosaic.client.daemon_process import ANSWER_TIMEOUT_S, living_daemon

    info = living_daemon(home_of(arguments))
    if info is None:
        if arguments.json:
            say_json({"running": False})
        else:
            say("not running")
        return TrainerUnreachableError.exit_status
    health = ask_health(info.target, ANSWER_TIMEOUT_S)
    if arguments.json:
        say_json({"running": True, **health.to_dict()})
    else:
        say_health(health)
    return 0


def say_health(health: Health) -> None:
    say(paint("running", "green" if health.healthy else "yellow"))
    say_fields(
        [
            ("pid", str(health.pid)),
            ("version", health.version),
            ("home", health.home),
            ("started", age(health.started_at)),
            ("listens on", ", ".join(health.addresses)),
            ("runs", f"{health.live_runs} live, {health.queued_runs} queued"),
            ("cpus", f"{health.cpus_free} of {health.cpus_total} free"),
            ("memory", f"{health.memory_mb_free:,} of {health.memory_mb_total:,} MB free"),
            (
                "gpus",
                f"{health.gpus_free} of {health.gpus_total} free" if health.gpus_total else "",
            ),
            ("uses", f"{health.rss_mb:.0f} MB"),
        ]
    )
    for alarm in health.alarms:
        say(f"{paint('alarm:', 'red')} {printable(alarm)}")


def add_doctor(commands: Any) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check that everything works, with fixes",
        description=(
            "Checks Python, home, disk, containment, shared memory, daemon, GPUs and workers; "
            "names a fix for each problem."
        ),
    )
    doctor.add_argument("--json", action="store_true", help="machine-readable output")
    doctor.set_defaults(handler=diagnose)


def diagnose(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.submission import say_checks
    from mosaic.front import machine_checks

    home = home_of(arguments)
    results = machine_checks.check_machine(home)
    with open_client(arguments) as client:
        results += machine_checks.check_daemon(client)
    problems = [result for result in results if result.is_fatal]
    if arguments.json:
        say_json({"ok": not problems, "checks": [asdict(result) for result in results]})
    else:
        say_checks(results)
        say("everything a run needs is there" if not problems else f"{len(problems)} to fix")
    return PreflightError.exit_status if problems else 0
