"""A run's config as groups of settings, with what differs from the defaults. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.learner import worker_settings
from mosaic.contracts.run_record import LineageKind, RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.front.bundle_words import PROGRAM_BUNDLE, program_bundle_words, run_bundle_words
from mosaic.front.human import amount, count, duration, moment
from mosaic.front.run_words import LINEAGE_WORDS, memory_words, origin_words, remarks_of
from mosaic.gui.tabs.model import object_in
from mosaic.worker.summary import masked

_STATES = {
    RunState.INIT: "queued",
    RunState.HSHK: "starting",
    RunState.RDY: "ready",
    RunState.EXEC: "running",
    RunState.PAUSE: "paused",
    RunState.FAULT: "attempt failed",
    RunState.TERM: "over",
}
# Shown in groups of their own, or above.
_NOT_OPTIONS = ("algo_params", "notes")

_CHILD_WORDS = {
    LineageKind.RESUMED: "Resumed as",
    LineageKind.EVALUATED: "Evaluated by",
    LineageKind.PLAYED: "Played in",
    LineageKind.WARM_STARTED: "Start of",
}


@dataclass(frozen=True)
class Setting:
    name: str
    value: str
    default: str = ""  # what it would be otherwise, where it is not that
    is_default: bool = False  # nobody chose it
    help: str = ""

    @property
    def is_changed(self) -> bool:
        return bool(self.default)


@dataclass(frozen=True)
class SettingGroup:
    title: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class ConfigView:
    groups: tuple[SettingGroup, ...]
    notes: str
    text: str  # all of it, as JSON
    path: str  # of its file; empty where the run is on another machine

    @property
    def changed(self) -> int:
        return sum(setting.is_changed for group in self.groups for setting in group.settings)

    def found(self, words: str) -> tuple[SettingGroup, ...]:
        """The groups with those settings that have all of these words in name or value."""
        wanted = words.lower().split()
        if not wanted:
            return self.groups
        found = []
        for group in self.groups:
            kept = tuple(
                setting
                for setting in group.settings
                if all(word in f"{setting.name} {setting.value}".lower() for word in wanted)
            )
            if kept:
                found.append(replace(group, settings=kept))
        return tuple(found)


def config_view(record: RunRecord, algorithms: Iterable[AlgorithmInfo] = ()) -> ConfigView:
    config = masked(record.config)
    settings = worker_settings(config)
    extras = object_in(settings, "extras")
    algorithm = find_algorithm(record, algorithms)
    groups = (
        SettingGroup("Training", _plain({k: v for k, v in settings.items() if k != "extras"})),
        SettingGroup("Parameters", _parameters(algorithm, settings, extras)),
        SettingGroup("Options", _plain({k: v for k, v in extras.items() if k not in _NOT_OPTIONS})),
        SettingGroup("Resources", _resources(record, config)),
        SettingGroup("Run", _run(record, config)),
        SettingGroup("Ran on", _bundle(record)),
        SettingGroup("History", _history(record)),
    )
    notes = record.manifest.get("notes") or extras.get("notes") or ""
    return ConfigView(
        tuple(group for group in groups if group.settings),
        "\n".join(filter(None, (str(notes), *remarks_of(record)))),
        json.dumps(config, indent=2, ensure_ascii=False),
        record.paths.get("config", ""),
    )


def find_algorithm(record: RunRecord, algorithms: Iterable[AlgorithmInfo]) -> AlgorithmInfo | None:
    name = worker_settings(record.config).get("algo")
    return next(
        (one for one in algorithms if one.name == name and one.worker == record.worker), None
    )


def lineage_lines(
    record: RunRecord, runs: Iterable[RunRecord]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What the run did with another run's checkpoint, and others with its own: words and ids."""
    lines: list[tuple[str, tuple[str, ...]]] = []
    if record.lineage is not None:
        lines.append(
            (LINEAGE_WORDS[record.lineage.kind].capitalize(), (record.lineage.parent_run,))
        )
    children = [
        (run.lineage.kind, run.run_id)
        for run in runs
        if run.lineage is not None and run.lineage.parent_run == record.run_id
    ]
    for kind, words in _CHILD_WORDS.items():
        if found := tuple(sorted(run_id for its_kind, run_id in children if its_kind is kind)):
            lines.append((words, found))
    return tuple(lines)


def value_text(value: Any) -> str:
    """As people write it: words for truth, thousands separated, no quotes around text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, str):
        return value or "(empty)"
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=False)


def _parameters(
    algorithm: AlgorithmInfo | None, settings: Mapping[str, Any], extras: Mapping[str, Any]
) -> tuple[Setting, ...]:
    """All of them, the chosen ones first: what a run did is more than what somebody typed."""
    given = dict(object_in(extras, "algo_params"))
    known = algorithm.parameters if algorithm else {}
    chosen = [_parameter(name, value, known.get(name)) for name, value in sorted(given.items())]
    rest = [
        Setting(name, value_text(field.get("default")), "", True, str(field.get("description", "")))
        for name, field in known.items()
        if name not in given and name not in settings and "default" in field
    ]
    return (*chosen, *rest)


def _parameter(name: str, value: Any, field: Mapping[str, Any] | None) -> Setting:
    if field is None or "default" not in field:
        return Setting(name, value_text(value))
    is_same = value == field["default"]
    default = "" if is_same else value_text(field["default"])
    return Setting(name, value_text(value), default, is_same, str(field.get("description", "")))


def _plain(values: Mapping[str, Any]) -> tuple[Setting, ...]:
    """Objects become dotted names."""
    found: list[Setting] = []
    for name, value in values.items():
        if isinstance(value, dict) and value:
            found += [Setting(f"{name}.{inner.name}", inner.value) for inner in _plain(value)]
        elif value != {}:
            found.append(Setting(name, value_text(value)))
    return tuple(found)


def _resources(record: RunRecord, config: Mapping[str, Any]) -> tuple[Setting, ...]:
    gpus = object_in(object_in(config, "resources"), "gpus").get("requested", 0)
    found = [
        Setting("cpus", count(record.cpus)),
        Setting("memory", memory_words(record)),
        Setting("gpus", value_text(gpus)),
    ]
    if record.gpu_slots:
        found.append(Setting("gpu slots", ", ".join(map(str, record.gpu_slots))))
    return tuple(found)


def _run(record: RunRecord, config: Mapping[str, Any]) -> tuple[Setting, ...]:
    found = [
        Setting("id", record.run_id),
        Setting("name", record.run_name),
        Setting("worker", record.worker),
        Setting("attempt", count(record.attempt)),
        Setting("priority", count(record.priority)),
    ]
    if origin := origin_words(record):
        found.append(Setting("origin", origin))
    if record.group:
        found.append(Setting("group", record.group))
    if record.checkpoint_uri:
        found.append(Setting("checkpoint", record.checkpoint_uri))
    if record.metrics_digest:
        found.append(
            Setting(
                "digest", record.metrics_digest, help="of all its metrics: equal means the same"
            )
        )
    for name in ("arguments", "schedule", "retry", "environment", "artifacts"):
        if config.get(name):
            found += _plain({name: config[name]})
    return tuple(found)


def _bundle(record: RunRecord) -> tuple[Setting, ...]:
    bundle = object_in(record.manifest, "bundle")
    venvs = {"bundle": run_bundle_words(record), PROGRAM_BUNDLE: program_bundle_words(record)}
    found = [Setting(name, words) for name, words in venvs.items() if words]
    if bundle.get("python"):
        found.append(Setting("Python", str(bundle["python"])))
    if bundle.get("distribution"):
        found.append(Setting(str(bundle["distribution"]), str(bundle.get("version", ""))))
    found += [
        Setting(str(name), str(version)) for name, version in object_in(bundle, "packages").items()
    ]
    return tuple(found)


def _history(record: RunRecord) -> tuple[Setting, ...]:
    found = []
    before: float | None = None
    for step in record.transitions:
        after = "" if before is None else f" (after {duration(step.at - before)})"
        word = _STATES.get(step.state, step.state.value)
        attempt = f", attempt {step.attempt}" if record.attempt > 1 and step.attempt else ""
        found.append(Setting(f"{moment(step.at)}", f"{word}{attempt}: {step.reason}{after}"))
        before = step.at
    if record.quarantined_lines:
        lines = amount(record.quarantined_lines, "line")
        found.append(Setting("left out", f"{lines} of its journal could not be read"))
    return tuple(found)
