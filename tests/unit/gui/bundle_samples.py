"""Bundles that nobody has installed, for tests of what is shown about them."""

from __future__ import annotations

import dataclasses
from typing import Any

from mosaic.contracts.bundles import (
    Accelerator,
    InstallPhase,
    InstallProgress,
    VenvInfo,
    VenvState,
)

NOW = 1_700_000_000.0
MB = 1_000_000
LONGEST_TITLE = "A title that somebody wrote without thinking of tables " * 6
SIX_PARTS = "learner+atari+box2d+minigrid+mujoco+procgen"


def info(name: str = "learner", **changes: Any) -> VenvInfo:
    """One that could be installed."""
    made = VenvInfo(
        name,
        title=f"The {name}",
        about=f"Somebody wants {name} to train something",
        state=VenvState.ABSENT,
        python="3.11",
        lock_hash="cpu",
        fetch_bytes=212 * MB,
        disk_bytes=640 * MB,
    )
    return dataclasses.replace(made, **changes)


def installed(name: str = "learner", **changes: Any) -> VenvInfo:
    made = info(
        name,
        state=VenvState.INSTALLED,
        path=f"/home/somebody/mosaic/trainer/venvs/{name}-0123456789ab",
        installed_at=NOW - 2 * 86_400,
        used_at=NOW - 180,
        shared_bytes=140 * MB,
    )
    return dataclasses.replace(made, **changes)


def going_on(
    fraction: float = 0.61, phase: InstallPhase = InstallPhase.FETCHING, item: str = "torch 2.9.1"
) -> InstallProgress:
    return InstallProgress(phase, item, round(212 * MB * fraction), 212 * MB, fraction)


def gone_wrong() -> InstallProgress:
    return InstallProgress(
        InstallPhase.FAILED,
        message="torch 2.9.1 has another hash than the lock says",
        hint="try again; if it happens again, the package index serves another file",
    )


DONE = InstallProgress(InstallPhase.DONE, fraction=1.0)


def shelf() -> list[VenvInfo]:
    """One in each state."""
    return [
        info("base", title="MOSAIC itself", state=VenvState.PRESENT, fetch_bytes=0),
        installed("learner", title="Single-file learners", about="PPO, DQN and SAC on one machine"),
        info(
            "learner+atari",
            title="Single-file learners with Atari",
            about="Pong, Breakout and 100 other games, from pixels",
        ),
        info("jax", title="JAX", about="Environments and learners compiled for the accelerator"),
        installed(
            "old_scripts",
            title="Scripts of old",
            about="What needs gymnasium 0.29 and numpy 1",
            state=VenvState.BROKEN,
            problem="12 files of numpy are not as they were installed",
            hint="install it again",
        ),
        info(
            "ray",
            title="Ray",
            about="Training on many machines",
            state=VenvState.UNAVAILABLE,
            fetch_bytes=0,
            disk_bytes=0,
            problem="There is no lock of ray for Python 3.13",
            hint="use a Python 3.11 or 3.12 for MOSAIC",
        ),
    ]


def other_builds() -> list[VenvInfo]:
    """For an accelerator that is not the one of this machine."""
    jax = info("jax", title="JAX", accelerator=Accelerator.CUDA, lock_hash="cuda")
    return [dataclasses.replace(jax, fetch_bytes=2_900 * MB, disk_bytes=7_200 * MB)]
