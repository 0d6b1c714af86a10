"""`mosaic wandb`: what a run left for W&B, read from its own log; uploaded only when asked."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import (
    paint,
    printable,
    say,
    say_fields,
    say_json,
    say_table,
    say_to_stderr,
)
from mosaic.errors import RequestError
from mosaic.front.human import amount, count, decimal, moment
from mosaic.front.references import HELP, resolve_run

if TYPE_CHECKING:
    from pathlib import Path

    from mosaic.analytics.series import Series
    from mosaic.analytics.wandb.reader import WandbUpdate
    from mosaic.analytics.wandb.records import WandbRun
    from mosaic.front.references import LocalRun


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "wandb",
        help="a run's W&B log, read without network or account",
        description="Shows a run's W&B log, read without network or account.",
    )
    parser.add_argument("run", metavar="RUN", help=HELP)
    parser.add_argument("--history", metavar="NAME", help="the points of one logged value")
    parser.add_argument("--sync", action="store_true", help="upload the offline run to W&B")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=wandb)


def wandb(arguments: argparse.Namespace) -> int:
    from mosaic.analytics.wandb.reader import wandb_logs
    from mosaic.front.references import local_run

    with open_client(arguments) as client:
        run = local_run(client.get_run(resolve_run(client, arguments.run)))
    logs = wandb_logs(run.directory, run.manifest, may_leave=run.may_leave)
    if not logs:
        raise RequestError(
            f"{run.record.run_name} has no W&B log",
            hint="a run has one when its training used W&B, as with `track`",
        )
    if arguments.sync:
        return _sync(logs, arguments)
    return _show(run, logs, arguments)


def _show(run: LocalRun, logs: list[Path], arguments: argparse.Namespace) -> int:
    from mosaic.analytics.wandb.reader import WandbReader

    reader = WandbReader(logs[-1])
    news = reader.read_new()
    for problem in news.problems:
        say_to_stderr(f"left out: {printable(problem.message)}")
    if arguments.history is not None:
        return _show_history(news, arguments)
    if arguments.json:
        say_json(_as_json(run, reader.run, news, logs))
    else:
        _say_run(run, reader.run, news, logs)
    return 0


def _show_history(news: WandbUpdate, arguments: argparse.Namespace) -> int:
    from mosaic.front.human import age

    series = news.series.get(arguments.history)
    if series is None:
        names = ", ".join(sorted(news.series)) or "none at all"
        raise RequestError(
            f"Nothing was logged as {arguments.history!r}", hint=f"there is: {names}"
        )
    if arguments.json:
        say_json(_points(series))
        return 0
    rows = [
        (count(step), decimal(value), "-" if math.isnan(at) else age(at))
        for step, at, value in zip(series.steps, series.wall_times, series.values, strict=True)
    ]
    say_table(("STEP", arguments.history, "WHEN"), rows)
    return 0


def _points(series: Series) -> dict[str, Any]:
    return {
        "steps": series.steps.tolist(),
        "wall_times": series.wall_times.tolist(),
        "values": series.values.tolist(),
    }


def _as_json(
    run: LocalRun, logged: WandbRun, news: WandbUpdate, logs: list[Path]
) -> dict[str, Any]:
    from mosaic.worker.summary import masked

    return {
        "run_id": run.record.run_id,
        "log": str(logs[-1]),
        "logs": [str(log) for log in logs],
        "url": run.manifest.wandb.url,
        "wandb": {**logged.texts, "tags": logged.tags},
        "started_at": logged.started_at,
        "exit_code": logged.exit_code,
        "writer_version": logged.writer_version,
        "config": masked(logged.config),
        "summary": masked(logged.summary),
        "history": {name: len(series) for name, series in sorted(news.series.items())},
        "skipped": dict(news.skipped),
        "problems": [problem.to_dict() for problem in news.problems],
    }


def _say_run(run: LocalRun, logged: WandbRun, news: WandbUpdate, logs: list[Path]) -> None:
    from mosaic.analytics.wandb.reader import is_offline
    from mosaic.worker.summary import masked

    url = run.manifest.wandb.url
    ended = "" if logged.exit_code is None else f"exit code {logged.exit_code}"
    say(paint(printable(logged.name or logged.run_id or run.record.run_name), "bold"))
    say_fields(
        [
            ("W&B run", "/".join(filter(None, (logged.entity, logged.project, logged.run_id)))),
            ("link", url),
            ("mode", "offline" if is_offline(logs[-1]) else "online"),
            ("started", "" if logged.started_at is None else moment(logged.started_at)),
            ("ended", ended or ("" if run.record.is_over else "not yet")),
            ("tags", ", ".join(logged.tags)),
            ("log", str(logs[-1])),
            ("other logs", amount(len(logs) - 1, "older log") if len(logs) > 1 else ""),
        ]
    )
    for title, values in (("config", masked(logged.config)), ("summary", masked(logged.summary))):
        if values:
            say(paint(title, "bold"))
            say_fields([(name, _shown(value)) for name, value in sorted(values.items())])
    if news.series:
        say(paint("history", "bold"))
        say_fields(
            [
                (name, f"{amount(len(series), 'point')}, last {decimal(series.values[-1])}")
                for name, series in sorted(news.series.items())
            ]
        )
    if is_offline(logs[-1]) and not url:
        say(paint(f"`mosaic wandb {run.record.run_id} --sync` uploads it", "dim"))


def _shown(value: Any) -> str:
    return decimal(value) if isinstance(value, float) else str(value)


def _sync(logs: list[Path], arguments: argparse.Namespace) -> int:
    from mosaic.analytics.wandb.reader import is_offline
    from mosaic.analytics.wandb.sync import sync_offline_run

    offline = [log for log in logs if is_offline(log)]
    if not offline:
        raise RequestError(
            "There is nothing to sync: the run was online", hint="`mosaic wandb RUN` has its link"
        )
    synced = [(log.parent, sync_offline_run(log.parent)) for log in offline]
    if arguments.json:
        say_json([{"folder": str(folder), "url": run.url} for folder, run in synced])
    else:
        for folder, run in synced:
            say(f"synced {folder.name}" + (f": {run.url}" if run.url else ""))
    return 0
