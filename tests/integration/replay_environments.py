"""Makers for tests of replay with real processes: environments that misbehave in their own ways."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import Any

from mosaic.contracts.replay import Moment
from tests.replay_samples import CountingEnvironment


class Misbehaving(CountingEnvironment):
    """Does settings["what"] when it is asked for step settings["at"]."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self._what, self._at = settings["what"], settings.get("at", 0)
        if self._at == "make":
            self._misbehave()

    def step(self, action: Any) -> Moment:
        if action == self._at:
            self._misbehave()
        return super().step(action)

    def _misbehave(self) -> None:
        print("about to", self._what, file=sys.stderr, flush=True)
        getattr(self, self._what)()

    def raises(self) -> None:
        raise ValueError("the wheel came off")

    def hangs(self) -> None:
        time.sleep(600)

    def hangs_in_c(self) -> None:
        """Holds the interpreter's lock for ever."""
        re.match("(a+)+$", "a" * 60 + "b")

    def exits(self) -> None:
        os._exit(7)

    def leaves(self) -> None:
        sys.exit("I am leaving")

    def crashes(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def prints(self) -> None:
        print("x" * 100_000)
        sys.stdout.flush()
        os.write(1, b"garbage\x00" * 10_000)
        subprocess.run(["echo", "from a child"], check=True)

    def reads(self) -> None:
        sys.stdin.read()

    def starts(self) -> None:
        """A child that would outlive it; its number is the next reward."""
        child = subprocess.Popen(["sleep", "600"])
        self._seed = child.pid - len(self.taken)


class Undrawn(CountingEnvironment):
    def picture(self) -> Any:
        return None


class Slow(CountingEnvironment):
    def step(self, action: Any) -> Moment:
        time.sleep(0.15)
        return super().step(action)
