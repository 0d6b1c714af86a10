"""Workers whose packages come with a bundle: whether one can be started, though it is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mosaic.contracts.bundles import (
    JOINT,
    VenvInfo,
    VenvNeed,
    VenvState,
    holds,
    needed_venvs,
)
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.gui.state.bundles_state import BundlesState


def own_bundle(worker: WorkerInfo) -> str:
    """What it needs itself, whatever it does; empty where it needs none."""
    if worker.capabilities is None:
        return ""
    rules = worker.capabilities.bundle_rules
    always = (rule for rule in rules if not rule.field and not rule.python_field)
    return next((rule.bundle for rule in always), "")


def has_bundles(worker: WorkerInfo | None) -> bool:
    """Whether bundles hold what its runs need: then only the daemon can tell what is missing."""
    return bool(worker and worker.capabilities and worker.capabilities.bundle_rules)


def bundle_of(worker: WorkerInfo, bundles: BundlesState) -> VenvInfo | None:
    """What stands for its packages: its own bundle, installed or not, or one that holds it.

    None where all it needs is beside MOSAIC,
    and where the bundle cannot be had here: then what the worker says of itself counts.
    """
    own = own_bundle(worker)
    info = bundles.info(own)
    if info is None or info.state in (VenvState.PRESENT, VenvState.UNAVAILABLE):
        return None
    return _serving(info, bundles)


def bundle_with(
    env_id: str, workers: Iterable[WorkerInfo], bundles: BundlesState
) -> VenvInfo | None:
    """The one that holds what this environment needs; None where none does that can be had."""
    found = []
    for worker in workers:
        rules = worker.capabilities.bundle_rules if worker.capabilities else ()
        needs = needed_venvs(rules, {"env_id": env_id})
        info = bundles.info(needs[0].name) if needs and not needs[0].python_field else None
        if info is not None and info.state is not VenvState.UNAVAILABLE:
            serving = _serving(info, bundles)
            # A worker that has an add-on for it knows more of it than one that has none.
            found.append((info.name.count(JOINT), serving.is_usable, serving))
    return max(found, key=lambda item: item[:2])[-1] if found else None


def _serving(info: VenvInfo, bundles: BundlesState) -> VenvInfo:
    """Itself where it is there, else the smallest that holds all of it, as for the daemon."""
    if info.is_usable:
        return info
    larger = (item for item in bundles.infos if item.is_usable and holds(item.name, info.name))
    return min(larger, key=lambda item: item.fetch_bytes, default=info)


def can_start(worker: WorkerInfo, bundles: BundlesState) -> bool:
    """It is ready, or all that it lacks comes with its bundle."""
    return worker.is_ready or (not worker.error and bundle_of(worker, bundles) is not None)


def needs_of(worker: WorkerInfo | None, document: Mapping[str, Any]) -> tuple[VenvNeed, ...]:
    """The venvs that a run with this document needs."""
    if worker is None or worker.capabilities is None:
        return ()
    config: Any = document
    for name in ("metadata", "worker", "config"):
        config = config.get(name) if isinstance(config, Mapping) else None
    settings = config if isinstance(config, Mapping) else {}
    return needed_venvs(worker.capabilities.bundle_rules, settings)
