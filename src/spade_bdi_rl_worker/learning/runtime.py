"""QLearningRuntime: acts in a world and learns tables of values, as a plan tells it to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spade_bdi_rl_worker.learning import kernels
from spade_bdi_rl_worker.learning.compiling import plain_versions
from spade_bdi_rl_worker.learning.errors import SettingsError, TablesError
from spade_bdi_rl_worker.learning.kernels import Aim, Floats, Integers, Table
from spade_bdi_rl_worker.learning.pursuits import Outcome, Pursuit, Step, Steps
from spade_bdi_rl_worker.learning.settings import LearningSettings, require_count
from spade_bdi_rl_worker.learning.tables import (
    empty_table,
    grown,
    rules_of,
    table_from,
    used_part,
)
from spade_bdi_rl_worker.learning.world import World

# Of work, until somebody who wants it to stop is asked; on a busy machine it takes a few times as
# long.
SLICE_S = 0.01
STATE_VERSION = 1
_FIRST_SLICE = 500  # steps; later ones go by how long these took
_MOST_STEPS = 250_000
_RECORDED_STEPS = 4096  # handed on at once
_MOST_EPISODES = 100_000  # of a slice
_MOST_DRAWS = 3
_FIRST_ROOM = 256  # states, in a world whose states are numbered as they are met

# For steps that are the environment's own, one at a time.
_PLAIN = plain_versions(kernels)

OnSteps = Callable[[Steps], None]


def _never() -> bool:
    return False


class QLearningRuntime:
    """The tables, the generators of random numbers, and where in an episode it is.

    Not for several threads at once. While compiled loops run, other threads can.
    """

    def __init__(
        self, world: World, settings: LearningSettings, seed: int, *, use_table: bool = True
    ) -> None:
        """Without `use_table` every step is the environment's own; it comes to the same."""
        require_count("seed", seed, 0, 2**63)
        self.world, self.settings, self.seed = world, settings, seed
        self._rules = rules_of(settings)
        self._moves = world.table.moves if use_table and world.table is not None else None
        self._room = _FIRST_ROOM if world.grows else world.n_states
        self._main = self._empty(settings.initial_value)
        self._options: dict[int, Table] = {}
        # For pursuits without a subgoal, which touch no second table.
        self._no_option = empty_table(self._rules, 1, 1)
        self._place = np.zeros(kernels.PLACES, dtype=np.int64)
        self._place[kernels.TARGET] = -1
        self._sums = np.zeros(kernels.SUMS)
        self._numbers = np.zeros(_MOST_DRAWS)
        self._random = np.random.Generator(np.random.PCG64([seed, 1]))
        self._slice = _FIRST_SLICE
        world.seed(seed)

    # Acting

    def pursue(
        self,
        pursuit: Pursuit,
        *,
        on_step: Callable[[Step], None] | None = None,
        on_steps: OnSteps | None = None,
        should_stop: Callable[[], bool] = _never,
    ) -> Outcome:
        """Play up to `pursuit.episodes` episodes; one that is under way is the first of them.

        `on_step` gets every step, `on_steps` the same as arrays of many, at least once per slice.
        `should_stop` is asked between slices of about SLICE_S seconds.
        """
        aim = self._redirect(pursuit)
        option = self._no_option if aim.target < 0 else self._options[aim.target]
        given = on_steps
        if given is None and on_step is not None:
            given = _one_by_one(on_step)
        first_steps = int(self._place[kernels.STEPS])
        self._sums[kernels.ERROR_SUM] = self._sums[kernels.ERRORS] = 0.0
        if given is not None:
            kernels.note_range(self._main, option, self._rules, self._place, self._sums)
        play = self._play_by_steps if self._moves is None else self._play_by_table
        returns: list[Floats] = []
        endings: list[Integers] = []
        left, was_stopped = pursuit.episodes, False
        while left > 0:
            was_stopped = should_stop()
            if was_stopped:
                break
            done, ended = play(aim, option, min(left, _MOST_EPISODES), given)
            if aim.target >= 0:  # it may have grown
                option = self._options[aim.target]
            returns.append(done)
            endings.append(ended)
            left -= len(done)
        if self._moves is not None:
            self.world.place(int(self._place[kernels.STATE]), int(self._place[kernels.ELAPSED]))
        return self._outcome(returns, endings, first_steps, was_stopped)

    def prepare(self) -> float:
        """Compile what `pursue` will run, if it is to be; returns the seconds it took."""
        started = time.perf_counter()
        if self._moves is not None:
            aim = Aim(-1, -1.0, 1)
            self._call_play(aim, self._no_option, np.empty(0), np.empty((0, 2), np.int64), 0, 0)
        kernels.note_range(
            self._main, self._no_option, self._rules, self._place, np.zeros(kernels.SUMS)
        )
        self.confidence(0) if self.world.n_states else None
        return time.perf_counter() - started

    def _redirect(self, pursuit: Pursuit) -> Aim:
        aim, place = pursuit.aim, self._place
        if aim.target >= 0:
            if aim.target >= self.world.n_states:
                raise SettingsError(
                    f"'target' is the state {aim.target}; the world has {self.world.n_states}",
                    hint="choose one of its states",
                    field="target",
                )
            if aim.target not in self._options:
                self._options[aim.target] = self._empty(0.0)
        if aim.target != place[kernels.TARGET]:
            place[kernels.TARGET] = aim.target
            if place[kernels.IN_EPISODE]:
                is_there = place[kernels.STATE] == aim.target
                place[kernels.REACHED] = int(is_there)
                place[kernels.FOLLOWING] = int(aim.target >= 0 and not is_there)
                for table in (self._main, *self._options.values()):
                    kernels.clear_traces(table)
        return aim

    def _play_by_table(
        self, aim: Aim, option: Table, most_episodes: int, given: OnSteps | None
    ) -> tuple[Floats, Integers]:
        """One slice of the loop over the transition table."""
        steps = min(self._slice, _RECORDED_STEPS) if given is not None else self._slice
        returns = np.empty(min(most_episodes, steps))
        endings = np.empty((len(returns), 2), dtype=np.int64)
        started = time.perf_counter()
        played, ended, integers, reals = self._call_play(
            aim, option, returns, endings, steps, steps if given is not None else 0
        )
        self._adapt(played, time.perf_counter() - started)
        if given is not None:
            given(Steps(integers[:played], reals[:played]))
        return returns[:ended], endings[:ended]

    def _call_play(
        self, aim: Aim, option: Table, returns: Floats, endings: Integers, steps: int, records: int
    ) -> tuple[int, int, Integers, Floats]:
        integers, reals = self._records(records)
        moves = self._moves
        assert moves is not None
        ours, theirs = self._random, self.world.random
        draws = self._rules.draws
        ours_before, theirs_before = ours.bit_generator.state, theirs.bit_generator.state
        numbers = np.zeros(draws * steps + _MOST_DRAWS)  # a step may look at more than it draws
        ours.random(out=numbers[: draws * steps])
        played, ended, used = kernels.play(
            moves, self._main, option, self._rules, aim, self._place, self._sums,
            theirs.random(2 * steps), numbers, returns, endings,
            integers, reals, steps,
        )  # fmt: skip
        # As if only these had been drawn.
        for random, before, count in (
            (ours, ours_before, played * draws),
            (theirs, theirs_before, used),
        ):
            random.bit_generator.state = before
            random.bit_generator.advance(count)  # type: ignore[attr-defined]
        return played, ended, integers, reals

    def _adapt(self, steps: int, seconds: float) -> None:
        """The next slice takes about SLICE_S. Slices change nothing of what is learnt."""
        if steps == self._slice:
            factor = min(4.0, max(0.1, SLICE_S / max(seconds, 1e-6)))
            self._slice = int(min(_MOST_STEPS, max(100, self._slice * factor)))

    def _play_by_steps(
        self, aim: Aim, option: Table, most_episodes: int, given: OnSteps | None
    ) -> tuple[Floats, Integers]:
        """The same with the environment's own steps; for SLICE_S."""
        world, rules, place, sums = self.world, self._rules, self._place, self._sums
        begin, decide, absorb = _PLAIN.begin, _PLAIN.decide, _PLAIN.absorb
        draws, numbers = rules.draws, self._numbers
        integers, reals = self._records(0 if given is None else _RECORDED_STEPS)
        returns: list[float] = []
        endings: list[tuple[int, int]] = []
        step, until = 0, time.perf_counter() + SLICE_S
        while len(returns) < most_episodes and time.perf_counter() < until:
            if not place[kernels.IN_EPISODE]:
                state = world.reset()
                option = self._with_room(aim)
                begin(self._main, option, aim, place, sums, state)
                if given is not None:
                    kernels.note_range(self._main, option, rules, place, sums)
            numbers[:draws] = self._random.random(draws)
            main = self._main
            action = int(decide(main, option, rules, aim, place, float(numbers[0])))
            if given is not None:
                _PLAIN.note_step(
                    main, option, rules, place, sums, action, integers[step], reals[step]
                )
            outcome = world.step(action)
            reward, next_state, terminated, truncated = outcome
            flags = kernels.TERMINATED * terminated + kernels.TRUNCATED * truncated
            if world.grows and next_state >= self._room:
                option = self._with_room(aim)
                main = self._main
            if given is not None:
                reals[step, kernels.R_REWARD] = reward
                integers[step, kernels.R_NEXT_STATE] = next_state
                integers[step, kernels.R_FLAGS] += flags
                step += 1
            if absorb(main, option, rules, aim, place, sums, action, outcome, numbers):
                has_reached = kernels.HAS_REACHED if place[kernels.REACHED] else 0
                returns.append(float(sums[kernels.RETURN]))
                endings.append((int(place[kernels.ELAPSED]), flags + has_reached))
            if step == _RECORDED_STEPS:
                break
        if given is not None and step:
            given(Steps(integers[:step], reals[:step]))
        return np.array(returns), np.array(endings, dtype=np.int64).reshape(-1, 2)

    def _records(self, count: int) -> tuple[Integers, Floats]:
        integers = np.zeros((count, kernels.RECORDED_INTEGERS), dtype=np.int64)
        return integers, np.zeros((count, kernels.R_VALUES + self.world.n_actions))

    def _outcome(
        self, returns: list[Floats], endings: list[Integers], first_steps: int, was_stopped: bool
    ) -> Outcome:
        ended = np.concatenate(endings) if endings else np.empty((0, 2), dtype=np.int64)
        flags = ended[:, 1]
        errors = float(self._sums[kernels.ERRORS])
        return Outcome(
            returns=np.concatenate(returns) if returns else np.empty(0),
            lengths=ended[:, 0].copy(),
            terminated=(flags & kernels.TERMINATED) > 0,
            truncated=(flags & kernels.TRUNCATED) > 0,
            reached=(flags & kernels.HAS_REACHED) > 0,
            steps=int(self._place[kernels.STEPS]) - first_steps,
            was_stopped=was_stopped,
            td_error=float(self._sums[kernels.ERROR_SUM]) / errors if errors else 0.0,
        )

    # Growing

    def _empty(self, value: float) -> Table:
        return empty_table(self._rules, self._room, self.world.n_actions, value)

    def _with_room(self, aim: Aim) -> Table:
        """Makes room for all states; returns the table of the subgoal."""
        states = self.world.n_states
        if states > self._room:
            self._room = max(states, 2 * self._room)
            self._main = grown(self._main, self._rules, self._room, self.settings.initial_value)
            self._options = {
                target: grown(table, self._rules, self._room)
                for target, table in self._options.items()
            }
        return self._no_option if aim.target < 0 else self._options[aim.target]

    # What is known

    @property
    def episodes(self) -> int:
        return int(self._place[kernels.EPISODES])

    @property
    def steps(self) -> int:
        return int(self._place[kernels.STEPS])

    @property
    def epsilon(self) -> float:
        """The schedule's, for the next episode."""
        return float(kernels.exploration(self._main, self._rules, Aim(-1, -1.0, 1)))

    @property
    def learning_rate(self) -> float:
        return float(kernels.rate(self._main, self._rules))

    @property
    def state(self) -> int | None:
        """Where it is in an episode that is under way."""
        place = self._place
        return int(place[kernels.STATE]) if place[kernels.IN_EPISODE] else None

    @property
    def subgoals(self) -> tuple[int, ...]:
        """Those that have a table."""
        return tuple(self._options)

    def confidence(self, state: int, target: int | None = None) -> float:
        """0 where nothing is known, towards 1 the surer it is; see `kernels.confidence`."""
        table = self._table(target)
        spread = float(kernels.value_range(table, self._rules.algorithm))
        rate = float(kernels.rate(table, self._rules))
        return float(kernels.confidence(table, self._rules, rate, spread, self._checked(state)))

    def confidence_map(self, target: int | None = None) -> Floats:
        """Of all states."""
        table = self._table(target)
        spread = float(kernels.value_range(table, self._rules.algorithm))
        rate = float(kernels.rate(table, self._rules))
        return np.array(
            [
                kernels.confidence(table, self._rules, rate, spread, state)
                for state in range(self.world.n_states)
            ]
        )

    def q_values(self, state: int, target: int | None = None) -> Floats:
        """Of all actions, by the main table or by a subgoal's."""
        values: Floats = self.q_table(target)[self._checked(state)]
        return values

    def q_table(self, target: int | None = None) -> Floats:
        """A copy, by state and action."""
        table, states = self._table(target), self.world.n_states
        if self._rules.algorithm == kernels.DOUBLE_Q:
            mean: Floats = 0.5 * (table.values[:states] + table.other[:states])
            return mean
        return table.values[:states].copy()

    def visits(self, target: int | None = None) -> Integers:
        """How often each pair of state and action was learnt from."""
        return self._table(target).visits[: self.world.n_states].copy()

    def greedy(self, state: int, target: int | None = None) -> int:
        """The best known action; the first of equally good ones."""
        return int(np.argmax(self.q_values(state, target)))

    def policy(self, target: int | None = None) -> NDArray[np.int64]:
        """The best known action of every state."""
        best: Integers = np.argmax(self.q_table(target), axis=1)
        return best

    def value_map(self, target: int | None = None) -> Floats:
        """The value of the best known action, by state."""
        best: Floats = self.q_table(target).max(axis=1)
        return best

    def _table(self, target: int | None) -> Table:
        if target is None:
            return self._main
        if target not in self._options:
            raise SettingsError(
                f"'target': there is no table of the subgoal {target}",
                hint="it has one once it was pursued",
                field="target",
            )
        return self._options[target]

    def _checked(self, state: int) -> int:
        if not 0 <= state < self.world.n_states:
            raise SettingsError(
                f"'state' is {state}; the world has {self.world.n_states} states",
                hint="choose one of them",
                field="state",
            )
        return state

    # Keeping

    def state_dict(self) -> dict[str, Any]:
        """All that going on exactly needs: dictionaries, lists, arrays and plain values."""
        states = self.world.n_states
        return {
            "version": STATE_VERSION,
            "algorithm": self.settings.algorithm,
            "states": states,
            "actions": self.world.n_actions,
            "main": used_part(self._main, states),
            "options": {
                str(target): used_part(table, states) for target, table in self._options.items()
            },
            "place": self._place.copy(),
            "sums": self._sums.copy(),
            "random": self._random.bit_generator.state,
            "world": self.world.state_dict(bool(self._place[kernels.IN_EPISODE])),
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> bool:
        """Go on where `saved` was taken. False where the episode under way could not be brought
        back and a new one begins. Raises TablesError when it is of something else.
        """
        try:
            return self._load(saved)
        except TablesError:
            raise
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise TablesError(
                f"The saved state does not fit: {error}",
                hint="take a checkpoint of the same world and algorithm",
            ) from error

    def _load(self, saved: Mapping[str, Any]) -> bool:
        refuse_other_tables(saved, self.world, self.settings)
        place, sums = np.asarray(saved["place"]), np.asarray(saved["sums"])
        states = int(saved["states"])
        is_place = place.shape == self._place.shape and place.dtype == self._place.dtype
        if not is_place or sums.shape != self._sums.shape or sums.dtype != self._sums.dtype:
            raise ValueError("its place in an episode is of another version")
        if not 0 <= place[kernels.STATE] < max(states, 1) or place[kernels.ELAPSED] < 0:
            raise ValueError("its episode is in a state that there is not")
        if not -1 <= place[kernels.NEXT_ACTION] < self.world.n_actions:
            raise ValueError("its next action is none of the world's")
        main, options = self._read_tables(saved, states)
        if place[kernels.FOLLOWING] and int(place[kernels.TARGET]) not in options:
            raise ValueError("its subgoal has no table")
        random = np.random.PCG64()
        if saved["random"]["bit_generator"] != "PCG64":
            raise ValueError("its random numbers are of another generator")
        random.state = saved["random"]
        state = int(place[kernels.STATE]) if place[kernels.IN_EPISODE] else None
        is_back = self.world.load_state_dict(saved["world"], state)
        self._main, self._options = main, options
        self._place[:], self._sums[:] = place, sums
        self._random = np.random.Generator(random)
        self._room = len(main.values)
        self._with_room(Aim(-1, 0.0, 0))
        if not is_back:
            self._place[kernels.IN_EPISODE] = 0
            self._place[kernels.NEXT_ACTION] = -1
        elif self.world.table is not None:
            self.world.place(int(place[kernels.STATE]), int(place[kernels.ELAPSED]))
        return is_back

    def warm_start(self, saved: Mapping[str, Any]) -> None:
        """Begin with the values of other tables; counts, schedules and random numbers are new.

        Raises TablesError when they have other numbers of states or actions.
        """
        try:
            refuse_other_tables(saved, self.world, self.settings, algorithm=False)
            values = {"main": saved["main"], **dict(saved["options"])}
            for name, arrays in values.items():
                read = _mean_values(arrays, str(saved["algorithm"]))
                if read.shape != (int(saved["states"]), self.world.n_actions):
                    raise ValueError(f"the table {name} has the shape {read.shape}")
                table = self._main if name == "main" else self._empty(0.0)
                table.values[: len(read)] = read
                if self._rules.algorithm == kernels.DOUBLE_Q:
                    table.other[: len(read)] = read
                if name != "main":
                    self._options[int(name)] = table
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise TablesError(
                f"The saved state does not fit: {error}",
                hint="take another checkpoint, or begin without one",
            ) from error

    def _read_tables(self, saved: Mapping[str, Any], states: int) -> tuple[Table, dict[int, Table]]:
        room = states if self.world.grows else self.world.n_states
        actions = self.world.n_actions
        main = table_from(saved["main"], self._rules, room, actions)
        options = {
            int(target): table_from(arrays, self._rules, room, actions)
            for target, arrays in saved["options"].items()
        }
        if any(not 0 <= target < room for target in options):
            raise ValueError("it has a subgoal that is no state")
        return main, options


def _one_by_one(on_step: Callable[[Step], None]) -> OnSteps:
    def hand_on(steps: Steps) -> None:
        for step in steps:
            on_step(step)

    return hand_on


def _mean_values(arrays: Mapping[str, Any], algorithm: str) -> Floats:
    values = np.asarray(arrays["values"], dtype=np.float64)
    if algorithm == "double_q":
        values = 0.5 * (values + np.asarray(arrays["other"], dtype=np.float64))
    if not np.isfinite(values).all():
        raise ValueError("it holds values that are not finite")
    return values


def refuse_other_tables(
    saved: Mapping[str, Any], world: World, settings: LearningSettings, *, algorithm: bool = True
) -> None:
    """Raises TablesError where saved tables are of other states, actions or (if asked) another
    algorithm.
    """
    if saved.get("version") != STATE_VERSION:
        raise TablesError(
            f"The saved tables are of version {saved.get('version')!r}, not {STATE_VERSION}",
            hint="take a checkpoint of this version of MOSAIC",
        )
    for what, here in (("states", world.n_states), ("actions", world.n_actions)):
        there = saved.get(what)
        if there != here and not (what == "states" and world.grows):
            raise TablesError(
                f"The saved tables have {there} {what}, {world.env_id} has {here}",
                hint="take tables of the same world, or of a map of the same size",
            )
    if world.grows and saved.get("world", {}).get("states", {}) == {}:
        raise TablesError(
            f"The saved tables do not say which states they are about; {world.env_id} needs that",
            hint="take tables of the same world",
        )
    if algorithm and saved.get("algorithm") != settings.algorithm:
        raise TablesError(
            f"The saved tables were learnt by {saved.get('algorithm')}, not {settings.algorithm}",
            hint=f"go on with {saved.get('algorithm')}, or begin with their values only",
        )
