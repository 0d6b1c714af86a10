"""Never reaps its children: `zombie.py [count]` prints their pids and waits forever."""

import os
import sys
import time

for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2):
    child = os.fork()
    if child == 0:
        os._exit(0)
    print("zombie", child, flush=True)
print("ready", flush=True)
while True:
    time.sleep(3600)
