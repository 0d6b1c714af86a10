"""Venvs, and the progress of installs, to protobuf messages and back."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TypeVar

from mosaic.contracts.bundles import (
    Accelerator,
    InstallPhase,
    InstallProgress,
    InstallRequest,
    VenvInfo,
    VenvState,
)
from mosaic.errors import ConfigError
from mosaic.wire.convert import unknown_word
from mosaic.wire.generated import trainer_pb2 as pb

_TEXTS = ("name", "title", "about", "python", "lock_hash", "path", "problem", "hint", "note")
_SIZES = ("fetch_bytes", "disk_bytes", "shared_bytes")

Word = TypeVar("Word", bound=StrEnum)


def venv_to_proto(venv: VenvInfo) -> pb.Venv:
    return pb.Venv(
        **{name: getattr(venv, name) for name in (*_TEXTS, *_SIZES)},
        state=venv.state.value,
        accelerator=venv.accelerator.value,
        installed_at=venv.installed_at,
        used_at=venv.used_at,
        progress=progress_to_proto(venv.progress) if venv.progress else None,
    )


def venv_from_proto(message: pb.Venv) -> VenvInfo:
    return VenvInfo(
        **{name: getattr(message, name) for name in (*_TEXTS, *_SIZES)},
        state=_word(VenvState, message.state),
        accelerator=_word(Accelerator, message.accelerator),
        installed_at=message.installed_at if message.HasField("installed_at") else None,
        used_at=message.used_at if message.HasField("used_at") else None,
        progress=progress_from_proto(message.progress) if message.HasField("progress") else None,
    )


def progress_to_proto(progress: InstallProgress) -> pb.InstallProgress:
    return pb.InstallProgress(**progress.to_dict())


def progress_from_proto(message: pb.InstallProgress) -> InstallProgress:
    return InstallProgress(
        phase=_word(InstallPhase, message.phase),
        item=message.item,
        done_bytes=message.done_bytes,
        total_bytes=message.total_bytes,
        fraction=message.fraction,
        message=message.message,
        hint=message.hint,
    )


def request_fields(request: InstallRequest) -> dict[str, object]:
    """For a message of the kind InstallBundleRequest."""
    return {**asdict(request), "accelerator": request.accelerator or ""}


def request_from_proto(message: pb.InstallBundleRequest) -> InstallRequest:
    return InstallRequest(
        name=message.name,
        accelerator=accelerator_from_proto(message.accelerator),
        from_folder=message.from_folder,
        most_bytes=message.most_bytes if message.HasField("most_bytes") else None,
    )


def accelerator_from_proto(text: str) -> Accelerator | None:
    """None: what suits the machine."""
    try:
        return Accelerator(text) if text else None
    except ValueError:
        known = ", ".join(Accelerator)
        raise ConfigError(f"{text[:80]!r} is not one of {known}", field="accelerator") from None


def _word(kind: type[Word], text: str) -> Word:
    try:
        return kind(text)
    except ValueError:
        raise unknown_word(text) from None
