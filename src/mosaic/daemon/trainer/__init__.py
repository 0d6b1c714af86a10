"""The trainer: everything the daemon can do for its clients, put together."""
