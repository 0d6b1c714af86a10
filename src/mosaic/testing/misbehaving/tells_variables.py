"""A worker of the SDK that tells the values of variables in every way there is, and crashes.

`python -m mosaic.testing.misbehaving.tells_variables --config FILE`
"""

import base64
import hashlib
import json
import os
import shlex
import sys
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.files import atomic_write
from mosaic.worker import Run, option, worker_main


@dataclass(frozen=True)
class Config:
    names: list[str]
    go_file: str = option("", help="begin when this file appears")


def get_worker_metadata() -> WorkerCapabilities:
    return WorkerCapabilities(worker_type="tells_variables")


def spellings(value: str) -> Iterator[str]:
    data = value.encode()
    yield value
    yield json.dumps({"key": value})
    yield repr(value)
    yield repr(data)
    yield shlex.quote(value)
    yield urllib.parse.quote(value)
    yield urllib.parse.quote_plus(value)
    yield base64.b64encode(data).decode()
    yield base64.urlsafe_b64encode(data).decode()
    yield "Authorization: Basic " + base64.b64encode(b"me:" + data).decode()
    yield data.hex()


def train(run: Run[Any]) -> None:
    while run.config.go_file and not Path(run.config.go_file).exists() and not run.should_stop():
        time.sleep(0.02)
    values = {name: os.environ[name] for name in run.config.names}
    assert run.output_directory is not None
    # What it received, for whoever knows what it should have been.
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    atomic_write(run.output_directory / f"received-{run.attempt}", digest.encode())
    for number, value in enumerate(values.values()):
        for text in spellings(value):
            for stream in (sys.stdout, sys.stderr):
                print(f"found {text} and {text}{text}", file=stream)
            run.metric(f"login/{text}", 1.0, number)
            run.note(f"trying {text}")
            tell_in_a_step(run, number, text)
        half = len(value) // 2
        for part in (value[:half], value[half:]):  # no reader sees it in one piece
            print(part, end="", file=sys.stderr, flush=True)
    raise RuntimeError(f"none of them is right: {list(values.values())}")


def tell_in_a_step(run: Run[Any], number: int, text: str) -> None:
    run.step(
        episode_index=number,
        step_index=0,
        action=0,
        observation=text,
        reward=0.0,
        terminated=True,
        truncated=False,
        info={text: [text]},
    )


if __name__ == "__main__":
    sys.exit(worker_main(get_worker_metadata, Config, train))
