"""`mosaic replay` against a real daemon: recorded, played again, compared; also in a terminal."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.evaluation.detection import detect_policy
from cleanrl_worker.evaluation.policy import load_policy
from mosaic.cli.main import main
from mosaic.client import AsyncTrainerClient
from mosaic.client.export_rows import StoredRows, replayed_episodes, simulated_steps
from mosaic.errors import RequestError
from mosaic.export.run_rows import PlayedEpisode
from mosaic.files import atomic_write_json
from mosaic.replay.simulation import Simulation, simulate, verify
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.integration.pseudo_terminal import pseudo_terminal
from tests.unit.frames.pictures import read_png
from tests.waiting import PATIENCE_S

# One of each family that the baseline worker knows, with something to see in its rewards.
FAMILIES = [
    ("CartPole-v1", "heuristic"),
    ("FrozenLake-v1", "random"),
    ("Taxi-v4", "heuristic"),
    ("Pendulum-v1", "random"),
    ("LunarLander-v3", "heuristic"),
    ("minigrid:MiniGrid-Dynamic-Obstacles-5x5-v0", "random"),
]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


def finished_run(daemon: DaemonHarness, **config: Any) -> str:
    run_id = daemon.submit(config={"episodes": 2, **config})
    record = daemon.wait_over(run_id)
    assert record.outcome == "succeeded", record
    return run_id


@pytest.fixture(scope="module")
def run(daemon: DaemonHarness) -> str:
    return finished_run(daemon, env_id="CartPole-v1", episodes=3)


def finished_learner_run(daemon: DaemonHarness, config: dict[str, Any]) -> Path:
    """The folder of a run of the CleanRL worker."""
    run_id = daemon.submit(
        entry_point="cleanrl",
        metadata={"worker": {"config": config}},
        resources={"cpus": 1, "memory_mb": 2048},
    )
    record = daemon.wait_over(run_id)
    assert record.outcome == "succeeded", record
    return daemon.home.run(run_id).directory


def mosaic_replay(daemon: DaemonHarness, *words: str, status: int = 0) -> str:
    """The command within this process, which is quicker, and what it said."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        found = main(["--home", str(daemon.home.root), "replay", *words])
    assert found == status, f"{words}: {found}\n{said.getvalue()}"
    return said.getvalue()


def test_what_was_recorded_is_simulated_alike(daemon: DaemonHarness) -> None:
    runs = {
        env_id: daemon.submit(
            config={"env_id": env_id, "policy": policy, "seed": 5, "episodes": 2},
            resources={"cpus": 1, "memory_mb": 256},
        )
        for env_id, policy in FAMILIES
    }
    for env_id, run_id in runs.items():
        assert daemon.wait_over(run_id).outcome == "succeeded", env_id
        recording = daemon.client.get_recording(run_id, 1)
        assert recording.problem == "" and recording.episode.episode_seed == 6
        verdict = verify(recording)
        assert verdict.sentence == "identical", (env_id, verdict)
        assert verdict.steps == recording.episode.steps > 0


def test_the_pictures_of_a_run_change_from_step_to_step(daemon: DaemonHarness, run: str) -> None:
    with Simulation(daemon.client.get_recording(run, 0)) as simulation:
        pictures = [simulation.seek(step) for step in range(simulation.steps + 1)]
        assert len({picture.pixels for picture in pictures}) > simulation.steps // 2
        assert simulation.seek(3) == pictures[3]


async def test_the_asynchronous_client_has_it_too(daemon: DaemonHarness, run: str) -> None:
    async with AsyncTrainerClient(home=daemon.home, autostart=False) as client:
        recording = await client.get_recording(run, 1)
        assert recording == daemon.client.get_recording(run, 1, attempt=1)
        with pytest.raises(RequestError, match="no recorded episode 1 in attempt 9"):
            await client.get_recording(run, 1, attempt=9)


def test_the_command_compares_and_lists(daemon: DaemonHarness, run: str) -> None:
    text = mosaic_replay(daemon, run)
    assert "episode 2 of" in text and "identical: " in text
    listed = json.loads(mosaic_replay(daemon, run, "--list", "--json"))
    assert [row["episode_index"] for row in listed] == [2, 1, 0]
    assert all(row["replayable"] for row in listed)
    returns = {row["episode_index"]: row["total_reward"] for row in listed}
    for word, choice in (("best", max), ("worst", min)):
        data = json.loads(mosaic_replay(daemon, run, "--episode", word, "--json"))
        assert data["episode"]["total_reward"] == choice(returns.values())
        assert data["verdict"]["kind"] == "identical"
    assert "EPISODE" in mosaic_replay(daemon, run, "--list", "--limit", "1")


def test_a_reward_that_was_changed_is_found(daemon: DaemonHarness) -> None:
    run_id = finished_run(daemon, env_id="Pendulum-v1", episodes=1)
    with sqlite3.connect(daemon.home.run(run_id).telemetry) as store:
        store.execute("UPDATE steps SET reward = 7.5 WHERE step_index = 16")
    store.close()
    for words in ((), ("--verify",)):
        text = mosaic_replay(daemon, run_id, *words, status=1)
        assert "differs at step 17: recorded 7.5, simulated -" in text
    data = json.loads(mosaic_replay(daemon, run_id, "--verify", "--json", status=1))
    assert data["verdict"]["first_step"] == 17 and data["verdict"]["mismatches"] == 1


def test_a_picture_and_a_video(daemon: DaemonHarness, run: str, tmp_path: Path) -> None:
    import av

    picture, video = tmp_path / "step.png", tmp_path / "episode.mp4"
    words = ("--episode", "0", "--png", str(picture), "--step", "5", "--mp4", str(video))
    text = mosaic_replay(daemon, run, *words, "--fps", "20")
    with Simulation(daemon.client.get_recording(run, 0)) as simulation:
        steps = simulation.steps
        assert read_png(picture.read_bytes()) == simulation.seek(5)
    assert f"step 5 of {steps}, 600x400" in text and f"{steps + 1} frames of 600x400" in text
    with av.open(str(video)) as container:
        assert sum(1 for _ in container.decode(video=0)) == steps + 1
        assert container.streams.video[0].average_rate == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["episode.mp4", "step.png"]


def test_a_video_that_fails_leaves_nothing(
    daemon: DaemonHarness, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = tmp_path / "episode.mp4"
    video.write_bytes(b"an older one")
    seek = Simulation.seek

    def failing(simulation: Simulation, step: int) -> Any:
        if step == 5:
            simulation.kill()
        return seek(simulation, step)

    monkeypatch.setattr(Simulation, "seek", failing)
    assert "killed by SIGKILL" in mosaic_replay(daemon, run, "--mp4", str(video), status=1)
    assert [path.name for path in tmp_path.iterdir()] == ["episode.mp4"]
    assert video.read_bytes() == b"an older one"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--episode", "77"), "has no recorded episode 77"),
        (("--episode", "9" * 30), "episode_index is 999"),
        (
            ("--episode", "0", "--attempt", "5000000000"),
            "--attempt: 5000000000 is more than",
        ),
        (("--episode", "nonsense"), "neither a number nor one of last, best, worst"),
        (("--step", "3"), "--step goes with --png"),
        (("--png", "/nowhere/at/all.png"), "There is no folder"),
        (("--png", "{folder}/x.png", "--step", "100000"), "the episode has steps 0 to"),
        (("--png", "{folder}"), "cannot be written"),
        (("--fps", "0"), "argument --fps: 0 is not between"),
        (("--speed", "nan"), "argument --speed: nan is not between"),
        (("--attempt", "0"), "argument --attempt: 0 is less than 1"),
    ],
)
def test_wrong_words_are_refused(
    daemon: DaemonHarness, run: str, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    given = [word.format(folder=tmp_path) for word in words]
    assert said in mosaic_replay(daemon, run, *given, status=2)
    assert not list(tmp_path.iterdir())


def test_without_steps_the_clips_are_what_there_is(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = finished_run(daemon, step_telemetry=False)
    files = daemon.home.run(run_id)
    text = mosaic_replay(daemon, run_id, status=5)
    assert "cannot be simulated: its single steps were not recorded" in text
    clip = files.directory / "videos" / "clip-0001.mp4"
    clip.parent.mkdir(exist_ok=True)
    clip.write_bytes(b"a video")
    manifest = json.loads(files.manifest.read_bytes()) if files.manifest.exists() else {}
    names = {"run_id": run_id, "worker_type": "baseline", "manifest_version": 1}
    atomic_write_json(files.manifest, {**names, **manifest, "videos": ["videos/clip-0001.mp4"]})
    assert "recorded clip: videos/clip-0001.mp4" in mosaic_replay(daemon, run_id, status=5)
    out = tmp_path / "out.mp4"
    assert "a copy of" in mosaic_replay(daemon, run_id, "--mp4", str(out))
    assert out.read_bytes() == b"a video"
    assert str(clip) in mosaic_replay(daemon, run_id, "--png", str(out), status=5)
    row = json.loads(mosaic_replay(daemon, run_id, "--list", "--json"))[0]
    assert not row["replayable"] and "not recorded" in row["problem"]


def test_a_run_without_episodes_says_so(daemon: DaemonHarness) -> None:
    run_id = daemon.submit_script("crashes")
    daemon.wait_over(run_id)
    assert "no finished episode" in mosaic_replay(daemon, run_id, status=2)
    assert json.loads(mosaic_replay(daemon, run_id, "--list", "--json")) == []


def test_the_player_in_a_terminal(daemon: DaemonHarness, run: str) -> None:
    steps = daemon.client.get_recording(run, 0).episode.steps
    environment = {**daemon.environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    command = [sys.executable, "-m", "mosaic.cli", "replay", run, "--episode", "0"]
    with pseudo_terminal(columns=120) as terminal:
        mode = terminal.mode
        process = terminal.start([*command, "--style", "blocks", "--fps", "100"], environment)
        try:
            terminal.wait_for(f"step {steps}/{steps}")  # it plays by itself, and waits at the end
            assert "▀" in terminal.output and "terminated" in terminal.output
            for keys, shown in (
                (b"\x1b[D", f"step {steps - 1}/{steps}"),
                (b"\x1b[D", f"step {steps - 2}/{steps}"),
                (b"\x1b[H", f"step 0/{steps}"),
                (b"\x1b[C\x1b[C\x1b[C", f"step 3/{steps}  action"),
                (b"5", f"step {steps // 2}/{steps}"),
                (b"++-", "x2"),
            ):
                terminal.forget()
                terminal.press(keys)
                terminal.wait_for(shown)
            terminal.press(b"q")
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            process.wait(PATIENCE_S)
        assert terminal.mode == mode
        assert "episode 0 of" in terminal.output and "Traceback" not in terminal.output


def test_the_player_shows_a_difference_in_red(daemon: DaemonHarness) -> None:
    run_id = finished_run(daemon, env_id="CartPole-v1", episodes=1)
    with sqlite3.connect(daemon.home.run(run_id).telemetry) as store:
        store.execute("UPDATE steps SET reward = 0.5 WHERE step_index = 1")
    store.close()
    environment = {**daemon.environment, "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "mosaic.cli", "replay", run_id, "--style", "ascii"]
    with pseudo_terminal(columns=200) as terminal:
        process = terminal.start([*command, "--speed", "20"], environment)
        try:
            terminal.wait_for("differs at step 2: recorded 0.5, simulated 1.0")
            assert "\x1b[31m" in terminal.output
            terminal.press(b"\x03")
            assert process.wait(PATIENCE_S) == 130
        finally:
            process.kill()
            process.wait(PATIENCE_S)


@pytest.mark.parametrize("algo", ["ppo", "dqn"])
def test_an_evaluation_has_what_the_agent_expected(daemon: DaemonHarness, algo: str) -> None:
    training = {"algo": algo, "env_id": "CartPole-v1", "total_timesteps": 512}
    trained = finished_learner_run(daemon, training)
    (model,) = trained.glob(f"runs/*/{algo}.cleanrl_model")
    extras = {"mode": "policy_eval", "policy_path": str(model), "eval_batch_size": 3}
    evaluated = finished_learner_run(daemon, {"extras": extras}).name
    policy = load_policy(detect_policy(model), spaces.Box(-9, 9, (4,)), spaces.Discrete(2))
    for number in range(3):
        recording = daemon.client.get_recording(evaluated, number)
        assert len(recording.values) == recording.episode.steps
        seen = [step.observation for step in simulate(recording, observations=True)]
        for observation, value in zip(seen[:-1], recording.values, strict=True):
            _, expected = policy.decide(np.array([observation]))
            assert expected is not None
            assert value == pytest.approx(float(expected[0]), abs=1e-5)
    rows = StoredRows(daemon.client._call, daemon.client.get_run(evaluated))
    (played,) = replayed_episodes(daemon.client._call, rows, [2])
    assert isinstance(played, PlayedEpisode) and played.summary is not None
    exported = simulated_steps(played, played.summary)
    assert [step.info for step in exported] == [{"value": value} for value in recording.values]
    assert verify(recording).sentence == "identical"
