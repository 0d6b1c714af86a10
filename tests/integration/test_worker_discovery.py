"""Discovery answers for every worker of an environment, whatever one of them does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.testing.worker_process import clean_environment
from tests.waiting import PATIENCE_S

GOOD = """
print("noise on stdout while importing")
import os; os.write(1, b"noise on the descriptor")
from mosaic.worker import WorkerCapabilities, ReadinessCheck
def get_worker_metadata():
    print("more noise")
    return WorkerCapabilities("good", readiness_checks=(
        ReadinessCheck("json", "import:json", "install json"),
        ReadinessCheck("nothing", "import:no_such_module_at_all", "pip install it"),
        ReadinessCheck("deep", "import:no_such_package.module", "pip install it"),
        ReadinessCheck("shell", "command:sh", "install a shell"),
        ReadinessCheck("tool", "command:no-such-program", "apt install it", required=False),
        ReadinessCheck("key", "env:NO_SUCH_VARIABLE", "export it"),
        ReadinessCheck("odd", "moon:full", "wait"),
    ))
"""
BAD = {
    "raises": "raise RuntimeError('broken on import')",
    "exits": "import sys; sys.exit(5)",
    "vanishes": "import os; os._exit(7)",
    "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "syntax": "def (",
    "forgets": "x = 1",
    "lies": "def get_worker_metadata(): return 5",
    "babbles": "def get_worker_metadata(): return {'lane': 'no such lane', 'worker_type': 'x'}",
}


def discover(*arguments: str) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.worker.discovery", *arguments],
        env=clean_environment({}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return {answer["name"]: answer for answer in json.loads(done.stdout)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, code in {"good": GOOD, **BAD}.items():
        (tmp_path / f"{name}_sample.py").write_text(code)
    return tmp_path


def test_installed_worker_is_found_by_its_entry_point() -> None:
    answer = discover()["baseline"]
    assert answer["module"] == "baseline_worker.cli"
    assert answer["error"] == ""
    capabilities = WorkerCapabilities.from_dict(answer["capabilities"])
    assert capabilities.config_schema["required"] == ["env_id"]
    assert [check["ok"] for check in answer["readiness"]] == [True]


def test_failing_workers_never_spoil_the_others(folder: Path) -> None:
    names = ["good", *BAD]
    arguments = [f"--worker={name}={name}_sample:get_worker_metadata" for name in names]
    answers = discover("--path", str(folder), *arguments)
    assert {*names, "baseline"} <= set(answers)
    for name in BAD:
        assert answers[name]["capabilities"] is None
        assert answers[name]["error"], name
    assert "broken on import" in answers["raises"]["error"]
    assert "status 7" in answers["vanishes"]["error"]
    assert "status -11" in answers["crashes"]["error"]
    assert answers["good"]["capabilities"]["worker_type"] == "good"
    assert answers["good"]["error"] == ""
    assert answers["baseline"]["error"] == ""


def test_readiness_is_checked_in_the_workers_own_environment(folder: Path) -> None:
    answers = discover("--path", str(folder), "--worker=good=good_sample:get_worker_metadata")
    readiness = {check["name"]: check for check in answers["good"]["readiness"]}
    assert {name: check["ok"] for name, check in readiness.items()} == {
        "json": True,
        "nothing": False,
        "deep": False,
        "shell": True,
        "tool": False,
        "key": False,
        "odd": False,
    }
    assert readiness["nothing"]["fix"] == "pip install it"
    assert readiness["nothing"]["message"] == "no_such_module_at_all is missing"
    assert readiness["json"]["fix"] == ""
    assert readiness["tool"]["required"] is False


def test_explicit_worker_wins_over_an_installed_one(folder: Path) -> None:
    answers = discover("--path", str(folder), "--worker=baseline=good_sample:get_worker_metadata")
    assert answers["baseline"]["capabilities"]["worker_type"] == "good"
    assert answers["baseline"]["module"] == "good_sample.cli"


def test_hanging_worker_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "hanging_sample.py").write_text("import time\ntime.sleep(600)\n")
    code = (
        "import sys\n"
        "from mosaic.worker import discovery\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "reference = discovery.WorkerReference('hanging', 'hanging_sample:f')\n"
        "print(discovery.describe_in_child(reference, timeout_s=0.3)['error'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env=clean_environment({}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout == "gave no answer within 0.3 s\n"


def test_malformed_argument_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.worker.discovery", "--worker", "x"],
        env=clean_environment({}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2
    assert "name=package:function" in done.stderr
