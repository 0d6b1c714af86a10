"""Whether an off-policy learner's updates are recorded as CUDA graphs; never a reason to fail."""

from __future__ import annotations

from collections.abc import Callable

from cleanrl_worker.kit.session import Session


def record_graphs_if_wanted(record: Callable[[], None], session: Session) -> None:
    """After `session.keep`: the graphs then start from the state of the checkpoint."""
    if session.device.type != "cuda" or not session.arguments.compile:
        return
    try:
        record()
    except RuntimeError as error:
        reason = str(error).strip().partition("\n")[0]
        session.note(f"CUDA graphs are not possible here, going on without them: {reason}")
    else:
        session.note("updates and acting are replayed as CUDA graphs")
