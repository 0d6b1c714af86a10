"""Which runs are compared: groups of runs that differ only in their seed. Pure.

A word of the command line is `LABEL=RUN,RUN,...`, the name of a group, a run, or the beginning of
the names of some runs. Single runs find together by themselves when their configs agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mosaic.compare.recipes import differences, recipe_key, seed_of
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_reference import choose_runs, name_without_seed
from mosaic.errors import RequestError, UnknownRunError


@dataclass(frozen=True)
class Selection:
    """Runs that were asked for together; with a label, they stay together."""

    run_ids: tuple[str, ...]
    label: str = ""


@dataclass(frozen=True)
class RunGroup:
    label: str
    runs: tuple[RunRecord, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def seeds(self) -> tuple[int | None, ...]:
        return tuple(seed_of(run.config) for run in self.runs)


def select(word: str, runs: Sequence[RunRecord]) -> Selection:
    """What one word of the command line means, of all runs, newest first."""
    label, equals, listed = word.partition("=")
    if equals and not any(word in (run.run_name, run.group) for run in runs):
        members = [part.strip() for part in listed.split(",") if part.strip()]
        if not label.strip() or not members:
            raise RequestError(
                f"{word[:80]!r} is no group",
                hint="write LABEL=RUN,RUN,... with a label and at least one run",
            )
        found = [run_id for part in members for run_id in select(part, runs).run_ids]
        return Selection(tuple(dict.fromkeys(found)), label.strip())
    is_group = any(run.group == word for run in runs)
    if not is_group and (same := [run.run_id for run in runs if run.run_name == word]):
        return Selection(tuple(reversed(same)))
    try:
        return Selection(tuple(choose_runs(runs, word)))
    except UnknownRunError:
        named = [run for run in runs if word and run.run_name.startswith(word)]
        if not named:
            raise
        return Selection(tuple(run.run_id for run in reversed(named)))


def form_groups(
    selections: Sequence[Selection], records: Mapping[str, RunRecord]
) -> list[RunGroup]:
    """Labelled selections as they are; the rest by group name and equal recipe."""
    members: dict[tuple[str, str], list[RunRecord]] = {}
    taken: dict[str, tuple[str, str]] = {}
    for selection in selections:
        for run_id in selection.run_ids:
            record = records[run_id]
            key = ("label", selection.label) if selection.label else _own_key(record)
            if taken.setdefault(run_id, key) != key:
                raise RequestError(
                    f"Run {run_id} ({record.run_name}) is in two groups",
                    hint="a run can be compared on one side only",
                )
            runs = members.setdefault(key, [])
            if record not in runs:
                runs.append(record)
    labels = _labels(members)
    return [
        RunGroup(label, tuple(runs), tuple(_doubts(label, runs)))
        for label, runs in zip(labels, members.values(), strict=True)
    ]


def _own_key(record: RunRecord) -> tuple[str, str]:
    # Without a config there is no telling what a run shares with others.
    recipe = recipe_key(record.config) if record.config else record.run_id
    return (record.group, recipe)


def _labels(members: Mapping[tuple[str, str], Sequence[RunRecord]]) -> list[str]:
    """Group names; where two would be alike, what differs is added."""
    plain = [
        key[1] if key[0] == "label" else _plain_label(runs[0]) for key, runs in members.items()
    ]
    unique: list[str] = []
    for label, runs in zip(plain, members.values(), strict=True):
        same = [r for other, r in zip(plain, members.values(), strict=True) if other == label]
        text = label
        if len(same) > 1:
            marks = [
                f"{item.path}={item.values[same.index(runs)]}"
                for item in differences([[run.config for run in group] for group in same])
            ]
            text = f"{label} ({', '.join(marks[:2])})" if marks else label
        number = 2
        base = text
        while text in unique:
            text, number = f"{base} #{number}", number + 1
        unique.append(text)
    return unique


def _plain_label(run: RunRecord) -> str:
    return run.group or name_without_seed(run.run_name) or run.run_name or run.run_id


def _doubts(label: str, runs: Sequence[RunRecord]) -> list[str]:
    """What speaks against taking these runs for seeds of one experiment."""
    found = []
    recipes = {recipe_key(run.config) for run in runs if run.config}
    if len(recipes) > 1:
        configs = [[run.config] for run in runs if run.config]
        paths = ", ".join(item.path for item in differences(configs)[:5])
        found.append(f"The runs of {label} differ in more than their seed: {paths}.")
    seeds = [seed for run in runs if (seed := seed_of(run.config)) is not None]
    repeated = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    if repeated:
        found.append(
            f"{label} has more than one run with seed {', '.join(map(str, repeated))}: "
            "these are not independent."
        )
    return found
