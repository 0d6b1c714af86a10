"""The maps of frozen lakes: named, drawn by hand or random, checked before they are used."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from spade_bdi_rl_worker.learning.errors import SettingsError, WorldError
from spade_bdi_rl_worker.learning.settings import require_count

RANDOM_MAP = "random_map"
LARGEST_SIDE = 64
# With fewer frozen cells a large lake has no way across, and looking for one would not end.
_LEAST_FROZEN = 0.65


def lake_arguments(env_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """With the map itself in place of its name or of how to make one, so that it stays the same."""
    from gymnasium.envs.toy_text.frozen_lake import MAPS, generate_random_map

    arguments = dict(env_kwargs)
    random_map = arguments.pop(RANDOM_MAP, None)
    if random_map is not None:
        if arguments.get("desc") is not None or arguments.get("map_name") is not None:
            raise _wrong("name a map and ask for a random one", "leave out one of them")
        size, frozen, seed = _random_map(random_map)
        arguments["desc"] = generate_random_map(size, frozen, seed)
    name = arguments.get("map_name", "")
    if arguments.get("desc") is not None:
        check_map(arguments["desc"])
    elif name is None:
        raise _wrong(
            "have neither 'map_name' nor 'desc'",
            'for a random map: {"random_map": {"size": 8, "seed": 1}}',
        )
    elif name not in ("", *MAPS):
        raise _wrong(f"name the map {name!r}", f"there are {', '.join(MAPS)}")
    rate = arguments.get("success_rate", 0.5)
    if not _is_number(rate) or not 0.0 <= rate <= 1.0:
        raise _wrong(f"have the success_rate {rate!r}", "give it a number from 0 to 1")
    schedule = arguments.get("reward_schedule", (1, 0, 0))
    if not isinstance(schedule, list | tuple) or len(schedule) != 3:
        raise _wrong(f"have the reward_schedule {schedule!r}", "three numbers: goal, hole, frozen")
    if not all(_is_number(reward) for reward in schedule):
        raise _wrong("have a reward that is no number", "three numbers: goal, hole, frozen")
    return arguments


def check_map(rows: Any) -> None:
    """Raises WorldError unless it is a rectangle with a start and a goal that can be reached."""
    if not isinstance(rows, list | tuple) or not all(isinstance(row, str) for row in rows):
        raise _wrong("have a map that is no list of rows", 'such as ["SFF", "FHF", "FFG"]')
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise _wrong(
            f"have a map whose rows are {', '.join(str(n) for n in sorted(widths))} cells long",
            "make all rows equally long",
        )
    if not rows or not 1 <= max(widths) <= LARGEST_SIDE or len(rows) > LARGEST_SIDE:
        raise _wrong(
            f"have a map of {len(rows)} rows and {max(widths, default=0)} columns",
            f"a map has from 1 to {LARGEST_SIDE} of each",
        )
    strange = sorted(set("".join(rows)) - set("SFHG"))
    if strange:
        raise _wrong(
            f"have a map with the letter {strange[0]!r}",
            "S is a start, F frozen, H a hole and G a goal",
        )
    for letter, what in (("S", "start"), ("G", "goal")):
        if not any(letter in row for row in rows):
            raise _wrong(f"have a map without a {what}", f"put an {letter} where it is")
    if not _leads_somewhere(rows):
        raise _wrong("have a map where no way leads to the goal", "take away some holes")


def _leads_somewhere(rows: Sequence[str]) -> bool:
    height, width = len(rows), len(rows[0])
    waiting = [(r, c) for r in range(height) for c in range(width) if rows[r][c] == "S"]
    seen = set(waiting)
    while waiting:
        row, col = waiting.pop()
        for place in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            if place in seen or not (0 <= place[0] < height and 0 <= place[1] < width):
                continue
            letter = rows[place[0]][place[1]]
            if letter == "G":
                return True
            if letter != "H":
                seen.add(place)
                waiting.append(place)
    return False


def _random_map(given: Any) -> tuple[int, float, int]:
    if not isinstance(given, Mapping):
        raise _wrong(f"have the random_map {given!r}", 'for example {"size": 8, "seed": 1}')
    for name in given:
        if name not in ("size", "frozen", "seed"):
            raise _wrong(f"have a random_map with {name!r}", "it has size, frozen and seed")
    size, frozen, seed = given.get("size", 8), given.get("frozen", 0.8), given.get("seed", 0)
    try:
        require_count("random_map.size", size, 2, LARGEST_SIDE)
        require_count("random_map.seed", seed, 0, 2**63)
    except SettingsError as error:
        raise WorldError(error.message, hint=error.hint, field="env_kwargs") from error
    if not _is_number(frozen) or not _LEAST_FROZEN <= frozen <= 1.0:
        raise _wrong(
            f"have a random_map whose 'frozen' is {frozen!r}",
            f"give it the share of frozen cells, from {_LEAST_FROZEN} to 1",
        )
    return size, float(frozen), seed


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _wrong(problem: str, hint: str) -> WorldError:
    return WorldError(f"'env_kwargs' {problem}", hint=hint, field="env_kwargs")
