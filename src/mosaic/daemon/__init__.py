"""The trainer daemon: accepts runs, queues them, watches over them and tells clients about them."""
