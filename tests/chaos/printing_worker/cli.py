"""`python -m printing_worker.cli --config FILE`: notes how long its longest print was held up."""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any


class TimedBuffer:
    """Stands in for `sys.stdout.buffer` and measures the longest call."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.longest_s = 0.0

    def write(self, data: bytes) -> int:
        began = time.monotonic()
        self._raw.write(data)
        self._raw.flush()
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        return len(data)

    def flush(self) -> None:
        self._raw.flush()


class TimedStdout:
    def __init__(self, buffer: TimedBuffer) -> None:
        self.buffer = buffer

    def write(self, text: str) -> int:
        return self.buffer.write(text.encode())

    def flush(self) -> None:
        self.buffer.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    config = json.loads(parser.parse_args().config.read_text())
    buffer = TimedBuffer(sys.stdout.buffer)
    sys.stdout = TimedStdout(buffer)
    sys.argv = [config["module"], *config.get("arguments", [])]
    runpy.run_module(f"mosaic.testing.misbehaving.{config['module']}", run_name="__main__")
    (Path(os.environ["MOSAIC_OUTPUT_DIR"]) / "longest_print_s").write_text(str(buffer.longest_s))


if __name__ == "__main__":
    main()
