"""Classic control in plain floats: Gymnasium's physics and seeding, several times as fast."""
