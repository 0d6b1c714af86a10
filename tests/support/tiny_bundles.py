"""A package that brings bundles, and a worker that needs one: as others would ship them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.tiny_wheels import PYTHON, TinyWheel, lock_text

PACKAGE = "tiny_bundles"
WORKER = "tiny_worker"

_WORKER = '''
"""Says what the package of its bundle is called."""

import time
from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.bundles import BundleRule
from mosaic.worker import WorkerCapabilities, WorkerMetadata, config_schema, option, worker_main


@dataclass(frozen=True)
class Config:
    game: str = option("none", help="what is played")
    seed: int = option(0, help="the same seed gives the same run")
    until: str = option("", help="goes on until there is such a file")
    tool: str = option("none", help="a program of another venv")
    tool_python: str = option("", help="its interpreter")


def get_worker_metadata():
    return WorkerCapabilities(
        worker_type="tiny_worker",
        metadata=WorkerMetadata(name="Tiny", description="Imports what its bundle holds."),
        config_schema=config_schema(Config),
        bundle_rules=(
            BundleRule("learner"),
            BundleRule("games", field="game", patterns=("maze*",)),
            BundleRule("tools", python_field="tool_python", where={"tool": "hammer"}),
        ),
    )


def train(run):
    import alpha

    run.metric("version", float(alpha.VERSION), step=run.config.seed)
    while run.config.until and not Path(run.config.until).exists() and not run.should_stop():
        time.sleep(0.02)

'''


def write_bundles(
    folder: Path,
    bundles: Mapping[str, Sequence[TinyWheel]],
    accelerator: str = "cpu",
    index: str = "",
) -> None:
    """An installed package in this folder, which has to be on the path.

    A name `learner+games` is the lock of an add-on together with what it joins. With another
    accelerator than the CPU, that is the only one for which there are builds. `index`: the one
    that each of the bundles names for its files.
    """
    package, info = folder / PACKAGE, folder / f"{PACKAGE}-1.0.dist-info"
    for made in (package / "requirements", package / "locks", info):
        made.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[mosaic.bundles]\n{PACKAGE} = {PACKAGE}\n")
    tag = f"py{PYTHON.replace('.', '')}-{accelerator}"
    tables = []
    for name, wheels in bundles.items():
        worker, _, add_on = name.partition("+")
        own = add_on or worker
        imports = json.dumps([wheels[-1].name])
        tables.append(f'[{own}]\ntitle = "Tiny {own}"\nabout = "A test"\nimports = {imports}')
        if add_on:
            tables.append(f'kind = "add-on"\njoins = ["{worker}"]')
        if accelerator != "cpu":
            tables.append("accelerated = true")
        if index:
            tables.append(f'indexes = {{ {accelerator} = "{index}" }}')
        (package / "requirements" / f"{own}.txt").write_text(f"{wheels[-1].name}==1.0\n")
        lock = package / "locks" / f"{name}-{tag}.txt"
        lock.write_text(lock_text(wheels, bundle=name, accelerator=accelerator))
    (package / "bundles.toml").write_text("\n".join(tables) + "\n")


def write_worker(folder: Path) -> Path:
    """The folder for `mosaic workers add`; needs `learner`, and `games` for a maze."""
    package = folder / WORKER
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(_WORKER)
    (package / "cli.py").write_text(
        f"import sys\n\nfrom {WORKER} import Config, get_worker_metadata, train, worker_main\n\n"
        'if __name__ == "__main__":\n'
        "    sys.exit(worker_main(get_worker_metadata, Config, train))\n"
    )
    (folder / "worker.toml").write_text(
        f'name = "{WORKER}"\nentry_point = "{WORKER}:get_worker_metadata"\n'
    )
    return folder
