"""TensorBoard: reads its event files, and shows them with TensorBoard itself."""
