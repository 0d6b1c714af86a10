"""Workers whose packages come with a bundle: whether one can be started, though it is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.contracts.bundles import VenvInfo, VenvNeed, VenvState, needed_venvs
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
    """Its own bundle, where that is what stands for its packages, installed or not.

    None where all it needs is beside MOSAIC, and where the bundle cannot be had here: then what
    the worker says of itself counts.
    """
    info = bundles.info(own_bundle(worker))
    if info is None or info.state in (VenvState.PRESENT, VenvState.UNAVAILABLE):
        return None
    return info


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
