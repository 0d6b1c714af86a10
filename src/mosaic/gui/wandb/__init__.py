"""What a run logs for W&B, and the upload of an offline run."""
