"""SampleDaemon: answers a window's questions about bundles as a test tells it to."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from mosaic.contracts.bundles import (
    Accelerator,
    InstallPhase,
    InstallProgress,
    InstallRequest,
    VenvInfo,
)
from mosaic.contracts.bundles import VenvState as State
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import BundleError, MosaicError
from mosaic.wire.answers import Submission
from tests.unit.gui.run_samples import record

_LOOK_S = 0.01


class SampleDaemon:
    """Its lists and answers may be changed at any time; installs go as far as `told` says."""

    def __init__(self, infos: Sequence[VenvInfo] = ()) -> None:
        self.infos = list(infos)
        self.told: dict[str, list[InstallProgress]] = {}
        self.installs: list[InstallRequest] = []
        self.canceled: list[str] = []
        self.removed: list[str] = []
        self.submissions: list[dict[str, Any]] = []
        self.workers_found: list[WorkerInfo] = []
        self.in_use: dict[str, str] = {}  # by the name of a run
        self.pruned: list[VenvInfo] = []
        self.builds: list[VenvInfo] = []  # for other accelerators
        self.problems: list[str] = []
        self.problem: MosaicError | None = None
        self.needs: Callable[[dict[str, Any]], list[VenvInfo]] = lambda _: []

    def tell(self, name: str, *steps: InstallProgress) -> None:
        self.told.setdefault(name, []).extend(steps)

    def state(self, name: str, **changes: Any) -> None:
        self.infos = [
            dataclasses.replace(item, **changes) if item.name == name else item
            for item in self.infos
        ]

    # What a client has

    async def close(self) -> None:
        pass

    async def bundles(
        self, names: Sequence[str] = (), accelerator: Accelerator | None = None
    ) -> list[VenvInfo]:
        if self.problem is not None:
            raise self.problem
        found = [item for item in self.infos if not names or item.name in names]
        if accelerator is None:
            return found
        others = [item for item in self.builds if item.name in names]
        alike = [item for item in [*found, *others] if item.accelerator is accelerator]
        nowhere = dataclasses.replace(
            found[0], state=State.UNAVAILABLE, lock_hash="", problem=f"None for {accelerator}"
        )
        return alike or [nowhere]

    async def bundle_problems(self) -> list[str]:
        return self.problems

    async def install_bundle(
        self, request: InstallRequest
    ) -> AsyncGenerator[InstallProgress, None]:
        self.installs.append(request)
        steps = self.told.setdefault(request.name, [])
        while True:
            while not steps:
                await asyncio.sleep(_LOOK_S)
            step = steps.pop(0)
            if step.phase is InstallPhase.DONE:
                self.state(request.name, state=State.INSTALLED, progress=None)
            yield step
            if step.is_over:
                return

    async def cancel_install(self, name: str) -> bool:
        self.canceled.append(name)
        self.tell(name, InstallProgress(InstallPhase.CANCELED))
        return True

    async def remove_bundle(self, name: str) -> list[VenvInfo]:
        if name in self.in_use:
            raise BundleError(
                f"{name} is in use by {self.in_use[name]}", hint="stop it first", bundle=name
            )
        self.removed.append(name)
        gone = [item for item in self.infos if item.name == name]
        self.state(name, state=State.ABSENT, installed_at=None, used_at=None)
        return gone

    async def prune_bundles(self, dry_run: bool = False) -> list[VenvInfo]:
        return self.pruned

    async def verify_bundle(self, name: str) -> VenvInfo:
        return next(item for item in self.infos if item.name == name)

    async def workers(self, refresh: bool = False) -> list[WorkerInfo]:
        return self.workers_found

    async def submit(
        self,
        config: dict[str, Any],
        client_key: str | None = None,
        dry_run: bool = False,
        consent: str | None = None,
        install: bool = False,
        most_install_bytes: int | None = None,
    ) -> Submission:
        missing = tuple(self.needs(config))
        self.submissions.append(
            {"dry_run": dry_run, "install": install, "most_install_bytes": most_install_bytes}
        )
        if missing and not dry_run and not install:
            raise BundleError(
                f"The run needs {missing[0].name}, which is not installed",
                hint=f"`mosaic bundles install {missing[0].name}`",
                bundle=missing[0].name,
                fetch_bytes=sum(info.fetch_bytes for info in missing),
            )
        check = CheckResult("bundle", not missing, "is not installed" if missing else "")
        return Submission("" if dry_run else "01NEW", True, "", (), (check,), None, missing)

    async def get_run(self, run_id: str) -> RunRecord:
        return record(1, run_id=run_id)
