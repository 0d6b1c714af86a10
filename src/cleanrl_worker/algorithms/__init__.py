"""One file per algorithm: its hyperparameters, its loop and its maths, readable top to bottom."""
