"""SummaryWriter, of torch and of tensorboardX: scalars, and where the event files are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from mosaic.injection.hooks.mirroring import also, number, whole
from mosaic.injection.session import HookSession


def install(module: ModuleType, session: HookSession) -> None:
    writer: Any = module.SummaryWriter
    bridge = session.bridge

    def opened(writer: Any, *args: Any, **kwargs: Any) -> None:
        folder = getattr(writer, "log_dir", None) or getattr(writer, "logdir", None)
        if folder:
            bridge.tensorboard(os.path.abspath(folder))  # noqa: PTH100  # as the script writes it

    def scalar(
        writer: Any, tag: Any, scalar_value: Any, global_step: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        value = number(scalar_value)
        if value is not None:
            bridge.metric(str(tag), value, whole(global_step), "tensorboard")

    def scalars(
        writer: Any,
        main_tag: Any,
        tag_scalar_dict: Mapping[Any, Any],
        global_step: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        for tag, value in tag_scalar_dict.items():
            scalar(writer, f"{main_tag}/{tag}", value, global_step)

    also(writer, "__init__", opened, session.complaints)
    also(writer, "add_scalar", scalar, session.complaints)
    also(writer, "add_scalars", scalars, session.complaints)
