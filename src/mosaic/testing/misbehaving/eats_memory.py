"""Takes `eats_memory.py <megabytes>` in small bites, touches every page, and keeps them."""

import sys
import time

megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
eaten = []
for _ in range(0, megabytes, 10):
    eaten.append(b"\xff" * 10_000_000)
    time.sleep(0.01)
print("full", flush=True)
while True:
    time.sleep(3600)
