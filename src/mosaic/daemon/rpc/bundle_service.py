"""RPC handlers of dependency bundles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from mosaic.contracts.bundles import Accelerator
from mosaic.daemon.trainer.trainer import Trainer
from mosaic.wire.bundles import (
    accelerator_from_proto,
    progress_to_proto,
    request_from_proto,
    venv_to_proto,
)
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated import trainer_pb2_grpc as rpc


class BundleService(rpc.TrainerServicer):
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    async def ListBundles(  # noqa: N802
        self, request: pb.ListBundlesRequest, context: Any
    ) -> pb.ListBundlesResponse:
        accelerator: Accelerator | None = accelerator_from_proto(request.accelerator)
        infos, problems = await self._trainer.bundles.infos(request.names, accelerator)
        return pb.ListBundlesResponse(venvs=map(venv_to_proto, infos), problems=problems)

    async def InstallBundle(  # noqa: N802
        self, request: pb.InstallBundleRequest, context: Any
    ) -> AsyncIterator[pb.InstallProgress]:
        following = self._trainer.bundles.install(request_from_proto(request))
        async with aclosing(following):
            async for progress in following:
                yield progress_to_proto(progress)

    async def CancelInstall(  # noqa: N802
        self, request: pb.BundleRequest, context: Any
    ) -> pb.CancelInstallResponse:
        was_installing = await self._trainer.bundles.cancel(request.name)
        return pb.CancelInstallResponse(was_installing=was_installing)

    async def RemoveBundle(  # noqa: N802
        self, request: pb.BundleRequest, context: Any
    ) -> pb.ListBundlesResponse:
        removed = await self._trainer.bundles.remove(request.name)
        return pb.ListBundlesResponse(venvs=map(venv_to_proto, removed))

    async def PruneBundles(  # noqa: N802
        self, request: pb.PruneBundlesRequest, context: Any
    ) -> pb.ListBundlesResponse:
        removed = await self._trainer.prune_bundles(request.dry_run)
        return pb.ListBundlesResponse(venvs=map(venv_to_proto, removed))

    async def VerifyBundle(self, request: pb.BundleRequest, context: Any) -> pb.Venv:  # noqa: N802
        return venv_to_proto(await self._trainer.bundles.verify(request.name))

    async def PackBundle(  # noqa: N802
        self, request: pb.PackBundleRequest, context: Any
    ) -> AsyncIterator[pb.InstallProgress]:
        following = self._trainer.bundles.pack(request_from_proto(request.install), request.folder)
        async with aclosing(following):
            async for progress in following:
                yield progress_to_proto(progress)
