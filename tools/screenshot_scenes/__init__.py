"""What `make screenshots` shows: real runs in a home of their own, and the window over them."""
