"""What a run of the worker does: train, resume or evaluate, in this very process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from mosaic.worker import DependencyError, Run
from spade_bdi_rl_worker.config import BdiWorkerConfig
from spade_bdi_rl_worker.options import EVALUATE

_HINT = "mosaic bundles install spade_bdi_worker"


def check(config: BdiWorkerConfig) -> dict[str, Any]:
    """Refuses what cannot work, and says what would run; for dry runs and `run_started`."""
    try:
        if config.mode == EVALUATE:
            from spade_bdi_rl_worker.evaluation import describe_evaluation

            return describe_evaluation(config)
        return _check_training(config)
    except ImportError as error:
        raise DependencyError(
            f"A package that this worker needs cannot be imported: {error}", hint=_HINT
        ) from error


def _check_training(config: BdiWorkerConfig) -> dict[str, Any]:
    from spade_bdi_rl_worker.agents.accounts import external_accounts
    from spade_bdi_rl_worker.agents.team import check_plans
    from spade_bdi_rl_worker.planning import plan_training
    from spade_bdi_rl_worker.team_settings import named_fields, team_settings

    plan = plan_training(config)
    plan.settings()
    plan.make_world().close()
    settings = team_settings(config, Path(tempfile.gettempdir()))
    with named_fields():
        check_plans(settings)
        if settings.server is not None:
            external_accounts(settings.server, ["learner"])
    server = "embedded" if settings.server is None else str(settings.server.address)
    return {**plan.facts(), "server": server}


def execute(run: Run[BdiWorkerConfig]) -> None:
    if run.config.mode == EVALUATE:
        from spade_bdi_rl_worker.evaluation import evaluate

        evaluate(run)
        return
    from spade_bdi_rl_worker.training import train

    train(run)
