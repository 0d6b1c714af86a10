"""There are as many GPUs as the run cannot do without."""

from __future__ import annotations

from mosaic.daemon.preflight.subject import Subject
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.errors import GpuError

CHECK = "gpu"


def check(subject: Subject) -> list[PreflightResult]:
    request, present = subject.config.resources.gpus, len(subject.capacity.gpus)
    entry = subject.command.entry
    needs_one = bool(entry and entry.capabilities and entry.capabilities.requires_gpu)
    has = f"this machine has {present or 'none'}"
    if request.mandatory and request.requested > present:
        return [
            _failed(
                f"The run needs {request.requested} GPU(s); {has}",
                present,
                "ask for fewer, or set resources.gpus.mandatory to false to run on the CPU",
            )
        ]
    if needs_one and not present and entry is not None:
        return [
            _failed(f"The worker {entry.name!r} needs a GPU; {has}", present, "use another worker")
        ]
    if needs_one and not request.requested and entry is not None:
        return [
            _failed(
                f"The worker {entry.name!r} needs a GPU, but the run does not ask for any",
                present,
                "set resources.gpus.requested to 1",
            )
        ]
    if request.requested > present:
        used = f"uses {present}" if present else "runs on the CPU"
        message = f"{request.requested} GPU(s) requested; {has}, so the run {used}"
        return [PreflightResult(CHECK, False, message, required=False)]
    return [PreflightResult(CHECK, True, f"{request.requested} of {present} GPU(s)")]


def _failed(message: str, present: int, fix: str) -> PreflightResult:
    return PreflightResult(
        CHECK, False, message, fix, error=GpuError, details={"gpus_present": present}
    )
