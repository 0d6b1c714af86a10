"""A run once more: what it ran on, the same config, what cannot be the same, and whether it was."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.contracts.consent import CONFIG_OF, REPRODUCES
from mosaic.contracts.learner import worker_settings
from mosaic.contracts.manifest import AnalyticsManifest, DependencyBundle
from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.contracts.secrets import referenced_names
from mosaic.errors import ConfigError, CorruptStoreError
from mosaic.front.bundle_words import PROGRAM_BUNDLE, SHOWN_HASH, other_bundle_words


@dataclass(frozen=True)
class Reproduction:
    document: dict[str, Any]  # to be submitted
    found: tuple[tuple[str, str], ...]  # what the run had: name and value
    differences: tuple[str, ...]  # what cannot be the same, a sentence each

    def to_dict(self) -> dict[str, Any]:
        return {"found": dict(self.found), "differences": list(self.differences)}


def installed_version(package: str) -> str:
    """Empty where it is not installed beside MOSAIC."""
    try:
        return importlib.metadata.version(package)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""


@dataclass(frozen=True)
class Here:
    """What there is now, where the run would be started."""

    python: str = field(default_factory=platform.python_version)
    version_of: Callable[[str], str] = installed_version
    # A daemon on another machine may have other versions than this process sees.
    is_known: bool = True


def reproduce(
    record: RunRecord,
    here: Here,
    *,
    name: str = "",
    environment: Mapping[str, str] | None = None,
) -> Reproduction:
    """`record` has to have its config; `environment`: variables whose values are not stored."""
    document = _document(record, name, environment or {})
    manifest = _manifest(record)
    bundle = manifest.bundle
    settings = worker_settings(record.config)
    found = (
        *_bundle_words(bundle),
        (PROGRAM_BUNDLE, other_bundle_words(manifest)),
        ("worker", " ".join(part for part in (bundle.distribution, bundle.version) if part)),
        ("config", f"SHA-256 {_config_digest(record.config)}"),
        ("seed", str(settings["seed"]) if settings.get("seed") is not None else "none"),
    )
    differences = (
        *_other_packages(record, manifest, here),
        *_other_circumstances(record, settings),
    )
    return Reproduction(document, tuple(item for item in found if item[1]), differences)


def _document(record: RunRecord, name: str, environment: Mapping[str, str]) -> dict[str, Any]:
    if not record.config:
        raise ConfigError(
            f"The config of {record.run_name} is not kept any more",
            hint="without it nobody knows what to do once more",
            field="run",
        )
    variables = record.config.get("environment")
    variables = {**variables, **environment} if isinstance(variables, dict) else dict(environment)
    if lost := referenced_names(variables):
        raise ConfigError(
            f"{record.run_name} had {', '.join(lost)}, whose values are stored nowhere",
            hint=" ".join(["pass them on again:", *(f"--env {item}" for item in lost)]),
            field=f"environment.{lost[0]}",
        )
    metadata = record.config.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {
        **record.config,
        "run_name": name or record.config.get("run_name", record.run_name),
        "environment": variables,
        "metadata": {**metadata, REPRODUCES: record.run_id},
    }


def _manifest(record: RunRecord) -> AnalyticsManifest:
    """What a worker, or an archive, has written: where it is damaged, nothing is known."""
    try:
        return AnalyticsManifest.from_dict(record.manifest)
    except CorruptStoreError:
        return AnalyticsManifest(record.run_id, record.worker)


def _bundle_words(bundle: DependencyBundle) -> list[tuple[str, str]]:
    where = f" ({bundle.interpreter})" if bundle.interpreter else ""
    return [
        ("bundle", bundle.name or "none: it ran beside MOSAIC itself"),
        ("lock", bundle.lock_hash[:SHOWN_HASH]),
        ("builds", bundle.accelerator),
        ("Python", f"{bundle.python}{where}" if bundle.python else ""),
    ]


def _config_digest(config: Mapping[str, Any]) -> str:
    """Of the config as it is stored: references in place of secrets, nothing of how it came."""
    metadata = config.get("metadata")
    if isinstance(metadata, dict):
        kept = {key: value for key, value in metadata.items() if key not in (CONFIG_OF, REPRODUCES)}
        config = {**config, "metadata": kept}
    text = json.dumps(config, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:SHOWN_HASH]


def _other_packages(record: RunRecord, manifest: AnalyticsManifest, here: Here) -> list[str]:
    bundle = manifest.bundle
    if not bundle.python and not bundle.packages:
        return ["the run has not said what it ran on, so that nothing can be compared"]
    found = []
    if here.is_known and bundle.python and bundle.python != here.python:
        found.append(f"Python was {bundle.python}, and is {here.python} here")
    found += _lost_locks(record, manifest)
    if bundle.name:
        return found
    if not here.is_known:
        return [
            *found,
            "it had no bundle, and what is installed where the daemon runs is not known here",
        ]
    packages = {bundle.distribution: bundle.version, **bundle.packages}
    for package, version in sorted(packages.items()):
        now = here.version_of(package) if package else version
        if now != version:
            is_now = f"is {now} now" if now else "is not installed beside MOSAIC any more"
            found.append(f"{package} was {version}, and {is_now}")
    return found


def _lost_locks(record: RunRecord, manifest: AnalyticsManifest) -> list[str]:
    folder = Path(record.paths.get("run_directory", ""))
    if not record.paths or not folder.is_dir():
        return []
    names = [item.name for item in (manifest.bundle, *manifest.other_bundles) if item.name]
    return [
        f"the lock of {name} was not kept with it, so that today's is used"
        for name, path in zip(names, RunFiles(folder).bundle_locks, strict=False)
        if not path.is_file()
    ]


def _other_circumstances(record: RunRecord, settings: Mapping[str, Any]) -> list[str]:
    found = []
    if settings.get("seed") is None:
        found.append("it had no seed, so that what is random differs")
    if record.gpu_slots:
        found.append("it ran on a GPU, where results need not be the same to the last bit")
    if record.origin is Origin.SCRIPT:
        found.append("its script is not kept: it runs as it is now")
    if not record.is_over:
        found.append("it is not over yet")
    elif record.outcome is not Outcome.SUCCEEDED:
        word = "failed" if record.outcome is Outcome.FAILED else "was stopped"
        found.append(f"it {word}, which this one need not do at the same step")
    return found


# What came of it


def compare_outcomes(then: RunRecord, now: RunRecord) -> list[str]:
    """Whether weights and metrics are the same; nothing where there is nothing to compare."""
    said = []
    old, new = _weights(then), _weights(now)
    if old and new:
        same = f"the weights are the same (SHA-256 {old[:SHOWN_HASH]})"
        other = f"the weights differ: SHA-256 {old[:SHOWN_HASH]} then, {new[:SHOWN_HASH]} now"
        said.append(same if old == new else other)
    if then.metrics_digest and now.metrics_digest:
        is_same = then.metrics_digest == now.metrics_digest
        said.append("every metric is the same" if is_same else "the metrics differ")
    return said


def _weights(record: RunRecord) -> str:
    """The hash of the last checkpoint."""
    entries = _manifest(record).checkpoints
    last = next((entry for entry in reversed(entries) if entry.is_final), None)
    return last.sha256 if last is not None else ""
