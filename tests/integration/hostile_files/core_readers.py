"""Everything that the daemon, the command line and the window read of a run, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mosaic.analytics.optuna.reader import open_studies
from mosaic.analytics.optuna.study import best_trials, chosen_trials, duration_s
from mosaic.analytics.tensorboard.logs import tensorboard_logs
from mosaic.analytics.tensorboard.reader import ScalarReader
from mosaic.analytics.wandb.reader import WandbReader, wandb_logs
from mosaic.contracts.manifest import AnalyticsManifest, artifact_path, read_manifest
from mosaic.gui.videos.model import probe
from mosaic.telemetry import queries
from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry.journal.reader import journal_extent, read_raw_events
from mosaic.telemetry.queries import metrics_digest
from mosaic.telemetry.recordings.episodes import RunRecordings
from mosaic.telemetry.series import bucketed_series, metric_infos
from mosaic.telemetry.store.reader import reading
from mosaic.worker.summary import masked
from tests.journal_lines import RUN_ID


def store(folder: Path) -> Any:
    path = folder / "telemetry.sqlite"
    with reading(path) as opened:
        assert opened is not None
        infos = metric_infos(opened, 1000)
        curves = [bucketed_series(opened, info.name, None, None, 100) for info in infos]
    return (
        len(curves),
        len(queries.recent_metrics(path, 100)),
        len(queries.steps(path, 0)),
        len(queries.lifecycle(path)),
        queries.quarantine_summary(path).lines,
        metrics_digest(path),
    )


def ingest(folder: Path) -> Any:
    """Opened for writing; what is no store of ours is made again from the journal."""
    ingest = JournalIngest(RUN_ID, folder / "events.jsonl", folder / "telemetry.sqlite")
    while ingest.step().has_more:
        pass
    ingest.close()
    return store(folder)


def journal(folder: Path) -> Any:
    path = folder / "events.jsonl"
    cursor, events = 0, 0
    while True:
        found, following = read_raw_events(path, cursor)
        events += len(found)
        if following == cursor:
            return events, journal_extent(path)
        cursor = following


def recordings(folder: Path) -> Any:
    found = RunRecordings(folder)
    numbers = found.numbers()
    episodes = [found.read(number) for number in [*numbers[:20], 0]]
    return (
        len(numbers),
        found.why_ended,
        [one and (one.problem, len(one.rewards)) for one in episodes],
    )


def study(folder: Path) -> Any:
    reader = open_studies(folder / "study.db")
    studies = reader.read()
    for one in studies:
        shown = chosen_trials(one)
        best_trials(one)
        [duration_s(trial) for trial in shown]
    problems = getattr(reader, "problems", [])
    return [(one.name, len(one.trials)) for one in studies], [str(problem) for problem in problems]


def tensorboard(folder: Path) -> Any:
    reader = ScalarReader(folder)
    news = reader.read_new()
    return {
        name: (list(one.series), dict(one.skipped), [str(problem) for problem in one.problems])
        for name, one in news.items()
    }


def wandb(folder: Path) -> Any:
    reader = WandbReader(folder / "run-a.wandb")
    news = reader.read_new()
    masked(reader.run.config)
    return (
        reader.run.started_at,
        len(str(reader.run.summary)),
        len(news.series),
        dict(news.skipped),
        [str(problem) for problem in news.problems],
    )


def manifest(folder: Path) -> Any:
    found = read_manifest(folder / "analytics.json")
    return None if found is None else len(str(found.to_dict()))


def imported(folder: Path) -> Any:
    """As for a run that came out of an archive: it has its folder and nothing else."""
    run = folder / "run"
    said = read_manifest(run / "analytics.json") or AnalyticsManifest("R", "w")
    places = [
        artifact_path(run, entry.path, "checkpoints", may_leave=False) for entry in said.checkpoints
    ]
    places += [artifact_path(run, name, "videos", may_leave=False) for name in said.videos]
    logs = tensorboard_logs("mine", run, said, is_over=True, may_leave=False)
    for log in logs:
        places.append(log.folder)
        tensorboard(log.folder)
    for path in wandb_logs(run, said, may_leave=False):
        places.append(path)
        WandbReader(path).read_new()
    if said.optuna_db_path:
        path = artifact_path(run, said.optuna_db_path, "optuna_db_path", may_leave=False)
        places.append(path)
        open_studies(path).read()
    return [str(place) for place in places]


def video(folder: Path) -> Any:
    (path,) = folder.glob("video.*")
    return probe(path).duration_s


READERS = {
    reader.__name__: reader
    for reader in (
        *(store, ingest, journal, recordings, study, tensorboard, wandb, manifest, imported, video),
    )
}
