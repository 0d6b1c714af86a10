"""What a team of agents consists of, and what it talks over."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mosaic.errors import ConfigError
from spade_bdi_rl_worker.agents.accounts import NAME, ExternalServer

LEARNER = "learner"
COACH = "coach"
Role = Literal["coach", "observer"]
ROLES: tuple[Role, ...] = ("coach", "observer")
PLANS_FOLDER = Path(__file__).parent / "plans"
MAX_COMPANIONS = 16


def shipped_plan(role: str) -> str:
    """The AgentSpeak that comes along for a learner, a coach or an observer."""
    return (PLANS_FOLDER / f"{role}.asl").read_text(encoding="utf-8")


@dataclass(frozen=True)
class CompanionSettings:
    """An agent in a process of its own."""

    name: str
    role: Role
    plan: str = ""  # AgentSpeak; default: what is shipped for its role


@dataclass(frozen=True)
class TeamSettings:
    """`folder` is the run's own: the embedded server keeps its certificate and database there."""

    folder: Path
    plan: str = ""  # of the learner; default: what is shipped
    # The first coach is the one that goals go to.
    companions: tuple[CompanionSettings, ...] = (CompanionSettings(COACH, "coach"),)
    server: ExternalServer | None = None  # default: an embedded one
    port: int = 0  # of the embedded server; 0: any that is free
    # Beliefs that the learner starts with, such as {"batch": 50}; its plan's own count for more.
    beliefs: dict[str, float | int | str | bool] = field(default_factory=dict)
    # How long the server, and each agent, may take to start on a busy machine.
    start_patience_s: float = 60.0

    def __post_init__(self) -> None:
        names = [LEARNER, *(companion.name for companion in self.companions)]
        for name in names:
            if not NAME.fullmatch(name):
                raise ConfigError(
                    f"{name!r} cannot be the name of an agent",
                    hint="use small letters, digits and underscores",
                    field="agents",
                )
        if len(set(names)) < len(names):
            raise ConfigError("two agents have the same name", field="agents")
        if len(self.companions) > MAX_COMPANIONS:
            raise ConfigError(
                f"more than {MAX_COMPANIONS} agents beside the learner", field="agents"
            )
        if not any(companion.role == "coach" for companion in self.companions):
            raise ConfigError("a team needs a coach", field="agents")
        if not 0 <= self.port <= 65_535:
            raise ConfigError(f"{self.port} is no port", field="xmpp.port")

    @property
    def coach(self) -> str:
        return next(item.name for item in self.companions if item.role == "coach")

    @property
    def roles(self) -> dict[str, str]:
        """Of all agents, by their names."""
        return {LEARNER: LEARNER, **{item.name: item.role for item in self.companions}}

    @property
    def learner_plan(self) -> str:
        return self.plan or shipped_plan(LEARNER)

    def plan_of(self, companion: CompanionSettings) -> str:
        return companion.plan or shipped_plan(companion.role)
