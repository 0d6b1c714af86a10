"""Pictures of a study, drawn by another process: what is asked of it, and the asking. Blocks."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from mosaic.analytics.optuna.drawing import HISTORY, IMPORTANCE, MOST_TRIALS
from mosaic.analytics.optuna.study import Study, Trial
from mosaic.errors import DependencyError, MosaicError

_PROGRAM = "mosaic.analytics.optuna.drawing"
_PATIENCE_S = 90.0
_MOST_BYTES = 32_000_000
_PACKAGES = ("optuna", "matplotlib", "scipy")
_FEWEST = {HISTORY: 1, IMPORTANCE: 4}


def drawn_trials(study: Study) -> list[Trial]:
    """Complete ones with a finite first value, in the order in which they are drawn."""
    return [
        trial
        for trial in study.trials
        if trial.state == "COMPLETE" and trial.values and math.isfinite(trial.values[0])
    ][-MOST_TRIALS:]


def drawable_trials(study: Study) -> list[dict[str, Any]]:
    """What cannot be written as JSON becomes text."""
    return [
        {
            "value": trial.values[0] if trial.values else math.nan,
            "params": {str(k): _plain(v) for k, v in trial.params.items()},
        }
        for trial in drawn_trials(study)
    ]


def why_not(study: Study, kind: str) -> str:
    """Why there is no such picture yet; empty where there is one."""
    trials = drawable_trials(study)
    fewest = _FEWEST.get(kind, 2)
    if len(trials) < fewest:
        return f"Drawn from {fewest} complete trials on; there are {len(trials)}."
    if kind != HISTORY and not any(trial["params"] for trial in trials):
        return "The trials have no parameters."
    if kind == IMPORTANCE and len({trial["value"] for trial in trials}) < 2:
        return "All trials have the same value: no parameter matters more than another."
    return ""


def drawn(
    study: Study,
    kind: str,
    *,
    size: tuple[int, int],
    scale: float,
    colours: Mapping[str, str],
) -> bytes:
    """A PNG. Raises MosaicError with what to do. For a thread: it takes seconds."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise DependencyError(
            f"Pictures of a study need {', '.join(missing)}, which cannot be imported",
            hint='pip install "mosaic-rl[optuna]"',
            missing=missing,
        )
    directions = study.directions or ["MINIMIZE"]
    request = {
        "kind": kind,
        "trials": drawable_trials(study),
        "direction": "MAXIMIZE" if directions[0] == "MAXIMIZE" else "MINIMIZE",
        "width": size[0],
        "height": size[1],
        "scale": scale,
        "colours": dict(colours),
    }
    try:
        answer = subprocess.run(
            [sys.executable, "-m", _PROGRAM],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MosaicError(
            "The study could not be drawn in time", hint="it is tried again with the next trial"
        ) from error
    if answer.returncode or not 0 < len(answer.stdout) <= _MOST_BYTES:
        said = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = f": {said[-1][:200]}" if said else ""
        raise MosaicError(
            f"Optuna could not draw this study{reason}", hint="the table below has its values"
        )
    return answer.stdout


def _plain(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and abs(value) < 1e15:
        return value
    return str(value)[:60]
