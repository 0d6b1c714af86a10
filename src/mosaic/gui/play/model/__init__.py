"""Playing without Qt: keys, what it takes to play, and a session in words."""
