"""The daemon as its users feel it: time to a running worker, runs per second, idle cost.

Baselines in the same run: starting the bare interpreter (for the time to a running worker), and
starting the same program with `subprocess` alone (for runs per second).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import Report
from mosaic.files import read_json
from mosaic.processes import ProcessIdentity, stat_fields
from tests.daemon_harness import DaemonHarness, running_daemon

LAUNCHES = 15
CHURN = 60
IDLE_S = 10.0
PROGRAM = ["-S", "-c", "pass"]


def main() -> None:
    report = Report("daemon")
    with running_daemon() as daemon:
        _idle_cost(daemon, report)
        _time_to_worker(daemon, report)
        _runs_per_second(daemon, report)
    report.print()


def _interpreter_start_s() -> float:
    def once() -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, *PROGRAM], check=True)
        return time.perf_counter() - began

    return statistics.median(once() for _ in range(LAUNCHES))


def _time_to_worker(daemon: DaemonHarness, report: Report) -> None:
    """From the call of start_run until the worker's own first instruction."""
    interpreter = _interpreter_start_s()
    delays = []
    for _ in range(LAUNCHES):
        stamp = "import time; print(repr(time.time()), flush=True)"
        began = time.time()
        run_id = daemon.submit(entry_point=sys.executable, arguments=["-S", "-c", stamp])
        daemon.wait_over(run_id)
        text = daemon.home.run(run_id).log("command", "stdout").read_text()
        delays.append(float(text) - began)
    median = statistics.median(delays)
    report.add(
        "submit to worker's first instruction",
        f"{median * 1e3:.0f} ms (worst of {LAUNCHES}: {max(delays) * 1e3:.0f} ms)",
        f"{(median - interpreter) * 1e3:.0f} ms beyond interpreter start "
        f"({interpreter * 1e3:.0f} ms); target <= 300 ms",
    )


def _runs_per_second(daemon: DaemonHarness, report: Report) -> None:
    began = time.perf_counter()
    for _ in range(CHURN):
        subprocess.run([sys.executable, *PROGRAM], check=True)
    bare = CHURN / (time.perf_counter() - began)
    began = time.perf_counter()
    run_ids = [daemon.submit(entry_point=sys.executable, arguments=PROGRAM) for _ in range(CHURN)]
    submitted = CHURN / (time.perf_counter() - began)
    for run_id in run_ids:
        daemon.client.wait(run_id, timeout=120)
    done = CHURN / (time.perf_counter() - began)
    report.add("submissions accepted (durable)", f"{submitted:.0f}/s", "")
    report.add(
        "whole runs, from submission to the recorded end",
        f"{done:.1f}/s",
        f"{done / bare:.2f} of bare subprocess ({bare:.1f}/s); target >= 10/s",
    )


def _idle_cost(daemon: DaemonHarness, report: Report) -> None:
    daemon.client.health()
    info = read_json(daemon.home.daemon_info)
    assert info is not None
    pid = ProcessIdentity.from_dict(info).pid
    before = _cpu_s(pid)
    time.sleep(IDLE_S)
    used = (_cpu_s(pid) - before) / IDLE_S
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    rss = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    report.add("idle daemon, CPU", f"{used * 100:.2f} % of a core", "target <= 1 %")
    report.add("idle daemon, memory", f"{rss:.0f} MB", "target <= 80 MB")


def _cpu_s(pid: int) -> float:
    fields = stat_fields(pid)
    assert fields is not None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
