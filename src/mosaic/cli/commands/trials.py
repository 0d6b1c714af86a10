"""`mosaic trials`: the trials of an Optuna study, read beside whoever writes it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import positive
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import say, say_json, say_table
from mosaic.errors import RequestError
from mosaic.front.references import resolve_run

if TYPE_CHECKING:
    from mosaic.analytics.optuna.study import Study

SQLITE_SCHEME = "sqlite:///"
STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
SORTS = ("value", "number", "duration")


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "trials",
        help="trials of an Optuna study, the best first",
        description=(
            "Shows the trials of an Optuna study, the best first. The study is only read."
        ),
    )
    parser.add_argument(
        "source",
        metavar="STUDY",
        help="file of the study (SQLite or journal), or a run whose analytics.json names one",
    )
    parser.add_argument("--study", metavar="NAME", help="which, where the file holds several")
    parser.add_argument("--sort", choices=SORTS, default="value", help="default: value")
    parser.add_argument(
        "--state",
        action="append",
        type=str.upper,
        choices=STATES,
        default=[],
        help="only trials in this state (repeatable)",
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="how many; default: all")
    parser.add_argument("-f", "--follow", action="store_true", help="stay and show what changes")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=trials)


def trials(arguments: argparse.Namespace) -> int:
    from mosaic.analytics.optuna.reader import open_studies
    from mosaic.cli.commands.trials_view import (
        StudyFollower,
        TrialChoice,
        say_problems,
        say_study,
        study_json,
    )

    path = find_study_file(arguments)
    reader = open_studies(path)
    choice = TrialChoice(arguments.sort, tuple(arguments.state), arguments.limit)
    if arguments.follow:
        return StudyFollower(reader, arguments.study, choice, as_json=arguments.json).run()
    studies = reader.read()
    say_problems(reader)
    study = choose_study(studies, arguments.study, path)
    if study is None:
        _say_studies(studies, as_json=arguments.json)
    elif arguments.json:
        say_json({"path": str(path), **study_json(study, choice)})
    else:
        say_study(study, choice)
    return 0


def find_study_file(arguments: argparse.Namespace) -> Path:
    """The file that is meant, or the one of the run that is meant."""
    text: str = arguments.source
    path = Path(text.removeprefix(SQLITE_SCHEME)).expanduser()
    if path.is_file() or text.startswith(SQLITE_SCHEME) or "/" in text or path.suffix:
        return path.absolute()  # where there is none, the reader says so
    from mosaic.front.references import local_run, named_file

    with open_client(arguments) as client:
        run = local_run(client.get_run(resolve_run(client, text)))
    if not run.manifest.optuna_db_path:
        raise RequestError(
            f"{run.record.run_name} names no Optuna study",
            hint="name the file of the study itself",
        )
    named = run.manifest.optuna_db_path.removeprefix(SQLITE_SCHEME)
    return named_file(run.record, named, "optuna_db_path")


def choose_study(studies: list[Study], name: str | None, path: Path) -> Study | None:
    """The only one, or the one of that name; None when the file holds several and none is named."""
    if name is None and len(studies) == 1:
        return studies[0]
    for study in studies:
        if study.name == name:
            return study
    if not studies:
        raise RequestError(f"{path} holds no study yet", hint="has the search started?")
    if name is None:
        return None
    names = ", ".join(study.name for study in studies)
    raise RequestError(f"There is no study {name!r} in {path}", hint=f"there are: {names}")


def _say_studies(studies: list[Study], *, as_json: bool) -> None:
    if as_json:
        say_json(
            [
                {"study": study.name, "directions": study.directions, "trials": len(study.trials)}
                for study in studies
            ]
        )
        return
    rows = [
        (study.name, ", ".join(map(str.lower, study.directions)), str(len(study.trials)))
        for study in studies
    ]
    say_table(("STUDY", "OBJECTIVES", "TRIALS"), rows)
    say("--study NAME shows the trials of one")
