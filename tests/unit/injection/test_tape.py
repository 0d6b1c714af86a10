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

from mosaic.contracts.episode_series import pcg64_state
from mosaic.contracts.process_recording import (
    Packed,
    ParsedEpisode,
    Place,
    index_name,
    pack_episodes,
    pack_place,
    parse_episodes,
    parse_numbers,
    process_file_name,
)
from mosaic.contracts.recording_file import HEADER_BYTES
from mosaic.contracts.replay import EpisodeStart
from mosaic.injection.env_watch import EnvWatch
from mosaic.injection.episode_file import EpisodeFile, packed, packed_series
from mosaic.injection.layers import counting_and_recording
from mosaic.injection.made_environment import SPARES, NotRecordableError, creation_settings
from mosaic.injection.replay import make_environment
from mosaic.injection.tape import Recorded, Series, Tape, packed_state, state_memory
from mosaic.telemetry.recordings.episodes import RunRecordings

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
        self.watch.start_episode(False, seed, options)

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
    made = creation_settings(env)
    assert made["env_id"] == "Pendulum-v1"
    assert (made["kwargs"], made["max_episode_steps"]) == ({"g": 9.0}, 50)
    replay = make_environment(made)
    assert type(replay).__name__ == "ScriptReplay"
    replay.close()
    env.close()


def test_the_limit_of_another_library_cuts_off_as_it_did() -> None:
    class PatchedTimeLimit(gymnasium.wrappers.TimeLimit):
        pass

    PatchedTimeLimit.__module__ = "rl_zoo3.gym_patches"
    inner = gymnasium.make("CartPole-v1").unwrapped
    made = creation_settings(PatchedTimeLimit(inner, 9))
    assert made["max_episode_steps"] == 9
    ends = set()
    for seed in range(30):
        replay = make_environment({**made, "kwargs": {}})
        replay.begin(EpisodeStart({"seed": seed}, b"", ()))
        for steps in range(1, 10):
            _, _, terminated, truncated = replay.step(0)
            if terminated or truncated:
                ends.add((steps, terminated, truncated))
                break
        replay.close()
    assert {(9, True, False), (9, False, True)} <= ends, "with its last step, either or the other"
    assert (9, True, True) not in ends
    # Within a limit of Gymnasium's that comes first, that one counts.
    both = gymnasium.wrappers.TimeLimit(PatchedTimeLimit(inner, 9), 5)
    assert creation_settings(both) == {
        name: 5 if name == "max_episode_steps" else value
        for name, value in made.items()
        if name != SPARES
    }


def test_what_cannot_be_made_again_says_why() -> None:
    env = gymnasium.make("Pendulum-v1")
    inner = gymnasium.wrappers.TimeLimit(
        gymnasium.wrappers.RescaleAction(env, np.float32(-1), np.float32(1)), 9
    )
    with pytest.raises(NotRecordableError, match="RescaleAction is between it and the wrapper"):
        creation_settings(inner)
    core = env.unwrapped
    core.spec.kwargs["weights"] = np.zeros(2)  # type: ignore[union-attr]
    with pytest.raises(NotRecordableError, match="not JSON"):
        creation_settings(env)
    core.spec = None
    with pytest.raises(NotRecordableError, match="not made by"):
        creation_settings(env)
    with pytest.raises(NotRecordableError, match="not of Gymnasium"):
        creation_settings(type("Other", (), {"unwrapped": property(lambda self: self)})())


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


def in_a_series(recording: Recording, actions: list[Any], number: int = 0) -> Series:
    """One more episode, numbered as the bridge does it."""
    series: Any = recording.play(actions)
    assert isinstance(series, Series)
    series.numbers.append(number)
    return series


def parsed(series: Series) -> list[ParsedEpisode]:
    return parse_episodes(pack_episodes({}, [packed_series(series.take(), 0)], 1))[1]


def test_short_episodes_in_a_row_are_of_one_series_each_with_its_own_beginning() -> None:
    recording = Recording()
    recording.play([1])  # the first one is looked at more closely, and stands alone
    states = []
    for length in (2, 3, 1):
        recording.core._np_random.integers(5, dtype="uint32")  # half a number may be left
        states.append(recording.core._np_random.bit_generator.state)
        series = in_a_series(recording, list(range(length)), number=10 * length)
    episodes = parsed(series)
    assert [each.facts["number"] for each in episodes] == [20, 30, 10]
    assert [each.facts["start"]["random_state"] for each in episodes] == states
    assert [each.actions for each in episodes] == [b"\0\1", b"\0\1\2", b"\0"]
    assert [each.facts["truncated"] for each in episodes] == [True] * 3
    assert [episode[:2] for episode in recording.ended[1:]] == [(2.0, 2), (3.0, 3), (1.0, 1)]


def test_what_ends_after_a_series_was_taken_is_taken_later_and_then_another_one_begins() -> None:
    recording = Recording()
    recording.play([1])
    series = in_a_series(recording, [1, 2], number=3)
    recording.begin()
    take(recording, 7)
    assert [each.actions for each in parsed(series)] == [b"\1\2"]
    take(recording, 8, is_last=True)
    series.numbers.append(4)
    (late,) = parsed(series)
    assert (late.actions, late.facts["number"]) == (b"\7\x08", 4), "only what is new"
    assert in_a_series(recording, [9]) is not series


@pytest.mark.parametrize("longest", [255, 256, 3000])
def test_episodes_of_a_series_may_be_long(longest: int) -> None:
    recording = Recording()
    recording.play([1])
    for number, length in enumerate((3, longest, 1)):
        series = in_a_series(recording, [number] * length, number)
    assert [each.actions for each in parsed(series)] == [b"\0" * 3, b"\1" * longest, b"\2"]


def test_how_each_episode_of_a_series_ended_is_kept() -> None:
    recording = Recording()
    recording.play([1])
    ways = [(True, False), (np.True_, np.True_), (False, True), (1, 0)]
    for number, (terminated, truncated) in enumerate(ways):
        recording.begin()
        recording.watch.acted(1)
        recording.watch.earned(1.0)
        recording.watch.notice(1.0, terminated, truncated)
        series = recording.ended[-1][4]
        series.numbers.append(number)
    facts = [each.facts for each in parsed(series)]
    ends = [(each["terminated"], each["truncated"]) for each in facts]
    assert ends == [(True, False), (True, True), (False, True), (True, False)]


def test_another_generator_begins_another_series() -> None:
    recording = Recording()
    recording.play([1])
    first = in_a_series(recording, [1])
    recording.core._np_random = np.random.default_rng(77)
    state = recording.core._np_random.bit_generator.state
    second = in_a_series(recording, [2])
    assert second is not first
    (episode,) = parsed(second)
    assert episode.facts["start"]["random_state"] == state


def test_series_of_several_environments_share_a_block(tmp_path: Path) -> None:
    """The starts of all of them lie together."""
    recordings = [Recording(), Recording()]
    states = []
    for recording in recordings:
        recording.play([1])
        states.append(recording.core._np_random.bit_generator.state)
    finished = [in_a_series(each, [5, 6], place).take() for place, each in enumerate(recordings)]
    alone: Any = recordings[0].play([4], seed=3)
    EpisodeFile(str(tmp_path), 1, 10**9, print).write(
        PROCESS, [finished[0], (2, alone), finished[1]]
    )
    (file,) = tmp_path.iterdir()
    common, episodes = parse_episodes(file.read_bytes()[HEADER_BYTES:])
    assert len(common["environments"]) == 1
    assert [each.facts["number"] for each in episodes] == [0, 2, 1]
    assert [each.actions for each in episodes] == [b"\5\6", b"\4", b"\5\6"]
    starts = [each.facts["start"] for each in episodes]
    assert starts == [{"random_state": states[0]}, {"seed": 3}, {"random_state": states[1]}]


def as_before_columns(finished: Any) -> Packed:
    """As it was written until November 2026: lengths and ends in the facts, whole states."""
    facts = {
        "environment": 0,
        "series": {
            "numbers": [[number, 1] for number in finished.numbers],
            "lengths": finished.lengths,
            "ends": [1 * bool(end) for end in finished.terminated],
        },
        "was": "int",
        "dtype": "|u1",
        "shape": [],
    }
    rewards = struct.pack(f"<{len(finished.rewards)}d", *finished.rewards)
    starts = b"".join(packed_state(recorded[1]) for _, recorded in finished.each())
    return Packed(json.dumps(facts), (starts, bytes(finished.actions), rewards))


def test_series_written_before_there_were_columns_are_read() -> None:
    recording = Recording()
    recording.play([1])
    for number in (4, 7):
        series = in_a_series(recording, [number] * number, number)
    finished = series.take()
    before, now = (
        pack_episodes({}, [packed], 1)
        for packed in (as_before_columns(finished), packed_series(finished, 0))
    )
    episodes = parse_episodes(before)[1]
    assert [each.facts.pop("truncated") for each in episodes] == [False, False]
    assert [each.actions for each in episodes] == [b"\4" * 4, b"\7" * 7]
    expected = parse_episodes(now)[1]
    assert [each.facts.pop("truncated") for each in expected] == [True, True]
    assert episodes == expected
    assert parse_numbers(before) == parse_numbers(now) == [4, 7]


@pytest.mark.parametrize("rewards", [[1.0, 1.0, 1.0], [0.0, -0.0, 0.0], [0.5, float("nan"), 2]])
def test_rewards_of_a_series_are_kept_to_the_bit(rewards: list[float]) -> None:
    recording = Recording()
    recording.play([1])
    recording.begin()
    for place, reward in enumerate(rewards):
        recording.next_reward = reward
        take(recording, 1, is_last=place == 2)
    series = recording.ended[-1][4]
    series.numbers.append(0)
    (episode,) = parsed(series)
    assert episode.rewards == struct.pack("<3d", *rewards)


def test_what_does_not_belong_to_an_episode_begins_another_series() -> None:
    recording = Recording()
    recording.play([1])
    first = in_a_series(recording, [1, 1])
    take(recording, 5)  # after the end, without a reset
    second = in_a_series(recording, [2, 2])
    recording.begin()
    take(recording, 5)  # given up by the script
    third = in_a_series(recording, [3, 3])
    third_again = in_a_series(recording, [4], number=1)
    assert len({first, second, third}) == 3
    assert third_again is third
    kept = [[each.actions for each in parsed(series)] for series in (first, second, third)]
    assert kept == [[b"\1\1"], [b"\2\2"], [b"\3\3", b"\4"]]
    assert recording.watch.training_steps == 1 + 2 + 1 + 2 + 1 + 2 + 1


def test_after_a_fork_a_series_has_only_what_ends_there() -> None:
    recording = Recording()
    recording.play([1])
    parents = in_a_series(recording, [1, 1])
    recording.begin()
    take(recording, 2)
    steps = recording.watch.training_steps
    assert recording.watch.tape is not None
    recording.watch.tape.part()
    assert recording.watch.training_steps == steps
    take(recording, 3, is_last=True)
    childs = recording.ended[-1][4]
    childs.numbers.append(0)
    assert [each.actions for each in parsed(childs)] == [b"\2\3"]
    assert [each.actions for each in parsed(parents)] == [b"\1\1"]


def test_one_that_cannot_be_stored_does_not_take_its_series_along(tmp_path: Path) -> None:
    recording = Recording()
    recording.play([1])
    in_a_series(recording, [1, 1], number=1)
    in_a_series(recording, [2**70], number=2)
    series = in_a_series(recording, [3], number=3)
    notes: list[str] = []
    EpisodeFile(str(tmp_path), 1, 10**9, notes.append).write(PROCESS, [series.take()])
    (tmp_path / index_name(1)).write_bytes(pack_place(Place(0, PROCESS, 0, 5)))
    assert RunRecordings(tmp_path).numbers() == [1, 3]
    assert len(notes) == 1


def test_a_series_that_says_what_it_does_not_hold_is_damage() -> None:
    recording = Recording()
    recording.play([1])
    in_a_series(recording, [1, 1], number=1)
    finished = in_a_series(recording, [2], number=2).take()
    for sound in (as_before_columns(finished), packed_series(finished, 0)):
        assert len(parse_episodes(pack_episodes({}, [sound], 1))[1]) == 2
        require_damage_is_seen(sound)


def require_damage_is_seen(sound: Packed) -> None:
    facts = json.loads(sound.facts)
    damage: list[dict[str, Any]] = [
        {"numbers": [[1, 10**15]]},
        {"numbers": [[1, 3], [9, -1]]},
        {"numbers": []},
        {"numbers": [[1, 1]]},
    ]
    if "lengths" in facts["series"]:
        damage += [
            {"lengths": [2, 2]},
            {"lengths": [2, 1, 0]},
            {"lengths": [10**15, 1]},
            {"lengths": "ab"},
            {"ends": [1]},
        ]
    for broken in damage:
        text = json.dumps({**facts, "series": {**facts["series"], **broken}})
        payload = pack_episodes({}, [sound._replace(facts=text)], 1)
        with pytest.raises(ValueError, match=r"."):
            parse_episodes(payload)
    for place, part in enumerate(sound.parts):
        parts = [*sound.parts[:place], part + b"12345", *sound.parts[place + 1 :]]
        with pytest.raises(ValueError, match="series"):
            parse_episodes(pack_episodes({}, [sound._replace(parts=parts)], 1))
    short = pack_episodes({}, [sound._replace(parts=(b"", *sound.parts[1:]))], 1)
    with pytest.raises(ValueError, match="series"):
        parse_episodes(short)


def test_a_block_that_claims_countless_episodes_is_damage() -> None:
    many = Packed('{"series":{"numbers":[[0,1000000]]}}', (b"",) * 10)
    with pytest.raises(ValueError, match="more episodes"):
        parse_numbers(pack_episodes({}, [many] * 5, 1))


@pytest.mark.parametrize("name", ["PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_of_other_generators_the_state_is_asked(name: str) -> None:
    generator = np.random.Generator(getattr(np.random, name)(1))
    assert state_memory(generator) is None


def test_the_state_of_random_numbers_is_read_where_numpy_has_it() -> None:
    generator = np.random.default_rng(3)
    memory = state_memory(generator)
    assert memory is not None, "with this numpy the state has to be asked, at 3 µs an episode"
    for _ in range(5):
        generator.integers(9, size=3, dtype="uint32")
        assert pcg64_state(packed_state(memory.raw)) == generator.bit_generator.state
