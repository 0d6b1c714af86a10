"""What is needed to play a recorded episode again, and what a worker offers for it.

A worker that can make its environments again names a function in its capabilities
(`replay_maker`, as "package.module:function"). It is called in the worker's own interpreter with
the settings that were recorded, and returns a ReplayEnvironment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from mosaic.contracts.events import EpisodeSummary

if TYPE_CHECKING:
    from mosaic.contracts.consent import Consent


@dataclass(frozen=True)
class EpisodeRecording:
    """An episode as it was recorded: how it began, what was done, what came of it."""

    run_id: str
    episode: EpisodeSummary
    attempt: int
    env_id: str
    maker: str  # "package.module:function"
    python: str  # the interpreter in which the maker can be imported
    settings: dict[str, Any]  # what the maker is called with
    # How the environment is brought to its beginning; the maker's own business. Recordings made
    # from step telemetry have {"seed": n} and no state.
    start: dict[str, Any] = field(default_factory=dict)
    start_state: bytes = b""
    # So many of the actions come before the episode: they lead from the start to its beginning.
    lead: int = 0
    # Either arrays in one block (numpy dtype, shape of one action, all of them) or JSON values.
    action_dtype: str = ""
    action_shape: tuple[int, ...] = ()
    actions: bytes = b""
    actions_json: tuple[Any, ...] = ()
    # One per action, those of the lead included.
    rewards: tuple[float, ...] = ()
    # What the agent expected of the state in which it took each action of the episode (not of the
    # lead): NaN where that is unknown. Empty where its worker does not tell.
    values: tuple[float, ...] = ()
    # Why it cannot be simulated again; empty when it can.
    problem: str = ""
    # Recorded clips of the run, relative to its folder.
    clips: tuple[str, ...] = ()
    # Folders for PYTHONPATH, so that the interpreter finds the maker and MOSAIC.
    path: tuple[str, ...] = ()
    # What a person has to see before it is simulated: the run comes from elsewhere, and its
    # environment is none of this installation's. Not simulated without.
    consent: Consent | None = None


class EpisodeStart(NamedTuple):
    """What `begin` gets. `lead_actions` are to be taken before the episode begins."""

    details: dict[str, Any]
    state: bytes
    lead_actions: Any  # numpy array or list


class Moment(NamedTuple):
    """What a step gave."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool


class ReplayEnvironment(Protocol):
    """It may also have `render_fps`, how many steps a second look natural, and `runs_on`: True
    where a step after the end of an episode goes on with the next one, as in the training.
    """

    def begin(self, start: EpisodeStart) -> Any:
        """Stand at the beginning of the episode; returns its first observation."""

    def step(self, action: Any) -> Moment: ...

    def picture(self) -> Any:
        """What it looks like now: RGB, uint8, (height, width, 3)."""

    def close(self) -> None: ...
