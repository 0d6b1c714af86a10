"""A client that follows one run on all streams: `python -m tests.chaos.follower HOME RUN OUT`.

Writes what it receives below OUT (events, log, states), and `done` when every stream has ended.
Meant to be stopped and continued by signals, like a user interface whose machine was suspended.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from mosaic.client import TrainerClient
from mosaic.logs import log_to_file


class Follower:
    """One in a process of its own, and what it has received so far."""

    def __init__(self, home: Path, run_id: str, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        command = [sys.executable, "-m", "tests.chaos.follower", str(home), run_id, str(folder)]
        self.process = subprocess.Popen(command)

    @property
    def sequence(self) -> list[int]:
        return [int(line) for line in self._lines("events")]

    @property
    def states(self) -> list[str]:
        return self._lines("states")

    @property
    def output(self) -> bytes:
        path = self._folder / "output"
        return path.read_bytes() if path.exists() else b""

    @property
    def is_done(self) -> bool:
        return (self._folder / "done").exists()

    @property
    def was_disconnected(self) -> bool:
        return "connection.lost" in (self._folder / "client.log").read_text()

    def _lines(self, name: str) -> list[str]:
        path = self._folder / name
        return path.read_text().splitlines() if path.exists() else []


def follow_events(client: TrainerClient, run_id: str, folder: Path) -> None:
    with (folder / "events").open("w") as file:
        for batch in client.stream_events(run_id, follow=True):
            file.writelines(f"{event['seq']}\n" for event in batch.events())
            file.flush()


def follow_output(client: TrainerClient, run_id: str, folder: Path) -> None:
    with (folder / "output").open("wb") as file:
        for chunk in client.stream_log(run_id, stream="stdout", follow=True):
            file.write(chunk.data)
            file.flush()


def follow_states(client: TrainerClient, run_id: str, folder: Path) -> None:
    with (folder / "states").open("w") as file:
        for record in client.watch((run_id,)):
            file.write(f"{record.state.value}\n")
            file.flush()
            if record.is_over:
                return


def main() -> None:
    home, run_id, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    log_to_file(folder / "client.log")
    tasks: tuple[Callable[[TrainerClient, str, Path], None], ...]
    tasks = (follow_events, follow_output, follow_states)
    with TrainerClient(home, autostart=False) as client:
        threads = [threading.Thread(target=task, args=(client, run_id, folder)) for task in tasks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (folder / "done").touch()


if __name__ == "__main__":
    main()
