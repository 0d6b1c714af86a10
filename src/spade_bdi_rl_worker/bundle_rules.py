"""What a run of this worker needs installed. Imports nothing heavy."""

from __future__ import annotations

from mosaic.contracts.bundles import BundleRule

WORKER = "spade_bdi_worker"


def bundle_rules() -> tuple[BundleRule, ...]:
    return (BundleRule(WORKER),)
