"""Whole runs of BDI agents under a real daemon: agents, XMPP server, learning and telemetry.

    python -m benchmarks.bdi_runs

1. Summary telemetry on slippery FrozenLake 4x4: episodes per second, against a plain loop of
   Q-learning over `gymnasium.step` in the same run. Promised: 20,000.
2. Full telemetry: steps per second that are reported with what was believed, and stored, against
   what the journal can store of the very same steps when nobody has to play for them. Promised:
   60 %, and none lost. A short run is slower: its first decisions are for an episode each.

MOSAIC_TEST_BDI_PYTHON names an interpreter with the packages of the bundle; else one is made.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.bdi_learning import SUMMARY_EPISODES_PER_S, plain_loop
from benchmarks.report import Report
from mosaic.telemetry.ingest import JournalIngest
from mosaic.worker.assignment import Assignment
from mosaic.worker.event_writer import EventWriter
from mosaic.worker.journal import Journal
from tests.daemon_harness import DaemonHarness
from tests.integration.bdi.worker_runs import LAKE, daemon_with_worker, lines_of, start, succeeded

ROUNDS = 3
EPISODES = 1_000_000
FULL_STEPS = 1_000_000
STORED_SHARE = 0.6
PLAIN_S = 3.0
_SAMPLE = 20_000  # of the steps that were reported: they are written again and again
_RUN_ID = "01JQ0000000000000000000000"


def main() -> int:
    report = Report("Runs of BDI agents, FrozenLake 4x4 slippery")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with daemon_with_worker(place / "worker") as daemon:
            summary = [summary_rate(daemon) for _ in range(ROUNDS)]
            plain = plain_loop("FrozenLake-v1", {}, PLAIN_S)
            full, storable = [], []
            for number in range(ROUNDS):
                rate, steps = full_rate(daemon)
                full.append(rate)
                storable.append(journal_rate(place / f"journal-{number}", steps))
    report.add(
        "summary telemetry",
        f"{_range(summary)} episodes/s",
        f"{max(summary) / plain:.0f}x a plain loop over gymnasium.step ({plain:,.0f}); "
        f"promised {SUMMARY_EPISODES_PER_S:,}",
    )
    shares = [mine / theirs for mine, theirs in zip(full, storable, strict=True)]
    report.add(
        "full telemetry, all stored",
        f"{_range(full)} steps/s",
        f"{min(shares):.2f} to {max(shares):.2f} of what the journal can store of these steps "
        f"({_range(storable)}/s); promised {STORED_SHARE}",
    )
    report.print()
    return 0


def summary_rate(daemon: DaemonHarness) -> float:
    """Episodes per second, from the first row of them to the last."""
    config = {
        **LAKE,
        "total_timesteps": 10**9,
        "extras": {"telemetry": "summary", "episodes": EPISODES},
    }
    run_id = start(daemon, config)
    succeeded(daemon, run_id)
    rows = lines_of(daemon, run_id, "episode")
    counts = [(row.get("metadata") or {}).get("count", 1) for row in rows]
    assert sum(counts) == EPISODES, f"{sum(counts)} of {EPISODES} episodes were told"
    return float(sum(counts[1:]) / (rows[-1]["timestamp"] - rows[0]["timestamp"]))


def full_rate(daemon: DaemonHarness) -> tuple[float, list[dict[str, Any]]]:
    """Steps per second, from the first to the last, once all are in the store; and some of them."""
    run_id = start(daemon, {**LAKE, "total_timesteps": FULL_STEPS, "extras": {"telemetry": "full"}})
    record = succeeded(daemon, run_id)
    store = daemon.home.run(run_id).telemetry
    with sqlite3.connect(store) as connection:
        stored, first, last = connection.execute(
            "SELECT count(*), min(timestamp), max(timestamp) FROM steps"
        ).fetchone()
    assert stored == record.progress.steps >= FULL_STEPS, f"{stored} stored"
    batches = daemon.client.stream_events(run_id, types=("step",))
    steps = islice((event for batch in batches for event in batch.events()), _SAMPLE)
    return stored / (last - first), list(steps)


def journal_rate(folder: Path, steps: list[dict[str, Any]]) -> float:
    """The same steps, from a process that does nothing else, until the last one is stored."""
    folder.mkdir()
    sample, journal = folder / "steps.json", folder / "events.jsonl"
    sample.write_text(json.dumps(steps))
    journal.touch()
    writer = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bdi_runs", "--write", str(sample), str(journal)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert writer.stdin is not None and writer.stdout is not None
    writer.stdout.readline()
    ingest = JournalIngest(_RUN_ID, journal, folder / "telemetry.sqlite")
    began = time.perf_counter()
    writer.stdin.close()
    while writer.poll() is None:
        ingest.step()
    while ingest.step().has_more:
        pass
    taken = time.perf_counter() - began
    ingest.close()
    with sqlite3.connect(folder / "telemetry.sqlite") as connection:
        (stored,) = connection.execute("SELECT count(*) FROM steps").fetchone()
    assert stored == FULL_STEPS, f"{stored} stored"
    return FULL_STEPS / taken


def write_steps(sample: Path, path: Path) -> None:
    steps = json.loads(sample.read_text())
    print("ready", flush=True)
    sys.stdin.read()
    journal = Journal(path)
    writer = EventWriter(journal, Assignment(_RUN_ID, "agent_0", "bench"))
    for step in islice(cycle(steps), FULL_STEPS):
        writer.step(
            episode_index=step["episode_index"],
            step_index=step["step_index"],
            action=step["action"],
            observation=step["observation"],
            reward=step["reward"],
            terminated=step["terminated"],
            truncated=step["truncated"],
            info=step["info"],
        )
    journal.close()


def _range(rates: Iterable[float]) -> str:
    found = sorted(rates)
    return f"{found[0]:,.0f} to {found[-1]:,.0f}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write_steps(Path(sys.argv[2]), Path(sys.argv[3]))
        sys.exit(0)
    sys.exit(main())
