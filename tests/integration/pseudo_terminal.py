"""A terminal for tests: a program runs in it, what it shows is kept, keys can be pressed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from typing import Any

from tests.waiting import PATIENCE_S, wait_until

_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class PseudoTerminal:
    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self._master, self.slave = os.openpty()
        self.resize(columns, rows)
        self._output = bytearray()
        self._answers: dict[bytes, bytes] = {}
        # A failed test that left its terminal open must not keep the whole suite from ending.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def answer(self, question: bytes, answer: bytes) -> None:
        """As a real terminal does, when it is asked."""
        self._answers[question] = answer

    @property
    def mode(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    @property
    def output(self) -> str:
        return bytes(self._output).decode(errors="replace")

    def forget(self) -> None:
        self._output.clear()

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait_for(self, text: str, timeout_s: float = PATIENCE_S) -> None:
        try:
            wait_until(lambda: text in self.output, timeout_s, repr(text))
        except AssertionError as error:
            raise AssertionError(f"{error}; the terminal shows {self.output[-500:]!r}") from None

    def start(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """It has this as its controlling terminal: keys become signals.

        It takes the terminal itself, before it becomes the command. Done between fork and exec, in
        this process with its gRPC threads, gRPC's fork handlers may hang.
        """
        return subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *command],
            env=environment,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
        )

    def close(self) -> None:
        os.close(self.slave)
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # nobody has the other end open any more
            while data := os.read(self._master, 1 << 16):
                self._output += data
                for question, answer in self._answers.items():
                    if question in data:
                        os.write(self._master, answer)


@contextlib.contextmanager
def pseudo_terminal(columns: int = 80, rows: int = 24) -> Iterator[PseudoTerminal]:
    terminal = PseudoTerminal(columns, rows)
    try:
        yield terminal
    finally:
        terminal.close()
