"""What travels between the daemon and its clients: messages, errors and credentials."""
