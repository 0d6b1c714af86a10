"""Two windows, two processes, one daemon: what is done in one is seen in the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.daemon_harness import DaemonHarness
from tests.waiting import wait_until

SEEN_S = 60.0


class ToldWindow:
    def __init__(self, home: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.gui.told_window", home],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
            text=True,
        )
        self.shown: dict[str, Any] = {"rows": {}, "theme": ""}
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def tell(self, command: str, run_id: str = "") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command} {run_id}".strip() + "\n")
        self._process.stdin.flush()

    def see(self, is_seen: Callable[[dict[str, Any]], bool], what: str) -> None:
        wait_until(lambda: is_seen(self.shown), SEEN_S, what)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(SEEN_S)
        finally:
            self._process.kill()
        self._reading.join(SEEN_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.shown = json.loads(line)


@contextmanager
def window(daemon: DaemonHarness) -> Iterator[ToldWindow]:
    made = ToldWindow(str(daemon.home.root))
    try:
        yield made
    finally:
        made.close()


def test_they_stay_in_step(daemon: DaemonHarness) -> None:
    run_id = daemon.submit()
    daemon.wait_over(run_id)
    with window(daemon) as one, window(daemon) as other:
        for each in (one, other):
            each.see(lambda shown: run_id in shown["rows"], "the run")
        one.tell("run.pin", run_id)
        other.see(lambda shown: shown["rows"][run_id]["pinned"] is True, "the pin")
        other.tell("run.unpin", run_id)
        one.see(lambda shown: shown["rows"][run_id]["pinned"] is False, "no pin")
        another = daemon.submit()
        for each in (one, other):
            each.see(
                lambda shown: shown["rows"].get(another, {}).get("state") == "succeeded",
                "a run that was started elsewhere",
            )
        one.tell("view.theme.light")
        one.see(lambda shown: shown["theme"] == "light", "the other theme")
        other.tell("run.delete", run_id)
        for each in (other, one):
            each.see(lambda shown: run_id not in shown["rows"], "that it is deleted")
        assert other.shown["theme"] != "light", "how it looks is each window's own"
