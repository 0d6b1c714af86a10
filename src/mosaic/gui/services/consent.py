"""Calls that may need a person's consent: made, asked about in the window, and made again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.consent import consent_error, requested_consent
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import ConsentError, MosaicError
from mosaic.gui.services.async_bridge import AsyncBridge, Task
from mosaic.gui.state.notices import ConsentQuestion
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.wire.answers import Submission

T = TypeVar("T")
# Digests of what was confirmed so far.
Granted = frozenset[str]


def ask_with_consent(
    state: WorkbenchState,
    bridge: AsyncBridge,
    request: Callable[[AsyncTrainerClient, Granted], Awaitable[T]],
    done: Callable[[T], None],
    failed: Callable[[MosaicError], None],
    *,
    subject: str,
    granted: set[str] | None = None,
    begun: Callable[[Task], object] = lambda _: None,
) -> None:
    """`request` is made again with each consent, so a part of it that was done is found done.

    `subject`: whose code it is, for the question. A person who does not want it has `failed`
    called with a ConsentError. `granted` grows with each yes; `begun` gets every task.
    """
    answers = set() if granted is None else granted

    def ask() -> None:
        so_far = frozenset(answers)
        task = bridge.ask(
            lambda client: request(client, so_far), done, lambda error: on_failed(task, error)
        )
        begun(task)

    def on_failed(task: Task, error: MosaicError) -> None:
        needed = requested_consent(error) if isinstance(error, ConsentError) else None
        if needed is None or needed.digest in answers:
            failed(error)
            return

        def grant() -> None:
            answers.add(needed.digest)
            if not task.is_canceled:
                ask()

        def refuse() -> None:
            if not task.is_canceled:
                failed(ConsentError("Nothing was started"))

        state.ask_consent(ConsentQuestion(subject, needed, grant, refuse))

    ask()


async def submit_with_consent(
    client: AsyncTrainerClient,
    document: dict[str, Any],
    key: str,
    granted: Granted,
    agreed: Mapping[str, Any] | None = None,
) -> Submission:
    """One run. The key makes a second call find the run of the first.

    `agreed`: what may be installed for it, as `submit` of the client takes it.
    """
    installs = agreed or {}
    try:
        return await client.submit(document, key, consent="", **installs)
    except ConsentError as error:
        needed = requested_consent(error)
        if needed is None or needed.digest not in granted:
            raise
        return await client.submit(document, key, consent=needed.digest, **installs)


async def recording_with_consent(
    client: AsyncTrainerClient, run_id: str, episode_index: int, granted: Granted
) -> EpisodeRecording:
    """An episode that can be simulated, or whose problem is another one."""
    recording = await client.get_recording(run_id, episode_index)
    needed = recording.consent
    if needed is None:
        return recording
    if needed.digest not in granted:
        raise consent_error(needed, None, "This episode")
    return await client.get_recording(run_id, episode_index, consent=needed.digest)
