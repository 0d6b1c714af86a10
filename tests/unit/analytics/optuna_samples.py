"""Makes Optuna storages with the real library, and says what Optuna itself reads from them.

Run as a program it writes the stored fixtures: python optuna_samples.py FOLDER
"""

from __future__ import annotations

import json
import math
import sqlite3
import sys
from pathlib import Path
from typing import Any

JOURNAL = "optuna.journal"
DATABASE = "optuna.db"
DATABASE_AS_TEXT = "optuna.sql"
EXPECTED = "optuna_expected.json"


def open_storage(path: Path) -> Any:
    import optuna

    if path.suffix == ".db":
        return optuna.storages.RDBStorage(f"sqlite:///{path}")
    from optuna.storages.journal import JournalFileBackend

    return optuna.storages.JournalStorage(JournalFileBackend(str(path)))


def fill(storage: Any) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        x = trial.suggest_float("x", -1, 1)
        trial.suggest_float("rate", 1e-5, 1e-1, log=True)
        trial.suggest_int("layers", 1, 4)
        trial.suggest_categorical("activation", ["tanh", None, 3, True, 0.5])
        trial.set_user_attr("note", {"trial": trial.number, "text": "ünï"})
        for step in range(3):
            trial.report([x, math.inf, math.nan][step], step * 10)
        if trial.number == 2:
            raise optuna.TrialPruned
        if trial.number == 3:
            raise ValueError
        return math.inf if trial.number == 4 else x

    study = optuna.create_study(
        storage=storage, study_name="single", sampler=optuna.samplers.RandomSampler(seed=1)
    )
    study.set_user_attr("owner", "somebody")
    study.enqueue_trial({"x": 0.25})
    study.optimize(objective, n_trials=6, catch=(ValueError,))
    study.enqueue_trial({"x": 0.5})
    study.ask()
    study.ask()
    both = optuna.create_study(
        storage=storage, study_name="both", directions=["minimize", "maximize"]
    )
    both.optimize(lambda trial: (trial.suggest_int("n", 0, 9), 1.0), n_trials=2)
    both.add_trial(
        optuna.trial.create_trial(
            params={"n": 3},
            distributions={"n": optuna.distributions.IntDistribution(0, 9)},
            values=[3.0, 2.0],
        )
    )
    optuna.create_study(storage=storage, study_name="gone")
    optuna.delete_study(study_name="gone", storage=storage)


def as_optuna_reads_it(storage: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": study.study_name,
            "directions": [direction.name for direction in study.directions],
            "user_attrs": study.user_attrs,
            "trials": [
                {
                    "number": trial.number,
                    "state": trial.state.name,
                    "values": trial.values,
                    "params": trial.params,
                    "user_attrs": trial.user_attrs,
                    "intermediate_values": {
                        str(step): value for step, value in trial.intermediate_values.items()
                    },
                    "started_at": str(trial.datetime_start),
                    "ended_at": str(trial.datetime_complete),
                }
                for trial in storage.get_all_trials(study._study_id)
            ],
        }
        for study in storage.get_all_studies()
    ]


def main(folder: Path) -> None:
    expected = {}
    for name in (DATABASE, JOURNAL):
        storage = open_storage(folder / name)
        fill(storage)
        expected[name] = as_optuna_reads_it(storage)
    with sqlite3.connect(folder / DATABASE) as database:
        (folder / DATABASE_AS_TEXT).write_text("\n".join(database.iterdump()) + "\n")
    (folder / DATABASE).unlink()
    (folder / EXPECTED).write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
