"""Twenty-four trials of an Optuna study over a made-up objective: enough to fill a table."""

import optuna

optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(
    study_name="lr-search",
    storage="sqlite:///study.db",
    direction="maximize",
    sampler=optuna.samplers.TPESampler(seed=1),
)


def objective(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("learning_rate", 1e-5, 1e-2, log=True)
    environments = trial.suggest_int("num_envs", 1, 16)
    activation = trial.suggest_categorical("activation", ["relu", "tanh"])
    if trial.number % 7 == 5:
        raise optuna.TrialPruned
    if trial.number % 11 == 9:
        raise ValueError("diverged")
    bonus = 5 if activation == "tanh" else 0
    return 480 - abs(rate - 1e-3) * 2e4 - abs(environments - 8) * 3 + bonus


def tell(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
    value = "–" if trial.value is None else f"{trial.value:.1f}"
    print(f"trial {trial.number:2}  {trial.state.name.lower():8}  {value}", flush=True)


study.optimize(objective, n_trials=24, catch=(ValueError,), callbacks=[tell])
