"""What a config with `source: upstream` means: which script, interpreter and flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.upstream.flags import choose_flags, value_of
from cleanrl_worker.upstream.interpreter import (
    ask_interpreter,
    interpreter_path,
    require_packages,
)
from cleanrl_worker.upstream.script_reading import Script, read_script
from cleanrl_worker.upstream.scripts import ScriptFolder, find_scripts


@dataclass(frozen=True)
class UpstreamPlan:
    script: Script
    folder: ScriptFolder
    python: str
    flags: list[str]
    env_id: str | None
    seed: int | None
    total_steps: int | None  # None where only the script knows

    @property
    def command(self) -> tuple[str, ...]:
        return (self.python, str(self.script.path), *self.flags)


def plan_upstream(config: CleanRLWorkerConfig) -> UpstreamPlan:
    """Raises ConfigError or DependencyError for what could not run."""
    python = interpreter_path(config.extras.get("env_python"))
    folder = find_scripts(config.extras.get("upstream_path"), python)
    script = read_script(folder.find(config.algo or ""))
    chosen = choose_flags(config, script)
    # As it will look for them: in its own folder first, then beside it.
    places = [script.path.parent, *([] if folder.root is None else [folder.root])]
    require_packages(ask_interpreter(python, script.imports, places), script.imports, script.path)
    return UpstreamPlan(
        script=script,
        folder=folder,
        python=python,
        flags=chosen.words,
        env_id=value_of(script, chosen, "env_id"),
        seed=value_of(script, chosen, "seed"),
        total_steps=_whole(value_of(script, chosen, "total_timesteps")),
    )


def describe_upstream(config: CleanRLWorkerConfig) -> dict[str, Any]:
    return findings(plan_upstream(config))


def findings(plan: UpstreamPlan) -> dict[str, Any]:
    """What is known of the run beyond its config; part of `run_started` and the manifest."""
    return {
        "source": "upstream",
        "algo": plan.script.name,
        "script": str(plan.script.path),
        "generation": plan.script.generation,
        "python": plan.python,
        "env_id": plan.env_id,
        "seed": plan.seed,
        "total_steps": plan.total_steps,
        "total_timesteps": plan.total_steps,
        "flags": plan.flags,
    }


def _whole(value: Any) -> int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and value >= 1 else None
