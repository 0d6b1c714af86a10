"""The page about adding an algorithm is true: with its files in place, the algorithm trains."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cleanrl_worker
from mosaic.testing.worker_process import clean_environment
from tests.waiting import PATIENCE_S

pytest.importorskip("torch")
pytest.importorskip("tyro")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "add-an-algorithm.md"
TOOLS = PAGE.parents[2] / "tools"
BLOCK = re.compile(r'^```\w+ title="(?P<name>[^"]+)"\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)
# Where the page says that its entries go.
OPENINGS = {
    "src/cleanrl_worker/registry.py": "_ALGORITHMS = (\n",
    "src/cleanrl_worker/eval_registry.py": "EVAL_REGISTRY: Mapping[str, EvalEntry] = {\n",
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the worker as a reader of the page would have it."""
    root = tmp_path_factory.mktemp("checkout")
    package = Path(cleanrl_worker.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, root / "src" / "cleanrl_worker", ignore=ignored)
    for block in BLOCK.finditer(PAGE.read_text()):
        path = root / block["name"]
        text, opening = block["text"], OPENINGS.get(block["name"])
        if opening is not None:
            before, found, after = path.read_text().partition(opening)
            assert found, f"{path.name} has no {opening!r}"
            text = before + found + text + after
        path.write_text(text)
    return root


def run(checkout: Path, folder: Path, *arguments: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    search_path = f"{checkout / 'src'}:{Path(cleanrl_worker.__file__).parents[1]}"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=clean_environment({"PYTHONPATH": search_path, "OMP_NUM_THREADS": "1"}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def train(checkout: Path, folder: Path, *flags: str) -> Path:
    """The manifest of the checkpoints it leaves."""
    run(checkout, folder, "-m", "cleanrl_worker.algorithms.a2c", "--env-id=CartPole-v1", *flags)
    manifests = list(folder.glob("runs/*/a2c.state/manifest.json"))
    return max(manifests, key=lambda path: newest(path)["step"])


def newest(manifest: Path) -> dict[str, float]:
    generation: dict[str, float] = json.loads(manifest.read_bytes())["generations"][-1]
    return generation


def weights(manifest: Path) -> str:
    from cleanrl_worker.kit.checkpoints.model_file import load_payload, weight_hash

    return weight_hash(load_payload(manifest.parents[1] / "a2c.cleanrl_model"))


def test_it_learns_cart_pole(checkout: Path, tmp_path: Path) -> None:
    manifest = train(checkout, tmp_path, "--total-timesteps=60000")
    assert newest(manifest)["step"] == 60_000
    assert newest(manifest)["metric"] > 100.0


def test_resumed_it_ends_with_the_same_weights(checkout: Path, tmp_path: Path) -> None:
    whole = train(checkout, tmp_path / "whole", "--total-timesteps=2048")
    half = train(checkout, tmp_path / "half", "--total-timesteps=1024")
    model = half.parents[1] / "a2c.cleanrl_model"
    resumed = train(checkout, tmp_path / "half", f"--resume={model}", "--total-timesteps=2048")
    assert newest(resumed)["step"] == 2048
    assert weights(resumed) == weights(whole)


def test_its_parameters_are_written_into_the_schemas(checkout: Path, tmp_path: Path) -> None:
    run(checkout, tmp_path, str(TOOLS / "algorithm_schemas.py"))
    written = json.loads((checkout / "src" / "cleanrl_worker" / "schemas.json").read_bytes())
    parameters = written["algorithms"]["a2c"]["parameters"]
    assert parameters["num_steps"]["default"] == 16
    assert parameters["accelerate"]["default"] is True
