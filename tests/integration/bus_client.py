"""A subscriber in a process of its own: `python -m tests.integration.bus_client HOME OPTIONS`.

OPTIONS is a JSON object: `run_ids`, `cursors`, `window`, `lossless`, `pause_s` after each batch,
`out` (a folder), `is_timing`. Writes there `begun`, then its account to `account.json`, again and
again while it goes on, and `done` at the end. Meant to be stopped and continued by signals.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from mosaic.client import TrainerClient
from mosaic.contracts.runbus import ControlKind
from mosaic.files import atomic_write_json, read_json
from mosaic.logs import log_to_file
from mosaic.wire.answers import BusBatch, BusNotice

SAVE_EVERY_S = 0.5


class BusClientProcess:
    """One of them, seen from a test."""

    def __init__(self, home: Path, out: Path, **options: Any) -> None:
        out.mkdir()
        self._out = out
        text = json.dumps({**options, "out": str(out)})
        command = [sys.executable, "-m", "tests.integration.bus_client", str(home), text]
        self.process = subprocess.Popen(command)

    @property
    def has_begun(self) -> bool:
        return (self._out / "begun").exists()

    @property
    def is_done(self) -> bool:
        assert self.process.poll() in (None, 0), f"it failed with {self.process.returncode}"
        return (self._out / "done").exists()

    @property
    def account(self) -> dict[str, Any]:
        return read_json(self._out / "account.json") or {}

    @property
    def was_disconnected(self) -> bool:
        return "connection.lost" in (self._out / "client.log").read_text()

    def steps(self, run_id: str) -> int:
        """How many have been delivered."""
        run = self.account.get("runs", {}).get(run_id, {})
        return int(run.get("delivered", {}).get("step", 0))

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()


class _Head(msgspec.Struct):
    """What is needed of an event; quick, so that eight of these clients bear a flood."""

    type: str
    seq: int
    timestamp: float


_head = msgspec.json.Decoder(_Head)


class Account:
    """Per run: delivered and coalesced events by type, those that came twice, and sequence
    numbers between the first and the last that never came."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.controls: Counter[str] = Counter()
        # When an event was written, and how long it took.
        self.latencies: list[tuple[float, float]] = []
        self._seen: dict[str, set[int]] = {}

    def add(self, item: BusBatch | BusNotice, is_timing: bool) -> None:
        run = self.runs.setdefault(
            item.run_id,
            {"delivered": {}, "coalesced": {}, "repeated": 0, "skipped": 0, "ended": False},
        )
        if isinstance(item, BusNotice):
            self.controls[item.kind.value] += 1
            _add(run["coalesced"], item.coalesced)
            run["ended"] |= item.kind is ControlKind.ENDED
            return
        now = time.time()
        events = [_head.decode(line) for line in item.lines]
        _add(run["delivered"], Counter(event.type for event in events))
        numbers = {event.seq for event in events}
        seen = self._seen.setdefault(item.run_id, set())
        run["repeated"] += len(events) - len(numbers - seen)
        seen |= numbers
        run["skipped"] = max(seen) - min(seen) + 1 - len(seen)
        if is_timing:
            # The newest of a batch: older ones waited for their own writer, not for the bus.
            newest = events[-1].timestamp
            self.latencies.append((newest, now - newest))

    def to_dict(self) -> dict[str, Any]:
        return {"runs": self.runs, "controls": self.controls, "latencies": self.latencies}


def _add(total: dict[str, int], more: Any) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count


def follow(client: TrainerClient, options: dict[str, Any]) -> None:
    out = Path(options["out"])
    account = Account()
    run_ids = options["run_ids"]
    saved_at = 0.0
    with client.subscribe(
        run_ids,
        cursors=options.get("cursors"),
        window=options.get("window", 10_000),
        lossless=options.get("lossless", False),
    ) as bus:
        (out / "begun").touch()
        for item in bus:
            account.add(item, options.get("is_timing", False))
            is_end = isinstance(item, BusNotice) and item.kind is ControlKind.ENDED
            if is_end or time.monotonic() - saved_at > SAVE_EVERY_S:
                atomic_write_json(out / "account.json", account.to_dict())
                saved_at = time.monotonic()
            if pause_s := options.get("pause_s"):
                time.sleep(pause_s)
    atomic_write_json(out / "account.json", account.to_dict())
    (out / "done").touch()


def main() -> None:
    options = json.loads(sys.argv[2])
    log_to_file(Path(options["out"]) / "client.log")
    with TrainerClient(sys.argv[1], autostart=False) as client:
        follow(client, options)


if __name__ == "__main__":
    main()
