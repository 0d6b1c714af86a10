"""Acting and learning: every way of doing it comes to the same, bit for bit, also after a stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from spade_bdi_rl_worker.learning import kernels, runtime
from spade_bdi_rl_worker.learning.checkpoint import load_tables, save_tables
from spade_bdi_rl_worker.learning.compiling import IS_COMPILED, plain_versions
from spade_bdi_rl_worker.learning.errors import SettingsError, TablesError
from spade_bdi_rl_worker.learning.pursuits import Outcome, Pursuit, Step
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.learning.settings import ALGORITHMS, LearningSettings
from spade_bdi_rl_worker.learning.world import World

GOAL = 15


def learner(
    algorithm: Any = "q_learning",
    env_id: str = "FrozenLake-v1",
    *,
    seed: int = 3,
    use_table: bool = True,
    env_kwargs: Any = None,
    **settings: Any,
) -> QLearningRuntime:
    values = {"epsilon": 1.0, "final_epsilon": 0.1, "anneal_episodes": 60, **settings}
    return QLearningRuntime(
        World.make(env_id, env_kwargs),
        LearningSettings(algorithm=algorithm, **values),
        seed,
        use_table=use_table,
    )


def assert_same(first: Any, second: Any) -> None:
    """Every array, number and text of two states."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_same(first[key], second[key])
    elif isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        assert_array_equal(first, second)
    else:
        assert first == second


def assert_same_outcome(first: Outcome, second: Outcome) -> None:
    assert_array_equal(first.returns, second.returns)
    assert_array_equal(first.lengths, second.lengths)
    assert_array_equal(first.terminated, second.terminated)
    assert_array_equal(first.truncated, second.truncated)
    assert_array_equal(first.reached, second.reached)
    assert (first.steps, first.td_error) == (second.steps, second.td_error)


def state_of(learner: QLearningRuntime) -> dict[str, Any]:
    """Without what only recording leaves."""
    state = learner.state_dict()
    state["sums"][kernels.RANGE] = 0.0
    return state


def after_one_slice() -> Callable[[], bool]:
    answers: Iterable[bool] = (False, True)
    return iter(answers).__next__


PURSUITS = (
    Pursuit(episodes=40),
    Pursuit("subgoal", target=6, episodes=30),
    Pursuit("exploit", episodes=10),
    Pursuit("subgoal", target=6, episodes=10, epsilon=0.2),
    Pursuit("explore", episodes=20, epsilon=0.5),
    Pursuit("exploit", episodes=5, learns=False),
)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("env_id", "env_kwargs"),
    [
        ("FrozenLake-v1", None),
        ("FrozenLake8x8-v1", None),
        ("FrozenLake-v1", {"is_slippery": False}),
        ("CliffWalking-v1", {"max_episode_steps": 40}),
        ("Taxi-v4", None),
    ],
)
def test_the_table_and_the_environments_own_steps_come_to_the_same(
    algorithm: str, env_id: str, env_kwargs: Any
) -> None:
    by_table = learner(algorithm, env_id, env_kwargs=env_kwargs, half_visits=20)
    by_steps = learner(algorithm, env_id, env_kwargs=env_kwargs, half_visits=20, use_table=False)
    for pursuit in PURSUITS:
        assert_same_outcome(by_table.pursue(pursuit), by_steps.pursue(pursuit))
    assert_same(by_table.state_dict(), by_steps.state_dict())


@pytest.mark.skipif(not IS_COMPILED, reason="there is no numba")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_compiled_and_plain_kernels_come_to_the_same(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = learner(algorithm)
    outcomes = [compiled.pursue(pursuit) for pursuit in PURSUITS]
    monkeypatch.setattr(runtime, "kernels", plain_versions(kernels))
    plain = learner(algorithm)
    for pursuit, outcome in zip(PURSUITS, outcomes, strict=True):
        assert_same_outcome(plain.pursue(pursuit), outcome)
    assert_same(plain.state_dict(), compiled.state_dict())


def test_plain_versions_call_plain_versions() -> None:
    plain = plain_versions(kernels)
    assert plain.decide.__globals__["choose"] is plain.choose
    assert not hasattr(plain.choose, "py_func")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("use_table", [True, False])
def test_reporting_every_step_changes_nothing(algorithm: str, use_table: bool) -> None:
    silent = learner(algorithm)
    told = learner(algorithm, use_table=use_table)
    steps: list[Step] = []
    for pursuit in PURSUITS:
        assert_same_outcome(told.pursue(pursuit, on_step=steps.append), silent.pursue(pursuit))
    assert_same(state_of(told), state_of(silent))
    assert len(steps) == told.steps


def test_steps_say_what_happened() -> None:
    learning = learner(env_kwargs={"is_slippery": False})
    steps: list[Step] = []
    outcome = learning.pursue(Pursuit(episodes=30), on_step=steps.append)
    assert [step.episode for step in steps if step.terminated or step.truncated] == list(range(30))
    for before, after in pairwise(steps):
        if before.episode == after.episode:
            assert (before.next_state, before.index + 1) == (after.state, after.index)
        else:
            assert (after.state, after.index) == (0, 0)
    by_episode = [sum(s.reward for s in steps if s.episode == n) for n in range(30)]
    assert by_episode == outcome.returns.tolist()
    assert all(len(step.q_values) == 4 and 0.0 <= step.confidence <= 1.0 for step in steps)
    assert all(type(step.reward) is float and type(step.state) is int for step in steps)


def test_both_ways_report_the_same_steps() -> None:
    told: list[list[Step]] = [[], []]
    for number, use_table in enumerate((True, False)):
        learning = learner(use_table=use_table)
        for pursuit in PURSUITS:
            learning.pursue(pursuit, on_step=told[number].append)
    assert told[0] == told[1]


def test_the_step_before_learning_is_what_the_choice_was_made_by() -> None:
    learning = learner(epsilon=0.0, final_epsilon=0.0)
    for step in steps_of(learning, Pursuit(episodes=50)):
        assert step.q_values[step.action] == max(step.q_values)


def steps_of(learning: QLearningRuntime, pursuit: Pursuit) -> list[Step]:
    steps: list[Step] = []
    learning.pursue(pursuit, on_step=steps.append)
    return steps


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("use_table", [True, False])
def test_stopping_anywhere_and_going_on_changes_nothing(algorithm: str, use_table: bool) -> None:
    whole, often = learner(algorithm), learner(algorithm, use_table=use_table)
    expected = whole.pursue(Pursuit("subgoal", target=6, episodes=60))
    stops = np.random.default_rng(0)
    done: list[float] = []
    while len(done) < 60:
        often._slice = int(stops.integers(1, 7))  # steps
        outcome = often.pursue(
            Pursuit("subgoal", target=6, episodes=60 - len(done)), should_stop=after_one_slice()
        )
        done += outcome.returns.tolist()
    assert done == expected.returns.tolist()
    first, second = whole.state_dict(), often.state_dict()
    for state in (first, second):  # sums of errors are those of the last pursuit
        state["sums"][kernels.ERROR_SUM :] = 0.0
    assert_same(first, second)


WORLDS = [
    ("FrozenLake-v1", None),
    ("Taxi-v4", None),
    ("Blackjack-v1", None),
    ("CartPole-v1", None),
    ("MountainCar-v0", None),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("env_id", "env_kwargs"), WORLDS)
def test_a_run_that_was_saved_in_the_middle_of_an_episode_goes_on_exactly(
    algorithm: str, env_id: str, env_kwargs: Any, tmp_path: Any
) -> None:
    whole, first = (learner(algorithm, env_id, env_kwargs=env_kwargs) for _ in range(2))
    few = Pursuit("subgoal", target=3, episodes=4)
    for each in (whole, first):
        each.pursue(few)
        each._slice = 5
    if first.world.table is not None:
        first.pursue(Pursuit(episodes=9), should_stop=after_one_slice())
        assert first.state is not None
    save_tables(tmp_path, first.state_dict())
    second = learner(algorithm, env_id, env_kwargs=env_kwargs, seed=99)
    second.pursue(Pursuit(episodes=2))
    assert second.load_state_dict(load_tables(tmp_path).state)
    assert_same(second.state_dict(), first.state_dict())
    left = 9 - (first.episodes - 4)
    for learning, episodes in ((whole, 9), (second, left)):
        learning.pursue(Pursuit(episodes=episodes))
        learning.pursue(few)
    assert_same(state_of(second), state_of(whole))


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Blackjack-v1", "MiniGrid-Empty-5x5-v0"])
def test_an_episode_of_an_environment_without_a_table_is_played_again(
    env_id: str, tmp_path: Any
) -> None:
    if env_id.startswith("MiniGrid"):
        pytest.importorskip("minigrid")
    whole, first = (learner("sarsa", env_id) for _ in range(2))

    def stop_soon() -> bool:
        return first.state is not None and first.steps > 12

    # A slice that is so short that it ends within an episode.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "SLICE_S", 1e-9)
        patch.setattr(time, "perf_counter", counting())
        first.pursue(Pursuit(episodes=30), should_stop=stop_soon)
    assert first.state is not None
    save_tables(tmp_path, first.state_dict())
    second = learner("sarsa", env_id, seed=50)
    assert second.load_state_dict(load_tables(tmp_path).state)
    whole.pursue(Pursuit(episodes=30))
    second.pursue(Pursuit(episodes=30 - first.episodes))
    one, other = state_of(whole), state_of(second)
    for state in (one, other):
        state["sums"][kernels.ERROR_SUM :] = 0.0
    assert_same(one, other)


def counting() -> Callable[[], float]:
    """A clock by which every look at it takes a moment: a slice has one step."""

    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.6e-9
        return now

    return clock


def test_a_world_that_grows_learns_and_comes_back(tmp_path: Any) -> None:
    pytest.importorskip("minigrid")
    first = learner(env_id="MiniGrid-Empty-5x5-v0")
    first._room = 4  # so that it has to grow
    first._main = first._empty(0.0)
    outcome = first.pursue(Pursuit(episodes=20))
    assert first.world.n_states > 20
    assert outcome.returns.max() > 0
    assert first.visits().sum() == first.steps
    save_tables(tmp_path, first.state_dict())
    second = learner(env_id="MiniGrid-Empty-5x5-v0")
    assert second.load_state_dict(load_tables(tmp_path).state)
    assert second.world.n_states == first.world.n_states
    assert second.world.state_name(3) == first.world.state_name(3)
    for each in (first, second):
        each.pursue(Pursuit(episodes=10))
    assert_same(first.state_dict(), second.state_dict())


# Subgoals


def test_a_subgoal_is_learnt_by_a_table_of_its_own() -> None:
    learning = learner(
        env_kwargs={"is_slippery": False}, anneal_episodes=200, final_learning_rate=0.1
    )
    learning.pursue(Pursuit("subgoal", target=10, episodes=400))
    assert learning.subgoals == (10,)
    outcome = learning.pursue(Pursuit("subgoal", target=10, episodes=20, epsilon=0.0))
    assert outcome.reached.all()
    path = [0]
    while path[-1] != 10:
        action = learning.greedy(path[-1], target=10)
        assert learning.world.table is not None
        path.append(int(learning.world.table.next_states[path[-1], action, 0]))
        assert len(path) < 6
    # The discount of subgoals: four steps from the start, and 1 for arriving.
    assert learning.value_map(target=10)[0] == pytest.approx(0.95**3, abs=0.01)
    assert learning.q_values(10, target=10).tolist() == [0, 0, 0, 0]


def test_behind_the_subgoal_the_main_table_decides() -> None:
    learning = learner(env_kwargs={"is_slippery": False})
    for step in steps_of(learning, Pursuit("subgoal", target=4, episodes=50)):
        assert step.by_subgoal or step.episode >= 0
    steps = steps_of(learning, Pursuit("subgoal", target=4, episodes=50))
    by_episode: dict[int, list[Step]] = {}
    for step in steps:
        by_episode.setdefault(step.episode, []).append(step)
    for episode in by_episode.values():
        states = [step.state for step in episode]
        arrival = states.index(4) if 4 in states else len(states)
        assert [step.by_subgoal for step in episode] == [
            index < arrival for index in range(len(episode))
        ]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_subgoals_steps_teach_the_main_table_where_the_algorithm_can(algorithm: str) -> None:
    learning = learner(algorithm)
    learning.pursue(Pursuit("subgoal", target=5, episodes=50))  # a hole: the episode ends there
    assert (learning.visits().sum() > 0) == (algorithm != "sarsa")
    assert learning.visits(5).sum() == learning.steps


def test_a_goal_that_is_changed_in_the_middle_of_an_episode_is_followed_at_once() -> None:
    learning = learner(env_id="FrozenLake8x8-v1")
    learning._slice = 3
    learning.pursue(Pursuit(episodes=5), should_stop=after_one_slice())
    assert learning.state is not None
    steps = steps_of(learning, Pursuit("subgoal", target=63, episodes=1))
    assert steps[0].by_subgoal
    assert steps[0].index > 0


def test_a_subgoal_that_is_no_state_is_refused() -> None:
    with pytest.raises(SettingsError, match="the world has 16"):
        learner().pursue(Pursuit("subgoal", target=16))
    with pytest.raises(SettingsError, match="no table of the subgoal 3"):
        learner().q_values(0, target=3)
    with pytest.raises(SettingsError, match="'state' is 16"):
        learner().q_values(16)


# Stopping


@pytest.mark.parametrize("use_table", [True, False])
def test_whoever_wants_it_to_stop_is_asked_often(use_table: bool) -> None:
    learning = learner(env_id="FrozenLake8x8-v1", use_table=use_table)
    learning.prepare()
    asked: list[float] = []

    def should_stop() -> bool:
        asked.append(time.perf_counter())
        return len(asked) > 20

    outcome = learning.pursue(Pursuit(episodes=10**9), should_stop=should_stop)
    assert outcome.was_stopped
    gaps = np.diff(asked)
    assert np.median(gaps) < 0.05  # the machine may have been busy during some


def test_an_outcome_counts_what_ended() -> None:
    learning = learner()
    outcome = learning.pursue(Pursuit(episodes=25))
    assert outcome.episodes == learning.episodes == 25
    assert outcome.steps == learning.steps == outcome.lengths.sum()
    assert not outcome.was_stopped
    assert (outcome.terminated | outcome.truncated).all()


def test_acting_without_learning_leaves_tables_and_schedules() -> None:
    learning = learner()
    learning.pursue(Pursuit(episodes=10))
    before, epsilon = learning.q_table(), learning.epsilon
    learning.pursue(Pursuit("exploit", episodes=20, learns=False))
    assert_array_equal(learning.q_table(), before)
    assert learning.epsilon == epsilon
    assert learning.episodes == 30


def test_schedules_go_from_the_first_to_the_final_value() -> None:
    learning = learner(learning_rate=0.5, final_learning_rate=0.1, anneal_episodes=10)
    seen = []
    for _ in range(12):
        seen.append((learning.epsilon, learning.learning_rate))
        learning.pursue(Pursuit())
    assert seen[0] == (1.0, 0.5)
    assert seen[5] == pytest.approx((0.55, 0.3))
    assert seen[10] == seen[11] == pytest.approx((0.1, 0.1))


# Confidence


def test_nothing_known_is_no_confidence() -> None:
    assert learner().confidence_map().tolist() == [0.0] * 16


def test_confidence_rises_towards_one_with_experience() -> None:
    learning = learner(
        env_kwargs={"is_slippery": False}, learning_rate=0.5, final_learning_rate=0.5,
        anneal_episodes=3000, final_epsilon=0.3,
    )  # fmt: skip
    means = []
    for episodes in (20, 400, 4000):
        learning.pursue(Pursuit(episodes=episodes))
        means.append(learning.confidence_map()[[0, 1, 4]].mean())
    assert means[0] < means[1] < means[2]
    assert means[2] > 0.95
    assert learning.confidence(GOAL) == 0.0  # nobody ever acts there


def test_chance_leaves_doubt_between_actions_that_are_nearly_equal() -> None:
    learning = learner(anneal_episodes=2000, learning_rate=0.2, final_learning_rate=0.2)
    learning.pursue(Pursuit(episodes=4000))
    noisy = learning.confidence_map()[[0, 4, 8, 9, 13, 14]].mean()
    calm = learner(anneal_episodes=2000, learning_rate=0.2, final_learning_rate=0.002)
    calm.pursue(Pursuit(episodes=20_000 if IS_COMPILED else 4000))
    assert calm.confidence_map()[[0, 4, 8, 9, 13, 14]].mean() > noisy


def test_an_action_that_was_never_tried_leaves_no_confidence() -> None:
    learning = learner()
    learning.pursue(Pursuit(episodes=2000))
    assert learning.confidence(0) > 0.0
    learning._main.visits[0, 2] = 0
    assert learning.confidence(0) == 0.0


# State of others


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "said"),
    [
        ("FrozenLake8x8-v1", None, "have 16 states, FrozenLake8x8-v1 has 64"),
        ("FrozenLake-v1", {"desc": ["SFFF", "FFFG"]}, "have 16 states, FrozenLake-v1 has 8"),
        ("Taxi-v4", None, "have 16 states, Taxi-v4 has 500"),
    ],
)
@pytest.mark.parametrize("warm", [False, True])
def test_tables_of_another_size_are_refused(
    env_id: str, env_kwargs: Any, said: str, warm: bool
) -> None:
    saved = learner().state_dict()
    other = learner(env_id=env_id, env_kwargs=env_kwargs)
    with pytest.raises(TablesError, match=said):
        (other.warm_start if warm else other.load_state_dict)(saved)


def test_a_warm_start_takes_values_and_nothing_else() -> None:
    first = learner("double_q")
    first.pursue(Pursuit("subgoal", target=6, episodes=200))
    for algorithm in ALGORITHMS:
        second = learner(algorithm, env_kwargs={"is_slippery": False})
        second.warm_start(first.state_dict())
        assert_array_equal(second.q_table(), first.q_table())
        assert_array_equal(second.q_table(6), first.q_table(6))
        assert second.episodes == 0
        assert second.visits().sum() == 0
        second.pursue(Pursuit(episodes=5))


def test_another_algorithms_tables_can_begin_a_run_but_not_go_on() -> None:
    with pytest.raises(TablesError, match="learnt by sarsa, not q_learning"):
        learner().load_state_dict(learner("sarsa").state_dict())


def broken_states() -> Any:
    def nan(state: Any) -> None:
        state["main"]["values"][0, 0] = float("nan")

    def far(state: Any) -> None:
        state["place"][kernels.STATE] = 10**6

    def action(state: Any) -> None:
        state["place"][kernels.NEXT_ACTION] = 77

    def subgoal(state: Any) -> None:
        state["place"][kernels.FOLLOWING] = 1
        state["place"][kernels.TARGET] = 3

    def shape(state: Any) -> None:
        state["main"]["visits"] = state["main"]["visits"][:, :2]

    def kind(state: Any) -> None:
        state["main"]["values"] = state["main"]["values"].astype(np.float32)

    def random(state: Any) -> None:
        state["random"] = np.random.MT19937(0).state

    def environment(state: Any) -> None:
        state["world"]["random"] = {}

    def missing(state: Any) -> None:
        del state["sums"]

    def traces(state: Any) -> None:
        state["main"]["counts"][kernels.TRACES] = 10**9

    def version(state: Any) -> None:
        state["version"] = 2

    return [nan, far, action, subgoal, shape, kind, random, environment, missing, traces, version]


@pytest.mark.parametrize("breaking", broken_states(), ids=lambda function: function.__name__)
def test_a_state_that_cannot_be_is_refused_and_changes_nothing(breaking: Any) -> None:
    saved = learner("q_lambda").state_dict()
    breaking(saved)
    learning = learner("q_lambda")
    learning.pursue(Pursuit(episodes=3))
    before = learning.state_dict()
    with pytest.raises(TablesError):
        learning.load_state_dict(saved)
    assert_same(learning.state_dict(), before)


def test_the_environments_own_draws_are_those_of_gymnasium() -> None:
    """An agent that acts at random, beside a plain loop over the same environment."""
    learning = learner(epsilon=1.0, final_epsilon=1.0, seed=11)
    steps = steps_of(learning, Pursuit(episodes=50))
    env = gymnasium.make("FrozenLake-v1")
    env.reset(seed=11)
    state, _ = env.reset()
    for step in steps:
        assert step.state == state
        state, reward, terminated, truncated, _ = env.step(step.action)
        assert (step.next_state, step.reward, step.terminated, step.truncated) == (
            state,
            reward,
            terminated,
            truncated,
        )
        if terminated or truncated:
            state, _ = env.reset()
