"""What a worker loads: weights for themselves, and the whole state of a training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import (
    load_payload,
    parse_payload,
    serialize_payload,
    weight_hash,
)
from tests import checkpoint_samples


def weights(folder: Path) -> Any:
    return weight_hash(load_payload(folder / "policy.cleanrl_model"))


def training(folder: Path) -> Any:
    return load_checkpoint(folder).step


READERS = {"weights": weights, "training": training}
# Once before: what torch itself loads late is not the doing of a file.
weight_hash(parse_payload(serialize_payload(checkpoint_samples.weights(1)), Path("warm")))
