"""EpisodeIndex: where which episode of the run was recorded, appended now and then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mosaic.contracts.process_recording import Place, index_name, pack_place

MAX_BYTES = 64_000_000  # two million episodes, more where they come in rows


class EpisodeIndex:
    def __init__(self, folder: Path, attempt: int, say: Callable[[str], bool]) -> None:
        self.folder = folder
        self._path = folder / index_name(attempt)
        self._say = say
        self._waiting: list[Place] = []
        self._bytes = 0
        self._is_over = False

    def add(self, place: Place) -> None:
        if self._waiting and _follows(place, self._waiting[-1]):
            last = self._waiting[-1]
            self._waiting[-1] = last._replace(episodes=last.episodes + place.episodes)
        else:
            self._waiting.append(place)

    def flush(self) -> None:
        """Never raises: without it, episodes from here on cannot be replayed."""
        waiting, self._waiting = self._waiting, []
        if self._is_over or not waiting:
            return
        data = b"".join(map(pack_place, waiting))
        try:
            if self._bytes + len(data) > MAX_BYTES:
                raise OSError("it has become too large")
            with self._path.open("ab") as file:
                file.write(data)
            self._bytes += len(data)
        except OSError as error:
            self._is_over = True
            reason = error.strerror or error
            self._say(f"episodes from here on cannot be replayed: {self._path.name}: {reason}")


def _follows(place: Place, last: Place) -> bool:
    return place._replace(episodes=last.episodes) == Place(
        last.first_episode + last.episodes,
        last.process,
        last.first_number + last.episodes,
        last.episodes,
    )
