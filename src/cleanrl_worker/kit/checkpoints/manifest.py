"""The manifest of a checkpoint folder: which generations it holds, and which of them stay."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cleanrl_worker.kit.checkpoints.files import FILE_NAME, FileRecord
from mosaic.foreign.files import parse_json

VERSION = 1
MAX_BYTES = 4 * 2**20  # some hundred bytes for each file
_TAG = re.compile(r"[0-9]+(?:-[0-9]+)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Generation:
    """One checkpoint: the training at one step."""

    step: int
    tag: str  # what sets its file names apart: the step, and a count when it was saved again
    files: Mapping[str, FileRecord]
    metric: float | None = None
    is_best: bool = False
    is_final: bool = False
    is_resumable: bool = True

    @property
    def model(self) -> str:
        return f"model-{self.tag}.cleanrl_model"

    @property
    def model_sha256(self) -> str:
        return self.files[self.model].sha256

    @property
    def tensors(self) -> str:
        return f"tensors-{self.tag}.safetensors"

    @property
    def values(self) -> str:
        return f"values-{self.tag}.json"

    @property
    def replay(self) -> tuple[str, ...]:
        return tuple(name for name in self.files if name.startswith("replay-"))


@dataclass(frozen=True)
class Manifest:
    """`superseded_model` is the hash of the weights published before the newest generation, and
    `superseded_best` that of the best ones.

    Between writing the manifest and publishing the new weights, they are the ones people see.
    """

    description: Mapping[str, Any] = field(default_factory=dict)
    generations: tuple[Generation, ...] = ()  # in the order they were saved
    superseded_model: str = ""
    superseded_best: str = ""

    @property
    def newest(self) -> Generation:
        return self.generations[-1]

    @property
    def best(self) -> Generation | None:
        return next((item for item in self.generations if item.is_best), None)

    def file_names(self) -> set[str]:
        return {name for generation in self.generations for name in generation.files}

    def knows_model(self, sha256: str) -> bool:
        models = {item.model_sha256 for item in self.generations}
        return sha256 in models | {self.superseded_model, self.superseded_best}

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "description": dict(self.description),
            "superseded_model": self.superseded_model,
            "superseded_best": self.superseded_best,
            "generations": [_generation_to_json(item) for item in self.generations],
        }


def add_generation(
    manifest: Manifest, new: Generation, keep: int, description: Mapping[str, Any]
) -> Manifest:
    """The manifest after a save. What it held of the same step gives way, unless it was better."""
    previous, best = manifest.generations, manifest.best
    superseded_best = "" if best is None else best.model_sha256
    if new.metric is not None and (best is None or _beats(new, best)):
        new, best = replace(new, is_best=True), None
    others = [
        replace(item, is_best=item is best)
        for item in previous
        if item.step != new.step or item is best
    ]
    return Manifest(
        description=description,
        generations=_retain((*others, new), keep),
        superseded_model=previous[-1].model_sha256 if previous else "",
        superseded_best=superseded_best,
    )


def _beats(new: Generation, best: Generation) -> bool:
    """Equals do not, so that a policy on its plateau is not announced as better every time."""
    return _rank(new) > _rank(best) or (_rank(new) == _rank(best) and new.step == best.step)


def _rank(generation: Generation) -> float:
    return -math.inf if generation.metric is None else generation.metric


def _retain(generations: Sequence[Generation], keep: int) -> tuple[Generation, ...]:
    """The newest ones whole; the best and the last final one at least as policies.

    A replay buffer can be gigabytes, so an older generation goes on without it.
    """
    newest = generations[-keep:]
    finals = [item for item in generations if item.is_final][-1:]
    older = [item for item in generations[:-keep] if item.is_best or item in finals]
    return (*(_without_replay(item) for item in older), *newest)


def _without_replay(generation: Generation) -> Generation:
    if not generation.replay:
        return generation
    dropped = set(generation.replay)
    files = {name: record for name, record in generation.files.items() if name not in dropped}
    return replace(generation, files=files, is_resumable=False)


def free_tag(step: int, existing: set[str]) -> str:
    """A tag none of the existing files has: what a manifest refers to is never overwritten."""
    used = {name.partition("-")[2].partition(".")[0] for name in existing}
    used |= {tag.rpartition("-")[0] for tag in used}  # replay files have a number after the tag
    tag, count = str(step), 1
    while tag in used:
        count += 1
        tag = f"{step}-{count}"
    return tag


# ---- reading -----------------------------------------------------------------------------------


class OtherVersionError(ValueError):
    """The manifest is sound, but not of this program's making."""


def parse_manifest(data: bytes) -> Manifest:
    """Raises ValueError on anything but a whole manifest: nothing in it is taken on trust."""
    content = parse_json(data)
    _require(isinstance(content, dict) and "version" in content, "it has no version")
    if content["version"] != VERSION:
        raise OtherVersionError(f"version {str(content['version'])[:20]}, known is {VERSION}")
    description, generations = content.get("description"), content.get("generations")
    superseded, superseded_best = content.get("superseded_model"), content.get("superseded_best")
    _require(isinstance(description, dict), "the description is missing")
    _require(isinstance(generations, list) and len(generations) > 0, "there is no generation")
    _require(superseded == "" or _is_sha256(superseded), "superseded_model is no SHA-256")
    # Manifests of earlier versions do not have it.
    is_hash = superseded_best in (None, "") or _is_sha256(superseded_best)
    _require(is_hash, "superseded_best is no SHA-256")
    parsed = tuple(_parse_generation(item) for item in generations)
    return Manifest(description, parsed, superseded, superseded_best or "")


def _parse_generation(content: Any) -> Generation:
    _require(isinstance(content, dict), "a generation is no object")
    step, tag, metric = content.get("step"), content.get("tag"), content.get("metric")
    best, final, resumable = (content.get(f"is_{name}") for name in ("best", "final", "resumable"))
    files = content.get("files")
    _require(_is_count(step), "a step is no count")
    _require(isinstance(tag, str) and _TAG.fullmatch(tag) is not None, f"{step} has no tag")
    is_number = isinstance(metric, int | float) and not isinstance(metric, bool)
    _require(metric is None or is_number, f"the metric of {step} is no number")
    are_flags = all(isinstance(flag, bool) for flag in (best, final, resumable))
    _require(are_flags, f"a flag of {step} is neither true nor false")
    _require(isinstance(files, dict), f"{step} has no files")
    records = {name: _parse_record(name, record) for name, record in files.items()}
    generation = Generation(step, tag, records, metric, best, final, resumable)
    for name in (generation.model, generation.tensors, generation.values):
        _require(name in records, f"{name} is not listed")
    return generation


def _parse_record(name: str, content: Any) -> FileRecord:
    # A name with a slash could lead out of the folder; only names of our making pass.
    _require(FILE_NAME.fullmatch(name) is not None, f"{name[:80]!r} is no checkpoint file")
    _require(isinstance(content, dict), f"{name} has no record")
    sha256, size = content.get("sha256"), content.get("size")
    _require(_is_sha256(sha256), f"{name} has no SHA-256")
    _require(_is_count(size), f"{name} has no size")
    return FileRecord(sha256, size)


def _require(is_met: bool, problem: str) -> None:
    if not is_met:
        raise ValueError(problem)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _generation_to_json(generation: Generation) -> dict[str, Any]:
    return {
        "step": generation.step,
        "tag": generation.tag,
        "metric": generation.metric,
        "is_best": generation.is_best,
        "is_final": generation.is_final,
        "is_resumable": generation.is_resumable,
        "files": {name: record._asdict() for name, record in generation.files.items()},
    }
