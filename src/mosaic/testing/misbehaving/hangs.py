"""Ignores every polite request to end. Prints `ready` when it has stopped listening."""

import signal
import time

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(3600)
