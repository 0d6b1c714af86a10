"""What a run logs for TensorBoard, and TensorBoard itself on demand."""
