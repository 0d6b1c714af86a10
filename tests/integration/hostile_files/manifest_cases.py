"""What `analytics.json` is and names, and videos.

Beside each run lies a folder in which it has no business.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.contracts.manifest import AnalyticsManifest, TensorBoardArtifact, WandbArtifact
from tests.integration.hostile_files.case import CLEAN, Case, content, link, pipe, sparse

PLAIN = AnalyticsManifest("R", "w").to_dict()
# Of the folder beside the run: no reader may say it.
SECRET = "a-secret-of-somebody-else"
EVENTS = "events.out.tfevents.1.host"


def said(**changes: Any) -> bytes:
    return json.dumps({**PLAIN, **changes}).encode()


def run(
    prepare: Callable[[Path], object] | None = None, **changes: Any
) -> Callable[[Path], object]:
    """A run in `run/`, and what is not its own in `outside/`."""

    def build(folder: Path) -> None:
        (folder / "run").mkdir()
        outside = folder / "outside"
        wandb = outside / "wandb" / "run-20260101_000000-abc"
        wandb.mkdir(parents=True)
        for path in (outside / "study.db", outside / EVENTS, wandb / "run-abc.wandb"):
            path.write_text(SECRET)
        (folder / "run" / "analytics.json").write_bytes(said(**changes))
        if prepare is not None:
            prepare(folder / "run")

    return build


def tensorboard(path: str) -> dict[str, Any]:
    return {"tensorboard": vars(TensorBoardArtifact(True, path))}


def wandb(path: str) -> dict[str, Any]:
    return {"wandb": vars(WandbArtifact(True, relative_path=path))}


def linked_folder(name: str, target: str) -> Callable[[Path], object]:
    def prepare(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, folder / name)

    return prepare


def leaves(name: str, where: str, **changes: Any) -> Case:
    return Case(f"imported: {name}", "imported", run(**changes), says=f"'{where}'")


def gif(width: int, height: int) -> bytes:
    size = struct.pack("<HH", width, height)
    picture = b"," + bytes(4) + size + b"\0\x02\x02\x44\x01\0;"
    return b"GIF89a" + size + b"\x80\0\0" + bytes(6) + picture


CASES = [
    Case("manifest: nested deeply", "manifest", content("analytics.json", b"[" * 100_000)),
    Case(
        "manifest: nested as deeply as JSON allows",
        "manifest",
        content("analytics.json", said(metadata=json.loads('{"a":' * 500 + "1" + "}" * 500))),
        says="nested",
    ),
    Case(
        "manifest: number beyond all",
        "manifest",
        content("analytics.json", said(created_at=10**1000)),
        says="too large a number",
    ),
    Case(
        "manifest: not finite",
        "manifest",
        content("analytics.json", said(created_at=float("inf"))),
        says="no number of JSON",
    ),
    Case(
        "manifest: nine megabytes",
        "manifest",
        content("analytics.json", said(notes="x" * 9_000_000)),
        says="larger than",
    ),
    Case("manifest: sparse terabyte", "manifest", sparse("analytics.json", b"{", 2**40)),
    Case(
        "manifest: other types",
        "manifest",
        content("analytics.json", said(videos={"a": 1}, checkpoints=7)),
    ),
    Case("manifest: pipe", "manifest", pipe("analytics.json"), says="not a regular file"),
    Case("manifest: device", "manifest", link("analytics.json", "/dev/zero"), says="not a regular"),
    leaves("study elsewhere", "optuna_db_path", optuna_db_path="../outside/study.db"),
    leaves("study of the system", "optuna_db_path", optuna_db_path="/etc/passwd"),
    Case(
        "imported: study behind a zero byte",
        "imported",
        run(optuna_db_path="a\0b"),
        says="with a NUL",
    ),
    leaves("study with a name without end", "optuna_db_path", optuna_db_path="a/" * 5000),
    leaves("events elsewhere", "tensorboard.relative_path", **tensorboard("../outside")),
    leaves("events of everybody", "tensorboard.relative_path", **tensorboard("/")),
    leaves(
        "events listed elsewhere",
        "metadata.tensorboard_folders",
        **tensorboard("tb"),
        metadata={"tensorboard_folders": ["tb", "../outside"]},
    ),
    leaves("wandb elsewhere", "wandb.relative_path", **wandb("../outside/wandb")),
    leaves(
        "wandb listed elsewhere",
        "metadata.wandb_folders",
        **wandb("wandb"),
        metadata={"wandb_folders": ["../outside/wandb"]},
    ),
    leaves("checkpoint elsewhere", "checkpoints", checkpoints=[{"path": "/etc/shadow", "step": 1}]),
    leaves("video elsewhere", "videos", videos=["clips/../../outside/study.db"]),
    Case(
        "imported: study behind a link",
        "imported",
        run(link("study.db", "../outside/study.db"), optuna_db_path="study.db"),
        says="'optuna_db_path'",
    ),
    Case(
        "imported: events behind a link",
        "imported",
        run(linked_folder(f"tb/{EVENTS}", f"../../outside/{EVENTS}"), **tensorboard("tb")),
        says="'tensorboard.relative_path'",
    ),
    Case(
        "imported: folder of events behind a link",
        "imported",
        run(linked_folder("tb/more", "../../outside"), **tensorboard("tb")),
        says="'tensorboard.relative_path'",
    ),
    Case(
        "imported: wandb behind a link",
        "imported",
        run(linked_folder("wandb", "../outside/wandb"), **wandb("wandb")),
        says="'wandb.relative_path'",
    ),
    Case(
        "imported: one log of wandb behind a link",
        "imported",
        run(
            linked_folder(
                "wandb/run-a/run-a.wandb",
                "../../../outside/wandb/run-20260101_000000-abc/run-abc.wandb",
            ),
            **wandb("wandb"),
        ),
        says="leads out",
    ),
    Case(
        "imported: link that leads to itself",
        "imported",
        run(link("study.db", "study.db"), optuna_db_path="study.db"),
    ),
    Case(
        "imported: study that is a pipe",
        "imported",
        run(pipe("study.db"), optuna_db_path="study.db"),
        says="not a regular file",
    ),
    Case("imported: nothing wrong", "imported", run(**tensorboard("tb")), CLEAN),
    Case("video: gigabytes of pixels", "video", content("video.gif", gif(30_000, 30_000))),
    Case(
        "video: playlist",
        "video",
        content("video.mp4", b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n"),
    ),
    Case("video: pipe", "video", pipe("video.mp4")),
    Case("video: device", "video", link("video.gif", "/dev/zero")),
]
