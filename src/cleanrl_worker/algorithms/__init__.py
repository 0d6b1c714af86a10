"""One file per algorithm: its hyperparameters, its loop and its maths, readable top to bottom."""

import cleanrl_worker.thread_environment  # noqa: F401  # before an algorithm imports numpy
