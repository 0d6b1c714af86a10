"""What tests of MOSAIC and of its workers share: contract tests and misbehaving workers."""
