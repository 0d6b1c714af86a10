"""Playing: a person, a policy, or both in turn."""
