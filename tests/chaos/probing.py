"""How quickly the daemon answers while something is done to it."""

from __future__ import annotations

import time

from mosaic.client import TrainerClient

PACE_S = 0.005


class Prober:
    """Calls the daemon like a busy user interface and notes how long each answer took."""

    def __init__(self, client: TrainerClient, run_id: str) -> None:
        self._client = client
        self._run_id = run_id
        self.rss_mb = 0.0

    def measure(self, duration_s: float) -> list[float]:
        answers: list[float] = []
        end = time.monotonic() + duration_s
        while time.monotonic() < end:
            for call in (self._health, self._get, self._list):
                began = time.perf_counter()
                call()
                answers.append(time.perf_counter() - began)
                time.sleep(PACE_S)
        return answers

    def _health(self) -> None:
        self.rss_mb = max(self.rss_mb, self._client.health().rss_mb)

    def _get(self) -> None:
        self._client.get_run(self._run_id)

    def _list(self) -> None:
        self._client.list_runs(limit=50)


def p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]
