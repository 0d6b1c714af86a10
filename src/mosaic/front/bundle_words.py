"""Bundles in words: what one is, what is fetched for it, and how far an install is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from mosaic.contracts.bundles import (
    Accelerator,
    InstallPhase,
    InstallProgress,
    VenvInfo,
    VenvState,
)
from mosaic.contracts.manifest import AnalyticsManifest, DependencyBundle
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import CorruptStoreError
from mosaic.front.human import amount, duration, size

# Of a hash, as people see it.
SHOWN_HASH = 12
# Of the venv of a program that a worker runs elsewhere, wherever a run's own is named.
PROGRAM_BUNDLE = "program's bundle"

_ACCELERATOR_WORDS = {Accelerator.CPU: "CPU", Accelerator.CUDA: "CUDA", Accelerator.ROCM: "ROCm"}
# What is said of each phase before the package that it is about.
_PHASE_WORDS = {
    InstallPhase.WAITING: "waiting for its turn",
    InstallPhase.FETCHING: "fetching",
    InstallPhase.BUILDING: "building",
    InstallPhase.TESTING: "testing",
    InstallPhase.DONE: "done",
    InstallPhase.FAILED: "failed",
    InstallPhase.CANCELED: "canceled",
}
# A guess from less than this would jump about.
_LEAST_MEASURED_S = 2.0
_LEAST_SHARE = 0.02  # of all that is to be fetched


def accelerator_word(accelerator: Accelerator) -> str:
    return _ACCELERATOR_WORDS[accelerator]


def build_words(info: VenvInfo) -> str:
    """Which build it is, or would be: `Python 3.11, CPU`."""
    python = ".".join(info.python.split(".")[:2])
    parts = [f"Python {python}" if python else "", accelerator_word(info.accelerator)]
    return ", ".join(part for part in parts if part)


def state_words(info: VenvInfo) -> str:
    if info.state is VenvState.PRESENT:
        return "with MOSAIC"
    if info.state is VenvState.ABSENT:
        return "not installed"
    if info.state is VenvState.INSTALLING and info.progress is not None:
        return f"installing, {info.progress.percent}"
    return info.state.value


def fetch_words(info: VenvInfo) -> str:
    """How much would be fetched; empty where nothing would be."""
    wants_it = info.state in (VenvState.ABSENT, VenvState.INSTALLING, VenvState.BROKEN)
    return size(info.fetch_bytes) if wants_it and info.fetch_bytes else ""


def disk_words(info: VenvInfo) -> str:
    """What it takes, or with a ~ what it is expected to take where it is not here yet."""
    if not info.disk_bytes or info.state in (VenvState.PRESENT, VenvState.UNAVAILABLE):
        return ""
    return size(info.disk_bytes) if is_on_disk(info) else f"~{size(info.disk_bytes)}"


def is_on_disk(info: VenvInfo) -> bool:
    return info.state in (VenvState.INSTALLED, VenvState.BROKEN)


def total_words(infos: Sequence[VenvInfo]) -> str:
    """What all venvs take, and how much of it is in files that several of them hold."""
    held = [info for info in infos if is_on_disk(info)]
    if not held:
        return "nothing is installed yet"
    text = f"{amount(len(held), 'venv')}, {size(sum(info.disk_bytes for info in held))}"
    if shared := sum(info.shared_bytes for info in held):
        text += f"; {size(shared)} of it in files that several share, on disk once"
    return text


def install_words(info: VenvInfo, from_folder: str = "") -> str:
    """What installing it does, before anybody agrees: what it is, and how much is fetched."""
    title = f"{info.name}: {info.title}" if info.title else info.name
    where = f"from {from_folder}, nothing is fetched" if from_folder else _to_fetch(info)
    broken = "damaged, and made again" if info.state is VenvState.BROKEN else ""
    parts = [broken, where, f"about {size(info.disk_bytes)} on disk" if info.disk_bytes else ""]
    parts.append(build_words(info))
    text = f"{title} ({'; '.join(part for part in parts if part)})"
    return f"{text}. {info.note}" if info.note else text


def _to_fetch(info: VenvInfo) -> str:
    return f"at most {size(info.fetch_bytes)} to fetch" if info.fetch_bytes else "nothing to fetch"


def run_bundle_words(record: RunRecord) -> str:
    """What a run had: `learner+atari, CPU, lock 3f2a91c0d1e2`; empty beside MOSAIC itself."""
    manifest = _manifest(record)
    return "" if manifest is None else _bundle_words(manifest.bundle)


def program_bundle_words(record: RunRecord) -> str:
    """The same of a program that its worker ran in another venv; empty where there was none."""
    manifest = _manifest(record)
    return "" if manifest is None else other_bundle_words(manifest)


def other_bundle_words(manifest: AnalyticsManifest) -> str:
    return "; ".join(filter(None, map(_bundle_words, manifest.other_bundles)))


def _manifest(record: RunRecord) -> AnalyticsManifest | None:
    try:
        return AnalyticsManifest.from_dict(record.manifest)
    except CorruptStoreError:  # what a worker, or an archive, has written
        return None


def _bundle_words(bundle: DependencyBundle) -> str:
    if not bundle.name:
        return ""
    parts = [bundle.name, bundle.accelerator.upper()]
    parts.append(f"Python {bundle.python}" if bundle.python else "")
    parts.append(f"lock {bundle.lock_hash[:SHOWN_HASH]}" if bundle.lock_hash else "")
    return ", ".join(part for part in parts if part)


def phase_words(progress: InstallProgress) -> str:
    """What happens at this moment: `fetching numpy`."""
    text = _PHASE_WORDS[progress.phase]
    has_item = progress.item and progress.phase is not InstallPhase.WAITING
    return f"{text} {progress.item}" if has_item else text


def bytes_words(progress: InstallProgress) -> str:
    """Of what is fetched, while it is."""
    if not progress.total_bytes or progress.phase is not InstallPhase.FETCHING:
        return ""
    return f"{size(progress.done_bytes)} of {size(progress.total_bytes)}"


class TimeLeft:
    """How long the fetching will take, from how fast it has been since somebody looks."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: tuple[float, int] | None = None

    def words(self, progress: InstallProgress) -> str:
        """`1 min 5 s left`; empty while nobody knows."""
        if progress.phase is not InstallPhase.FETCHING:
            return ""
        now, done = self._clock(), progress.done_bytes
        if self._began is None or done < self._began[1]:
            self._began = (now, done)
        since, done_then = self._began
        enough = max(1, _LEAST_SHARE * progress.total_bytes)
        if now - since < _LEAST_MEASURED_S or done - done_then < enough:
            return ""
        speed = (done - done_then) / (now - since)
        return f"{duration(max(0, progress.total_bytes - done) / speed)} left"
