"""Where the scalars of a training are written: TensorBoard's event files, Weights & Biases."""
