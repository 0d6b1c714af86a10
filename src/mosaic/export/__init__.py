"""Files for other tools, made of what a run has stored: TensorBoard, CSV, Parquet, Minari.

Rows come in through iterators; where they come from is up to the caller.
"""
