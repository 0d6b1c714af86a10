"""Reads what trainings leave for other tools: TensorBoard events, W&B logs, Optuna studies.

Nothing here imports those tools, writes to their files, or takes a lock that a writer waits for.
"""
