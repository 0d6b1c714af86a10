"""The words of the header and of the banner about the daemon. Pure."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from mosaic.front.human import amount, duration, size
from mosaic.gui.state.workbench_state import Connection
from mosaic.wire.answers import Health

_UNKNOWN = "–"
# The longest texts these ever are: widths are reserved for them, so that nothing jumps.
WIDEST_WORD = "connecting"
WIDEST_CPUS = "CPU 888/888"
WIDEST_GPUS = "GPU 8/8"
WIDEST_DISK = "disk 888 GB"


@dataclass(frozen=True)
class BannerText:
    """Empty when there is nothing to say."""

    text: str = ""
    can_start: bool = False  # somebody stopped the daemon, so somebody has to start it


def daemon_tooltip(
    connection: Connection, problem: str, health: Health | None, now: float | None = None
) -> str:
    if connection is Connection.CONNECTING:
        return f"Looking for the daemon: {problem}" if problem else "Looking for the daemon"
    if connection is Connection.LOST or health is None:
        return f"The daemon does not answer: {problem}"
    age_s = max(0.0, (time.time() if now is None else now) - health.started_at)
    lines = [
        f"The daemon answers: pid {health.pid}, version {health.version}",
        f"up for {duration(age_s)}, uses {health.rss_mb:,.0f} MB of memory",
        f"{amount(health.live_runs, 'run')} at work, {health.queued_runs:,} waiting",
        *(f"Alarm: {alarm}" for alarm in health.alarms),
    ]
    return "\n".join(lines)


def cpus_text(health: Health | None) -> str:
    return f"CPU {health.cpus_free}/{health.cpus_total}" if health else f"CPU {_UNKNOWN}"


def cpus_tooltip(health: Health | None) -> str:
    if health is None:
        return "How many CPU slots are free is not known yet"
    memory = f"{size(health.memory_mb_free * 1e6)} of {size(health.memory_mb_total * 1e6)}"
    return (
        f"{health.cpus_free} of {health.cpus_total} CPU slots are free for runs\n"
        f"{memory} of memory are free for runs"
    )


def gpus_text(health: Health | None) -> str:
    if health is None or not health.gpus_total:
        return f"GPU {_UNKNOWN}"
    return f"GPU {health.gpus_free}/{health.gpus_total}"


def gpus_tooltip(health: Health | None) -> str:
    if health is None:
        return "Whether there is a GPU is not known yet"
    if not health.gpus_total:
        return "There is no GPU: runs use the CPU"
    return f"{health.gpus_free} of {amount(health.gpus_total, 'GPU')} free for runs"


def disk_text(free_bytes: float | None) -> str:
    """Whole gigabytes: anything finer would only flicker."""
    if free_bytes is None or not math.isfinite(free_bytes):
        return f"disk {_UNKNOWN}"
    for unit, scale in (("TB", 1e12), ("GB", 1e9)):
        if free_bytes >= scale:
            value = free_bytes / scale
            return f"disk {value:.1f} {unit}" if value < 9.95 else f"disk {value:.0f} {unit}"
    return f"disk {free_bytes / 1e6:.0f} MB"


def banner_text(connection: Connection, problem: str, is_stopped: bool) -> BannerText:
    """What happened, and what continues regardless."""
    if connection is not Connection.LOST:
        return BannerText()
    if is_stopped:
        return BannerText(
            "The daemon was stopped. Runs that are at work go on without it; nothing new starts.",
            can_start=True,
        )
    reason = f" ({problem.rstrip('.')})" if problem else ""
    return BannerText(
        f"The daemon does not answer{reason}. Trying again; runs are not affected.",
    )
