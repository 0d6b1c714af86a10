"""Calls that may need a person's consent: made, asked about in the window, and made again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.consent import consent_asked
from mosaic.errors import ConsentError, MosaicError
from mosaic.gui.async_bridge import AsyncBridge, Task
from mosaic.gui.state.consent_question import ConsentQuestion
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
    granted: Granted = frozenset(),
) -> Task:
    """`request` is made again with each consent, so a part of it that was done is found done.

    `subject`: whose code it is, for the question. A person who does not want it has `failed`
    called with a ConsentError.
    """

    def on_failed(error: MosaicError) -> None:
        needed = consent_asked(error) if isinstance(error, ConsentError) else None
        if needed is None or needed.digest in granted:
            failed(error)
            return

        def again() -> None:
            more = granted | {needed.digest}
            ask_with_consent(state, bridge, request, done, failed, subject=subject, granted=more)

        def refuse() -> None:
            failed(ConsentError("Nothing was started"))

        state.ask_consent(ConsentQuestion(subject, needed, again, refuse))

    return bridge.ask(lambda client: request(client, granted), done, on_failed)


async def submitted(
    client: AsyncTrainerClient, document: dict[str, Any], key: str, granted: Granted
) -> Submission:
    """One run. The key makes a second call find the run of the first."""
    try:
        return await client.submit(document, key, consent="")
    except ConsentError as error:
        needed = consent_asked(error)
        if needed is None or needed.digest not in granted:
            raise
        return await client.submit(document, key, consent=needed.digest)
