"""Which runs are compared: groups of runs that differ only in their seed.

Pure. A word of the command line is `LABEL=RUN,RUN,...`, the name of a group, a run, or the
beginning of the names of some runs. Single runs find together by themselves when their configs
agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mosaic.compare.curves import Curve, has_diverged
from mosaic.compare.published import task_name
from mosaic.contracts.ancestry import Ancestor, ancestors_of
from mosaic.contracts.learner import worker_settings
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_reference import choose_runs, name_without_seed
from mosaic.contracts.run_state import Outcome
from mosaic.errors import RequestError, UnknownRunError

ABSENT = "(not set)"
_WORKER_CONFIG = "metadata.worker.config."
# Names and remarks say nothing about how a run learns.
_LABELS = ("run_name", "metadata.group", _WORKER_CONFIG + "extras.notes")
_SEED_KEY = re.compile(r"(.+\.)?seed")
_SEED_FLAG = re.compile(r"--?seed(=.*)?")
# What decides how a run learns; resources, retries and the like do not.
_RECIPE_PARTS = ("entry_point", "arguments", "metadata.worker")


@dataclass(frozen=True)
class ConfigDifference:
    """One parameter with its value in each group, in the order of the groups."""

    path: str
    values: tuple[str, ...]


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted paths to leaves, without seeds and labels; lists stay whole."""
    found: dict[str, Any] = {}
    _collect(config, "", found)
    return found


def _collect(value: Any, path: str, found: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            _collect(item, f"{path}.{key}" if path else str(key), found)
    elif path not in _LABELS and not _SEED_KEY.fullmatch(path):
        found[path] = _without_seed_flags(value) if isinstance(value, list) else value


def _without_seed_flags(values: list[Any]) -> list[Any]:
    """`--seed 3` and `--seed=3` taken out of a command line."""
    kept: list[Any] = []
    skips_next = False
    for value in values:
        is_flag = isinstance(value, str) and _SEED_FLAG.fullmatch(value) is not None
        if not is_flag and not skips_next:
            kept.append(value)
        skips_next = is_flag and "=" not in value
    return kept


def recipe_key(config: Mapping[str, Any]) -> str:
    """Equal for runs that differ only in their seed."""
    parts = {path: value for path, value in flatten(config).items() if _is_recipe(path)}
    return json.dumps(parts, sort_keys=True, default=str)


def _is_recipe(path: str) -> bool:
    return any(path == part or path.startswith(f"{part}.") for part in _RECIPE_PARTS)


def seed_of(config: Mapping[str, Any]) -> int | None:
    """The seed of the worker's config, else the one on its command line."""
    worker = (config.get("metadata") or {}).get("worker") or {}
    settings = worker.get("config") or {}
    if isinstance(settings.get("seed"), int):
        return int(settings["seed"])
    words = [
        str(word)
        for part in (config.get("arguments"), worker.get("arguments"), settings.get("arguments"))
        for word in (part or ())
    ]
    for index, word in enumerate(words):
        if _SEED_FLAG.fullmatch(word):
            value = word.partition("=")[2] or (words[index + 1] if index + 1 < len(words) else "")
            return int(value) if re.fullmatch(r"-?\d+", value) else None
    return None


def differences(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[ConfigDifference]:
    """Every parameter that is not the same in all groups."""
    return [item for item in _table(groups) if len(set(item.values)) > 1]


def equalities(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[ConfigDifference]:
    """Every parameter that all groups share, with its one value."""
    return [
        ConfigDifference(item.path, item.values[:1])
        for item in _table(groups)
        if len(set(item.values)) == 1
    ]


def _table(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[ConfigDifference]:
    flat = [[flatten(config) for config in configs] for configs in groups]
    paths = sorted({path for configs in flat for config in configs for path in config})
    return [
        ConfigDifference(short_path(path), tuple(_group_value(configs, path) for configs in flat))
        for path in paths
    ]


def short_path(path: str) -> str:
    """Parameters of the worker are what people look for: they need no long prefix."""
    return path.removeprefix(_WORKER_CONFIG).removeprefix("extras.algo_params.")


def _group_value(configs: Iterable[Mapping[str, Any]], path: str) -> str:
    """The value of a group; several when its runs do not agree."""
    missing = object()
    values = (config.get(path, missing) for config in configs)
    texts = dict.fromkeys(ABSENT if value is missing else _value_text(value) for value in values)
    return ", ".join(texts)


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


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
    # Of each run that was resumed: those whose training it continues, the oldest first.
    ancestors: Mapping[str, tuple[Ancestor, ...]] = field(default_factory=dict)

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
    """Labelled selections as they are; the rest by group name and equal recipe.

    A run that was resumed stands for the whole training: `records` has the runs before it, too,
    and those of them that were chosen with it are no runs of their own.
    """
    ancestors = {
        run_id: found
        for selection in selections
        for run_id in selection.run_ids
        if (found := ancestors_of(records[run_id], records.get))
    }
    members: dict[tuple[str, str], list[RunRecord]] = {}
    taken: dict[str, tuple[str, str]] = {}
    for selection in selections:
        for run_id in selection.run_ids:
            record = _as_begun(records[run_id], ancestors.get(run_id, ()), records)
            key = ("label", selection.label) if selection.label else _own_key(record)
            if taken.setdefault(run_id, key) != key:
                raise RequestError(
                    f"{record.run_name} is in two groups",
                    hint="a run can be compared on one side only",
                )
            runs = members.setdefault(key, [])
            if record not in runs:
                runs.append(record)
    for key, runs in members.items():
        parts = {one.run_id for run in runs for one in ancestors.get(run.run_id, ())}
        members[key] = [run for run in runs if run.run_id not in parts]
    labels = _labels(members)
    return [
        RunGroup(
            label,
            tuple(runs),
            tuple(_doubts(label, runs)),
            {run.run_id: ancestors[run.run_id] for run in runs if run.run_id in ancestors},
        )
        for label, runs in zip(labels, members.values(), strict=True)
    ]


def _as_begun(
    record: RunRecord, ancestors: Sequence[Ancestor], records: Mapping[str, RunRecord]
) -> RunRecord:
    """With the config its training began with: that of a resumed run names a checkpoint only."""
    if not ancestors:
        return record
    first = records[ancestors[0].run_id]
    return replace(record, config=first.config or record.config, group=record.group or first.group)


def missing_ancestors(
    records: Mapping[str, RunRecord], known: Mapping[str, RunRecord]
) -> list[str]:
    """Which runs to ask for before groups are formed; `known` has records without details."""
    found = (one.run_id for record in records.values() for one in ancestors_of(record, known.get))
    return [run_id for run_id in dict.fromkeys(found) if run_id not in records]


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


# A failed run that came this far is taken for a whole one.
_WHOLE = 0.95
# A series that ends as near as this to the end of its run counts the same steps.
_SAME_COUNT = 0.5


def environment_of(run: RunRecord) -> str:
    return run.env_id or str(worker_settings(run.config).get("env_id") or "")


def check_environments(groups: Sequence[RunGroup]) -> tuple[str, list[str]]:
    """Refuses to compare returns of different tasks; other versions of a task are a warning."""
    found: dict[str, list[str]] = {}
    for group in groups:
        for run in group.runs:
            found.setdefault(environment_of(run), []).append(run.run_name)
    known = [name for name in found if name]
    if len({task_name(name) for name in known}) > 1:
        listed = "; ".join(f"{name}: {', '.join(found[name][:3])}" for name in known[:5])
        raise RequestError(
            f"The runs are of {len(known)} environments and cannot be compared ({listed})",
            hint="compare runs of one environment",
            field="env_id",
        )
    warnings = []
    if len(known) > 1:
        warnings.append(
            f"{' and '.join(known)} are different versions of an environment: "
            "a difference may come from them alone."
        )
    if known and "" in found:
        warnings.append(f"The environment of {', '.join(found[''][:5])} is not known.")
    return " / ".join(known), warnings


def with_ends(groups: Sequence[RunGroup], curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """Curves that know how far their runs came: the last episode ends a little before the run."""
    found = dict(curves)
    for group in groups:
        for run in group.runs:
            curve, steps = curves[run.run_id], float(run.progress.steps)
            # A metric may count something else than steps; then it ends where it ends.
            if curve.last_step >= _SAME_COUNT * steps:
                found[run.run_id] = replace(curve, ended_at=steps)
    return found


def reasons_to_leave_out(
    groups: Sequence[RunGroup], curves: Mapping[str, Curve], last: int
) -> dict[str, str]:
    """Runs that do not count, with the reason."""
    runs = [run for group in groups for run in group.runs]
    longest = max((curves[run.run_id].finite().last_step for run in runs), default=0.0)
    reasons: dict[str, str] = {}
    for run in runs:
        curve = curves[run.run_id]
        if curve.is_empty:
            reasons[run.run_id] = "no value" if not len(curve.steps) else "no finite value"
        elif has_diverged(curve.values[-last:]):
            reasons[run.run_id] = "diverged: its last values are not numbers"
    failed = [
        run
        for run in runs
        if run.outcome is Outcome.FAILED
        and run.run_id not in reasons
        and curves[run.run_id].last_step < _WHOLE * longest
    ]
    for run in failed:
        why = run.failure.message if run.failure else str(run.outcome)
        reasons[run.run_id] = f"failed at step {curves[run.run_id].last_step:,.0f} ({why[:120]})"
    return reasons


def left_out_warnings(groups: Sequence[RunGroup], remarks: Mapping[str, str]) -> list[str]:
    """Who is missing, since a group without its failures looks better than it is."""
    warnings = []
    for group in groups:
        left = [run for run in group.runs if run.run_id in remarks]
        if not left:
            continue
        reasons = "; ".join(f"{run.run_name}: {remarks[run.run_id]}" for run in left[:5])
        reasons += f"; and {len(left) - 5} more" if len(left) > 5 else ""
        if len(left) == len(group.runs):
            warnings.append(f"{group.label} is left out: no run of it counts ({reasons}).")
        else:
            warnings.append(
                f"{len(left)} of {len(group.runs)} runs of {group.label} not counted ({reasons}); "
                "the others may make it look better than it is."
            )
    return warnings
