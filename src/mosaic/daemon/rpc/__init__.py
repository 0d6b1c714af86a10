"""The daemon's front: its process, its sockets, and one handler for each call."""
