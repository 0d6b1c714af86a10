"""Scripts in the two styles of CleanRL, unmodified, through the worker and a real daemon."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.upstream.interpreter import ask_interpreter
from mosaic.errors import ConfigError
from tests import journal_lines
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.waiting import PATIENCE_S

# Written for Gymnasium < 1.0: it logs what it finds in `final_info`, and nothing else.
TYRO = """
import json, os
from dataclasses import dataclass
from pathlib import Path
import gymnasium as gym
import numpy as np
import tyro
from torch.utils.tensorboard import SummaryWriter
from cleanrl_utils.naming import run_name_of

@dataclass
class Args:
    exp_name: str = os.path.basename(__file__)[: -len(".py")]
    seed: int = 1
    cuda: bool = True
    track: bool = False
    env_id: str = "Acrobot-v1"
    total_timesteps: int = 500
    num_envs: int = 2
    save_model: bool = False

if __name__ == "__main__":
    args = tyro.cli(Args)
    folder = Path("runs") / run_name_of(args)
    writer = SummaryWriter(str(folder))
    logged = 0
    (folder / "args.json").write_text(json.dumps(vars(args)))
    envs = gym.vector.SyncVectorEnv([lambda: gym.wrappers.RecordEpisodeStatistics(
        gym.make(args.env_id)) for _ in range(args.num_envs)])
    envs.reset(seed=args.seed)
    for step in range(args.num_envs, args.total_timesteps + 1, args.num_envs):
        *_, infos = envs.step(np.zeros(args.num_envs, dtype=int))
        for info in infos.get("final_info", ()):
            if info and "episode" in info:
                writer.add_scalar("charts/episodic_return", info["episode"]["r"], step)
                logged += 1
    print(f"logged={logged}")
    if args.save_model:
        (folder / f"{args.exp_name}.cleanrl_model").write_bytes(b"weights")
    writer.close()
"""
ARGPARSE = """
import argparse, json, os, sys
from pathlib import Path

def strtobool(text):
    return {"true": 1, "false": 0}[text.lower()]

parser = argparse.ArgumentParser()
parser.add_argument("--gym-id", type=str, default="CartPole-v1")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--total-timesteps", type=int, default=int(5e5))
parser.add_argument(
    "--cuda", type=lambda x: bool(strtobool(x)), default=True, nargs="?", const=True
)
args = parser.parse_args()
Path("args.json").write_text(json.dumps(vars(args)))
with open(os.environ["MOSAIC_BRIDGE"], "w") as bridge:
    bridge.write('{"kind": "metric", "name": "losses/td_loss", "value": 0.5, "step": 40}\\n')
    bridge.write('{"kind": "episode", "return": 12.0, "length": 12}\\n')
if not Path("tried").exists():
    Path("tried").touch()
    sys.exit("out of luck")
"""


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon(MOSAIC_HEARTBEAT_S="0.2") as harness:
        yield harness


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    scripts, support = tmp_path / "cleanrl", tmp_path / "cleanrl_utils"
    scripts.mkdir()
    support.mkdir()
    (scripts / "sarsa.py").write_text(TYRO)
    (scripts / "old_sarsa.py").write_text(ARGPARSE)
    (support / "naming.py").write_text(
        "def run_name_of(args):\n    return f'{args.env_id}__{args.exp_name}__{args.seed}__1'\n"
    )
    return tmp_path


def document(checkout: Path, algo: str, **changes: Any) -> dict[str, Any]:
    extras = {"source": "upstream", "upstream_path": str(checkout), **changes.pop("extras", {})}
    config = {"algo": algo, **changes.pop("config", {}), "extras": extras}
    metadata = {"worker": {"config": config}}
    resources = {"cpus": 1, "memory_mb": 2048}
    return {
        **run_document(),
        "entry_point": "cleanrl",
        "resources": resources,
        "metadata": metadata,
        **changes,
    }


def events(daemon: DaemonHarness, run_id: str, kind: str) -> list[dict[str, Any]]:
    found = map(json.loads, journal_lines.content(daemon.home.run(run_id).journal).splitlines())
    return [event for event in found if event["type"] == kind]


def metric(daemon: DaemonHarness, run_id: str, name: str) -> list[float]:
    found = events(daemon, run_id, "metric")
    return [event["value"] for event in found if event["name"] == name]


def test_script_with_a_dataclass_is_trained_and_recorded(
    daemon: DaemonHarness, checkout: Path
) -> None:
    config = {"env_id": "CartPole-v1", "total_timesteps": 400, "seed": 7}
    extras = {"cuda": False, "algo_params": {"num_envs": 4, "save_model": True}, "notes": "mine"}
    run_id = daemon.client.start_run(document(checkout, "sarsa", config=config, extras=extras))
    record = daemon.wait_over(run_id)
    assert record.outcome == "succeeded", record.failure
    files = daemon.home.run(run_id)
    folder = files.directory / "runs" / "CartPole-v1__sarsa__7__1"
    told = json.loads((folder / "args.json").read_text())
    assert told == {
        **{"exp_name": "sarsa", "seed": 7, "cuda": False, "track": False, "save_model": True},
        **{"env_id": "CartPole-v1", "total_timesteps": 400, "num_envs": 4},
    }
    assert record.progress.steps == 400
    assert record.progress.episodes > 10
    printed = files.log("cleanrl", "stdout").read_text()
    assert f"logged={record.progress.episodes}\n" in printed, "whatever Gymnasium this is"
    assert metric(daemon, run_id, "charts/episodic_return")
    assert events(daemon, run_id, "episode")
    manifest = json.loads(files.manifest.read_text())
    (model,) = manifest["checkpoints"]
    assert model["path"] == "runs/CartPole-v1__sarsa__7__1/sarsa.cleanrl_model"
    assert record.checkpoint_uri == model["path"] and model["is_final"]
    assert manifest["tensorboard"]["relative_path"] == "runs/CartPole-v1__sarsa__7__1"
    assert manifest["notes"] == "mine"
    found = manifest["metadata"]
    assert (found["generation"], found["env_id"], found["total_steps"]) == (
        *("tyro", "CartPole-v1", 400),
    )
    assert "--no-cuda" in found["flags"] and "--num-envs=4" in found["flags"]


def test_script_with_a_parser_starts_again_after_a_crash(
    daemon: DaemonHarness, checkout: Path
) -> None:
    script = checkout / "cleanrl" / "old_sarsa.py"
    config = {"env_id": "Acrobot-v1", "seed": 3}
    run_id = daemon.client.start_run(
        document(
            script, "old_sarsa", config=config, extras={"cuda": False}, retry={"max_attempts": 2}
        )
    )
    record = daemon.wait_over(run_id)
    assert (record.outcome, record.attempt) == ("succeeded", 2), record.failure
    told = json.loads((daemon.home.run(run_id).directory / "args.json").read_text())
    assert told == {"gym_id": "Acrobot-v1", "seed": 3, "total_timesteps": 500_000, "cuda": False}
    beats = [event["payload"] for event in events(daemon, run_id, "heartbeat")]
    assert any("starts from the beginning" in beat.get("note", "") for beat in beats)
    assert metric(daemon, run_id, "losses/td_loss") == [0.5, 0.5]
    assert len(events(daemon, run_id, "episode")) == 2


def test_what_the_script_does_not_have_is_refused_before_it_starts(
    daemon: DaemonHarness, checkout: Path
) -> None:
    run_id = daemon.client.start_run(document(checkout, "sarsa", extras={"num_env": 3}))
    record = daemon.wait_over(run_id)
    assert record.failure is not None
    assert "'extras.num_env' is no parameter of" in record.failure.message
    assert "did you mean num_envs" in record.failure.hint
    assert not (daemon.home.run(run_id).directory / "runs").exists()


def test_command_line_knows_the_scripts_of_the_source(
    daemon: DaemonHarness, checkout: Path
) -> None:
    def train(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mosaic.cli", "train", *words],
            cwd=checkout,
            env=daemon.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    where = ("--source", "upstream", "--upstream-path", "cleanrl")
    listed = train("sarsa", *where, "--help")
    assert "num_envs" in listed.stdout and "default 500" in listed.stdout
    refused = train("sarsa", "CartPole-v1", *where, "--set", "num_env=3")
    assert refused.returncode == 2 and "'num_envs'" in refused.stderr
    unknown = train("sarse", *where)
    assert unknown.returncode == 2 and "did you mean sarsa" in unknown.stderr
    assert "--source" in train("ppo", "--env-python", sys.executable).stderr
    trained = train("old_sarsa", "CartPole-v1", *where, "--seed", "5", "--retries", "1", "--json")
    assert trained.returncode == 0, trained.stderr
    run_id = json.loads(trained.stdout)["run_id"]
    told = json.loads((daemon.home.run(run_id).directory / "args.json").read_text())
    assert told == {"gym_id": "CartPole-v1", "seed": 5, "total_timesteps": 500_000, "cuda": True}


def test_an_interpreter_tells_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    found = ask_interpreter(sys.executable, ["json", "mine", "no_such_package"], [tmp_path])
    assert found.version == sys.version_info[:2]
    assert found.found["mine"] == [tmp_path / "mine"]
    assert found.missing(["json", "mine", "no_such_package"]) == ["no_such_package"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\necho no snake; exit 0\n", "did not answer as Python does"),
        ("#!/bin/sh\necho broken >&2; exit 3\n", "ended with status 3: broken"),
        ("no program\n", "cannot be started"),
    ],
)
def test_what_is_no_interpreter_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "python"
    path.write_text(text)
    path.chmod(0o700)
    with pytest.raises(ConfigError, match=said) as caught:
        ask_interpreter(str(path), ["json"])
    assert caught.value.details["field"] == "extras.env_python"
