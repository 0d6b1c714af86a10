"""The team that a config asks for, and its mistakes by the names the config has for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic.errors import MosaicError
from spade_bdi_rl_worker.agents.accounts import DEFAULT_PORT, ExternalServer
from spade_bdi_rl_worker.agents.settings import COACH, CompanionSettings, TeamSettings
from spade_bdi_rl_worker.config import BdiWorkerConfig, read_plan
from spade_bdi_rl_worker.options import EMBEDDED, PASSWORD_VARIABLE

_FIELDS = {
    "plan": "extras.plan",
    "agents": "extras.agents",
    "xmpp.host": "extras.server",
    "xmpp.port": "extras.server_port",
    "xmpp.password_variable": f"environment.{PASSWORD_VARIABLE}",
}
# A belief of the plan's own that says how many episodes a decision is for.
_OWN_BATCH = re.compile(r"^\s*batch\s*\(", re.MULTILINE)


def team_settings(config: BdiWorkerConfig, folder: Path) -> TeamSettings:
    with named_fields():
        return TeamSettings(
            folder,
            plan=_plan(config.extra("plan"), "extras.plan"),
            companions=_companions(config),
            server=_server(config),
            port=(config.extra("server_port") or 0) if _is_embedded(config) else 0,
            beliefs=_beliefs(config),
        )


def decides_batches(config: BdiWorkerConfig, settings: TeamSettings) -> bool:
    """Whether it is for the worker to say how many episodes a decision is for."""
    return config.extra("episodes_per_decision") is None and not _OWN_BATCH.search(
        settings.learner_plan
    )


@contextmanager
def named_fields() -> Iterator[None]:
    """Errors name the fields of our config."""
    try:
        yield
    except MosaicError as error:
        field = str(error.details.get("field", ""))
        if field in _FIELDS:
            error.details["field"] = _FIELDS[field]
        raise


def _is_embedded(config: BdiWorkerConfig) -> bool:
    return bool(config.extra("server") == EMBEDDED)


def _server(config: BdiWorkerConfig) -> ExternalServer | None:
    if _is_embedded(config):
        return None
    return ExternalServer(
        config.extra("server"),
        config.extra("server_port") or DEFAULT_PORT,
        config.extra("server_domain") or "",
        password_variable=PASSWORD_VARIABLE,
        user_prefix=config.extra("server_user") or "",
        verify=config.extra("server_verify"),
        registers=config.extra("server_registers"),
    )


def _companions(config: BdiWorkerConfig) -> tuple[CompanionSettings, ...]:
    coach = CompanionSettings(
        COACH, "coach", _plan(config.extra("coach_plan"), "extras.coach_plan")
    )
    more = [
        CompanionSettings(
            str(agent["name"]),
            agent.get("role", "observer"),
            _plan(agent.get("plan"), f"extras.agents.{place}.plan"),
        )
        for place, agent in enumerate(config.extra("agents") or ())
    ]
    return (coach, *more)


def _plan(path: str | None, where: str) -> str:
    return read_plan(path, where) if path else ""


def _beliefs(config: BdiWorkerConfig) -> dict[str, float | int | str | bool]:
    batch = config.extra("episodes_per_decision")
    return {} if batch is None else {"batch": batch}
