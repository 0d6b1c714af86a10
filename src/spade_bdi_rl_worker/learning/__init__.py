"""Tables of values, how they learn, and the worlds they are about; nothing of agents or runs."""
