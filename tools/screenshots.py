"""Pictures of the workbench for the documentation: real runs, a real daemon, no screen.

Everything happens in a folder that is deleted at the end; only docs/images keeps something.
"""

from __future__ import annotations

import os

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import argparse
import sys
import time
from pathlib import Path

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication
from screenshot_scenes import agents_scenes, scenes
from screenshot_scenes.sample_home import SampleHome
from screenshot_scenes.sample_runs import make_runs
from screenshot_scenes.stage import Stage

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def say_what_matters(_: QtMsgType, __: QMessageLogContext, text: str | None) -> None:
    """The platform without a screen regrets something with every window."""
    if text and "propagateSizeHints" not in text:
        print(text, file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=IMAGES, help="default: docs/images")
    folder: Path = parser.parse_args().into
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with SampleHome() as home:
        qInstallMessageHandler(say_what_matters)
        qt = QApplication(sys.argv[:1])
        stage = Stage(qt, home, folder)
        try:
            scenes.shoot_empty(stage)
            runs = make_runs(home)
            for scene in scenes.WITH_RUNS:
                scene(stage, runs)
            scenes.shoot_live(stage, home, runs)
            agents_scenes.shoot_agents(stage, home)
            scenes.shoot_lost(stage, home)
        finally:
            stage.close()
    total = sum(stage.sizes.values())
    print(f"{len(stage.sizes)} pictures, {total / 1e6:.1f} MB, {time.monotonic() - began:.0f} s")
    for sentence in stage.missed:
        print(sentence, file=sys.stderr)
    return 1 if stage.missed else 0


if __name__ == "__main__":
    sys.exit(main())
