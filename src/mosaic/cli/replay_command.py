"""`mosaic replay`: an episode once more, in the terminal or as a file, compared with its record."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.numbers import natural, number_between, positive
from mosaic.cli.session import open_client
from mosaic.cli.submission import add_consent_option
from mosaic.cli.terminal import is_terminal, paint, printable, say, say_json
from mosaic.errors import RequestError, RunStateError, WorkerError
from mosaic.frames.drawing import AUTO, STYLES
from mosaic.front.human import amount, decimal
from mosaic.front.run_reference import HELP, resolve_run

if TYPE_CHECKING:
    from mosaic.contracts.replay import EpisodeRecording
    from mosaic.contracts.run_record import RunRecord
    from mosaic.replay.simulation import Simulation
    from mosaic.replay.verdict import Verdict

DIFFERS_STATUS = 1
DEFAULT_FPS = 30.0


def add(commands: Any) -> None:
    parser = commands.add_parser("replay", help="play an episode of a run again, and compare it")
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
    add_consent_option(parser)
    parser.add_argument("--style", choices=STYLES, default=AUTO, help="how to draw")
    parser.set_defaults(handler=replay)


def replay(arguments: argparse.Namespace) -> int:
    from mosaic.cli.consent import confirm
    from mosaic.cli.replay_episodes import chosen_episode, show_episodes

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
    from mosaic.cli.failures import INTERRUPTED
    from mosaic.cli.replay_player import ReplayPlayer

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


def comparison_data(recording: EpisodeRecording, verdict: Verdict) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "run_id": recording.run_id,
        "env_id": recording.env_id,
        "attempt": recording.attempt,
        "episode": asdict(recording.episode),
        "verdict": verdict.to_dict(),
        "clips": list(recording.clips),
    }
