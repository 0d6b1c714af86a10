"""`mosaic replay`: an episode once more, in the terminal or as a file, compared with its record."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import natural, number_between, positive
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.run_options import add_run_options
from mosaic.cli.shared.submission import confirm
from mosaic.cli.shared.terminal import is_terminal, paint, printable, say, say_json, say_table
from mosaic.errors import RequestError, RunStateError, WorkerError
from mosaic.frames.drawing import AUTO, STYLES
from mosaic.front.human import amount, decimal
from mosaic.front.references import HELP, resolve_run

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.events import EpisodeSummary
    from mosaic.contracts.replay import EpisodeRecording
    from mosaic.contracts.run_record import RunRecord
    from mosaic.replay.simulation import Simulation
    from mosaic.replay.verdict import ReplayVerdict

DIFFERS_STATUS = 1
DEFAULT_FPS = 30.0


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "replay",
        help="play an episode of a run again, and compare it",
        description=(
            "Plays an episode once more, in the terminal or as a file, and compares it with its "
            "record. Ends with status 1 when it differs, with 5 when it cannot be simulated. An "
            "imported run that would run foreign code is asked about."
        ),
    )
    parser.add_argument("run", metavar="RUN", help=HELP)
    parser.add_argument(
        "--episode",
        default="last",
        metavar="N",
        help="its number, or last (default), best, worst",
    )
    parser.add_argument("--attempt", type=positive, metavar="A", help="default: the latest with it")
    parser.add_argument("--list", action="store_true", help="show the episodes of the run")
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="with --list")
    parser.add_argument("--verify", action="store_true", help="only compare it with its record")
    parser.add_argument("--json", action="store_true", help="the comparison or the list as JSON")
    parser.add_argument("--mp4", type=Path, metavar="OUT", help="write a video")
    parser.add_argument("--png", type=Path, metavar="OUT", help="write one picture")
    parser.add_argument("--step", type=natural, metavar="K", help="with --png: of this step")
    parser.add_argument(
        "--fps",
        type=number_between(0.01, 1000),
        default=DEFAULT_FPS,
        metavar="F",
        help="steps a second (default 30)",
    )
    parser.add_argument(
        "--speed", type=number_between(0.01, 1000), default=1.0, metavar="X", help="times faster"
    )
    add_run_options(parser, "--yes")
    parser.add_argument("--style", choices=STYLES, default=AUTO, help="how to draw")
    parser.set_defaults(handler=replay)


def replay(arguments: argparse.Namespace) -> int:
    _check(arguments)
    with open_client(arguments) as client:
        record = client.get_run(resolve_run(client, arguments.run))
        if arguments.list:
            return show_episodes(client, record, arguments)
        number = chosen_episode(client, record.run_id, arguments.episode)
        recording = client.get_recording(record.run_id, number, arguments.attempt)
        if recording.consent is not None:
            confirm(recording.consent, is_given=arguments.yes, question="Run it?")
            recording = client.get_recording(
                record.run_id, number, arguments.attempt, recording.consent.digest
            )
    if arguments.mp4 or arguments.png:
        return _write_files(recording, record, arguments)
    is_shown = is_terminal(sys.stdout) and not (arguments.verify or arguments.json)
    return _play(recording, record, arguments) if is_shown else _compare(recording, arguments)


def _check(arguments: argparse.Namespace) -> None:
    """Before anything starts: what can be known to fail."""
    from mosaic.front.replay_files import check_folder

    if arguments.step is not None and not arguments.png:
        raise RequestError("--step goes with --png")
    for path in filter(None, (arguments.mp4, arguments.png)):
        check_folder(path)


def _compare(recording: EpisodeRecording, arguments: argparse.Namespace) -> int:
    from mosaic.replay.simulation import verify
    from mosaic.replay.verdict import DIFFERS, IDENTICAL, IMPOSSIBLE

    verdict = verify(recording)
    if arguments.json:
        say_json(comparison_data(recording, verdict))
    else:
        say(printable(title(recording)))
        is_same = verdict.kind == IDENTICAL
        sentence = f"identical: {amount(verdict.steps, 'reward')} as recorded, and the same end"
        say(paint(printable(sentence if is_same else verdict.sentence), "" if is_same else "red"))
        for clip in recording.clips if verdict.kind == IMPOSSIBLE else ():
            say(f"  recorded clip: {printable(clip)}")
    return {IDENTICAL: 0, DIFFERS: DIFFERS_STATUS}.get(verdict.kind, RunStateError.exit_status)


def _play(recording: EpisodeRecording, record: RunRecord, arguments: argparse.Namespace) -> int:
    from mosaic.cli.commands.replay_player import ReplayPlayer
    from mosaic.cli.shared.failures import INTERRUPTED

    with _simulation(recording, record) as simulation:
        try:
            ReplayPlayer(simulation, recording, arguments).run()
        except KeyboardInterrupt:
            return INTERRUPTED
        say(printable(title(recording)))
        if simulation.difference:
            say(paint(printable(simulation.difference), "red"))
    return 0


def _write_files(
    recording: EpisodeRecording, record: RunRecord, arguments: argparse.Namespace
) -> int:
    from mosaic.front.replay_files import copy_clip, write_movie, write_picture

    try:
        simulation = _simulation(recording, record)
    except RunStateError as error:
        clip = _newest_clip(recording, record)
        if clip is None or not arguments.mp4:
            raise
        say(f"{printable(error.message)}; the run has recorded clips, though")
        say(copy_clip(clip, arguments.mp4))
        return 0
    with simulation:
        if arguments.png:
            say(write_picture(simulation, arguments.step, arguments.png))
        if arguments.mp4:
            say(write_movie(simulation, arguments.fps * arguments.speed, arguments.mp4))
        if simulation.difference:
            say(paint(printable(simulation.difference), "red"))
    return 0


def _simulation(recording: EpisodeRecording, record: RunRecord) -> Simulation:
    """Raises RunStateError, which names the clips of the run where there are any."""
    from mosaic.replay.simulation import Simulation

    try:
        return Simulation(recording)
    except WorkerError as error:
        clips = [printable(str(_local(record, clip))) for clip in recording.clips]
        hint = f"recorded clips of the run: {', '.join(clips)}" if clips else error.hint
        raise RunStateError(
            f"Episode {recording.episode.episode_index} cannot be simulated: {error.message}",
            hint=hint,
        ) from error


def _newest_clip(recording: EpisodeRecording, record: RunRecord) -> Path | None:
    found = [path for clip in recording.clips if (path := _local(record, clip)).is_file()]
    return found[-1] if found else None


def _local(record: RunRecord, clip: str) -> Path:
    return Path(record.paths.get("run_directory", "")) / clip


def title(recording: EpisodeRecording) -> str:
    episode = recording.episode
    seed = "" if episode.episode_seed is None else f", seed {episode.episode_seed}"
    attempt = "" if recording.attempt == 1 else f", attempt {recording.attempt}"
    return (
        f"episode {episode.episode_index} of {recording.run_id} in {recording.env_id}: "
        f"return {decimal(episode.total_reward)}, {amount(episode.steps, 'step')}{seed}{attempt}"
    )


def comparison_data(recording: EpisodeRecording, verdict: ReplayVerdict) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "run_id": recording.run_id,
        "env_id": recording.env_id,
        "attempt": recording.attempt,
        "episode": asdict(recording.episode),
        "verdict": verdict.to_dict(),
        "clips": list(recording.clips),
    }


# What is said on the command line, and the order in which that episode is the first.
_ORDERS = {"last": "newest", "best": "best", "worst": "worst"}


def chosen_episode(client: TrainerClient, run_id: str, text: str) -> int:
    """The number of the episode; raises RequestError."""
    order = _ORDERS.get(text.lower())
    if order is not None:
        found = next(client.episodes(run_id, 1, order), None)
        if found is None:
            raise RequestError(
                "The run has no finished episode",
                hint="--episode 0 replays one that still goes on, or was broken off",
            )
        return found.episode_index
    try:
        return int(text)
    except ValueError:
        raise RequestError(
            f"--episode {text[:80]!r} is neither a number nor one of {', '.join(_ORDERS)}",
            hint="--list shows the episodes",
        ) from None


def show_episodes(client: TrainerClient, record: RunRecord, arguments: argparse.Namespace) -> int:
    """The newest ones, and why those that cannot be replayed cannot."""
    rows = []
    for episode in client.episodes(record.run_id, arguments.limit, "newest"):
        recording = client.get_recording(record.run_id, episode.episode_index, arguments.attempt)
        rows.append((episode, recording.problem))
    if arguments.json:
        say_json([_episode_data(episode, problem) for episode, problem in rows])
        return 0
    say_table(
        ("EPISODE", "RETURN", "STEPS", "SEED", "REPLAY"),
        [_episode_cells(episode, problem) for episode, problem in rows],
        colours=["dim" if problem else "" for _, problem in rows],
        flexible=4,
    )
    total = record.progress.episodes
    if total > len(rows):
        say(
            paint(
                f"the newest {len(rows)} of {amount(total, 'episode')}; --limit N shows more", "dim"
            )
        )
    return 0


def _episode_cells(episode: EpisodeSummary, problem: str) -> tuple[str, ...]:
    seed = episode.episode_seed
    return (
        str(episode.episode_index),
        decimal(episode.total_reward),
        f"{episode.steps:,}",
        "" if seed is None else str(seed),
        f"no: {problem}" if problem else "yes",
    )


def _episode_data(episode: EpisodeSummary, problem: str) -> dict[str, Any]:
    names = ("episode_index", "total_reward", "steps", "terminated", "truncated", "episode_seed")
    return {
        **{name: getattr(episode, name) for name in names},
        "replayable": not problem,
        "problem": problem,
    }
