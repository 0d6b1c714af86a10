"""What a tape keeps of an episode, and that nothing of it reaches the script."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mosaic.contracts.process_recording import (
    Place,
    index_name,
    pack_place,
    parse_episodes,
    process_file_name,
)
from mosaic.contracts.recording_file import HEADER_BYTES
from mosaic.injection.env_watch import EnvWatch
from mosaic.injection.episode_file import EpisodeFile
from mosaic.injection.layers import counting_and_recording
from mosaic.injection.made_environment import NotRecordableError, how_it_was_made
from mosaic.injection.packing import packed
from mosaic.injection.tape import Recorded, Tape
from mosaic.telemetry.recordings import RunRecordings
from mosaic.watch.replay import make_environment

SETTINGS = {
    "env_id": "CartPole-v1",
    "kwargs": {},
    "max_episode_steps": 500,
    "entry_point": "gymnasium.envs.classic_control.cartpole:CartPoleEnv",
}


class Core:
    """All that a tape asks of an environment."""

    def __init__(self) -> None:
        self._np_random = np.random.default_rng(5)

    @property
    def np_random(self) -> np.random.Generator:
        return self._np_random


class Recording:
    """An environment with a tape, stepped as a layer does it."""

    def __init__(self) -> None:
        self.ended: list[tuple[Any, ...]] = []
        self.lost: list[str] = []
        self.core = Core()
        self.watch = EnvWatch(0, lambda *episode: self.ended.append(episode))
        self.watch.tape = Tape(self.watch, dict(SETTINGS), self.core, self.lost.append)
        self._mosaic_watch = self.watch
        self.next_reward: Any = 1.0

    def begin(self, seed: Any = None, options: Any = None) -> None:
        self.watch.start_episode()
        assert self.watch.tape is not None
        self.watch.tape.begin(seed, options)

    def play(self, actions: list[Any], **begin: Any) -> Recorded | None:
        self.begin(**begin)
        for place, action in enumerate(actions):
            take(self, action, is_last=place == len(actions) - 1)
        recorded: Recorded | None = self.ended[-1][4]
        return recorded


def take(recording: Recording, action: Any, *, is_last: bool = False) -> None:
    step = counting_and_recording(
        lambda self, action: (None, self.next_reward, False, is_last, {}),
        lambda env, error: pytest.fail(f"{error!r}"),
    )
    step(recording, action)


def unpacked(recorded: Recorded | None) -> tuple[dict[str, Any], bytes, bytes]:
    assert recorded is not None
    episode = packed(recorded, 3, 0)
    return json.loads(episode.facts), *episode.parts


@pytest.mark.parametrize(
    ("actions", "was", "dtype", "data"),
    [
        ([1, 0, 255], "int", "|u1", b"\x01\x00\xff"),
        ([np.int64(1), np.int64(2)], "<i8", "|u1", b"\x01\x02"),
        ([-1, 300], "int", "<i8", struct.pack("<qq", -1, 300)),
        ([True, False], "bool", "|u1", b"\x01\x00"),
        ([0.5, -0.25], "float", "<f8", struct.pack("<dd", 0.5, -0.25)),
        ([np.float32(0.1)], "<f4", "<f8", struct.pack("<d", float(np.float32(0.1)))),
    ],
)
def test_numbers(actions: list[Any], was: str, dtype: str, data: bytes) -> None:
    recording = Recording()
    for _ in range(3):  # the first episode looks more closely than the others
        facts, kept, rewards = unpacked(recording.play(actions, seed=1))
        assert (facts["was"], facts["dtype"], kept) == (was, dtype, data)
        assert rewards == struct.pack(f"<{len(actions)}d", *[1.0] * len(actions))
        assert facts["start"] == {"seed": 1}
        assert (facts["number"], facts["terminated"], facts["truncated"]) == (3, False, True)
    assert recording.lost == []


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "bool"])
def test_arrays_are_copied_with_their_type(dtype: str) -> None:
    recording = Recording()
    recording.begin()
    action = np.zeros(3, dtype)
    expected = b""
    for step in range(4):
        action[:] = step  # the script uses one array for all of its actions
        expected += action.tobytes()
        take(recording, action, is_last=step == 3)
    facts, kept, _ = unpacked(recording.ended[-1][4])
    assert (facts["dtype"], facts["shape"], kept) == (action.dtype.str, [3], expected)


def test_arrays_that_are_scattered_in_memory() -> None:
    table = np.arange(6.0).reshape(3, 2)
    facts, kept, _ = unpacked(Recording().play([table[:, 0], table[:, 1]]))
    assert kept == np.array([[0.0, 2, 4], [1, 3, 5]]).tobytes()
    assert facts["shape"] == [3]


def test_dictionaries_tuples_and_texts_are_json() -> None:
    actions = [{"move": np.array([1.5, 2]), "say": "hi"}, (1, np.int64(2), [True, None])]
    facts, kept, _ = unpacked(Recording().play(actions))
    assert facts["actions"] == [{"move": [1.5, 2.0], "say": "hi"}, [1, 2, [True, None]]]
    assert kept == b""


def test_without_a_seed_the_state_of_the_random_numbers_is_kept() -> None:
    recording = Recording()
    expected = recording.core._np_random.bit_generator.state
    facts, _, _ = unpacked(recording.play([1]))
    assert facts["start"] == {"random_state": expected}
    mersenne = recording.core._np_random = np.random.Generator(np.random.MT19937(1))
    state = mersenne.bit_generator.state
    facts, _, _ = unpacked(recording.play([1], options={"low": np.float64(-0.5)}))
    assert facts["start"]["random_state"]["state"]["key"] == state["state"]["key"].tolist()
    assert facts["start"]["options"] == {"low": -0.5}


class Unfriendly:
    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("not me")


@pytest.mark.parametrize(
    ("actions", "reward"),
    [
        ([Unfriendly(), 1], 1.0),
        ([1, 1], np.ones(1)),
    ],
)
def test_what_cannot_be_recorded_is_said_and_counted_all_the_same(
    actions: list[Any], reward: Any
) -> None:
    recording = Recording()
    recording.next_reward = reward
    assert recording.play(actions) is None
    assert [episode[:3] for episode in recording.ended] == [(2.0, 2, 0)]
    assert len(recording.lost) == 1
    assert recording.lost[0].startswith("an episode of CartPole-v1 cannot be replayed: ")
    recording.next_reward = 1.0
    assert recording.play([1, 0]) is not None, "the next one is recorded again"


def test_actions_of_several_kinds_are_refused() -> None:
    mixed = Recording().play([np.zeros(2, "float32"), np.zeros(2, "float64")])
    with pytest.raises(ValueError, match="several kinds"):
        unpacked(mixed)
    recording = Recording()
    recording.play([1, 1])
    assert recording.play([np.zeros(2), np.zeros(2)]) is None
    assert "several kinds" in recording.lost[0]


def test_an_abandoned_episode_and_a_step_that_raises_are_not_recorded() -> None:
    recording = Recording()
    recording.begin()
    take(recording, 1)
    _, kept, _ = unpacked(recording.play([0, 0]))
    assert kept == b"\0\0"

    def failing(self: Any, action: Any) -> Any:
        raise KeyError("its own")

    recording.begin()
    with pytest.raises(KeyError):
        counting_and_recording(failing, lambda env, error: None)(recording, 1)
    take(recording, 1, is_last=True)
    assert recording.ended[-1][4] is None
    assert "a step raised an error" in recording.lost[0]


def test_how_an_environment_was_made() -> None:
    env = gymnasium.make("Pendulum-v1", g=9.0, max_episode_steps=50, render_mode="rgb_array")
    made = how_it_was_made(env)
    assert made["env_id"] == "Pendulum-v1"
    assert (made["kwargs"], made["max_episode_steps"]) == ({"g": 9.0}, 50)
    replay = make_environment(made)
    assert type(replay).__name__ == "ScriptReplay"
    replay.close()
    env.close()


def test_what_cannot_be_made_again_says_why() -> None:
    env = gymnasium.make("Pendulum-v1")
    inner = gymnasium.wrappers.TimeLimit(
        gymnasium.wrappers.RescaleAction(env, np.float32(-1), np.float32(1)), 9
    )
    with pytest.raises(NotRecordableError, match="RescaleAction is between it and the wrapper"):
        how_it_was_made(inner)
    core = env.unwrapped
    core.spec.kwargs["weights"] = np.zeros(2)  # type: ignore[union-attr]
    with pytest.raises(NotRecordableError, match="not JSON"):
        how_it_was_made(env)
    core.spec = None
    with pytest.raises(NotRecordableError, match="not made by"):
        how_it_was_made(env)
    with pytest.raises(NotRecordableError, match="not of Gymnasium"):
        how_it_was_made(type("Other", (), {"unwrapped": property(lambda self: self)})())


def some_episodes(count: int) -> list[Recorded]:
    recording = Recording()
    episodes = [recording.play([number % 2] * 5, seed=number) for number in range(count)]
    return [episode for episode in episodes if episode is not None]


PROCESS = 1_700_000_000_000_000


def written(folder: Path, episodes: list[Recorded]) -> None:
    file = EpisodeFile(str(folder), 1, 10**9, pytest.fail)
    for first in range(0, len(episodes), 4):
        file.write(PROCESS, list(enumerate(episodes[first : first + 4], first)))
    (folder / index_name(1)).write_bytes(
        pack_place(Place(100, PROCESS, 0, len(episodes))) + b"cut off"
    )


def test_what_is_written_is_found_by_its_number_in_the_run(tmp_path: Path) -> None:
    written(tmp_path, some_episodes(12))
    recordings = RunRecordings(tmp_path)
    assert recordings.numbers() == list(range(100, 112))
    found = recordings.read(107)
    assert found is not None
    assert (found.start, found.settings) == ({"seed": 7, "was": "int"}, SETTINGS)
    assert (found.actions, found.rewards) == (b"\1" * 5, (1.0,) * 5)
    assert recordings.read(112) is None
    assert recordings.read(107, attempt=2) is None


def test_a_file_that_is_cut_off_or_damaged_loses_only_that(tmp_path: Path) -> None:
    written(tmp_path, some_episodes(12))
    path = tmp_path / process_file_name(1, PROCESS)
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    assert RunRecordings(tmp_path).numbers() == list(range(100, 108))
    damaged = bytearray(whole)
    damaged[HEADER_BYTES + 20] ^= 1
    path.write_bytes(damaged)
    recordings = RunRecordings(tmp_path)
    assert recordings.numbers() == list(range(104, 112))
    assert recordings.read(111) is not None


def test_recording_ends_at_its_limit_and_when_the_disk_refuses(tmp_path: Path) -> None:
    notes: list[str] = []
    file = EpisodeFile(str(tmp_path), 1, 1500, notes.append)
    for number, episode in enumerate(some_episodes(20)):
        file.write(PROCESS, [(number, episode)])
    assert len(notes) == 1
    assert "limit" in notes[0]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 1700
    gone = EpisodeFile(str(tmp_path / "gone"), 1, 10**9, notes.append)
    gone.write(PROCESS, list(enumerate(some_episodes(1))))
    assert "No such file or directory" in notes[-1]


def test_no_episodes_are_not_read_as_some() -> None:
    with pytest.raises(ValueError, match="cannot be unpacked"):
        parse_episodes(b"garbage")
    for head in (b"[]", b"{}", b'{"episodes": [1], "sizes": [[0, 0]]}', b"[" * 9000):
        with pytest.raises(ValueError, match=r"."):
            parse_episodes(zlib.compress(len(head).to_bytes(4, "little") + head))
