"""What no daemon could take, sent to a real one: an answer at once, and a daemon that goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import grpc
import pytest

from mosaic.client.channel import trainer_stub
from mosaic.errors import ConfigError, MosaicError
from mosaic.wire.errors import from_rpc
from mosaic.wire.generated import trainer_pb2 as pb
from tests.daemon_harness import DaemonHarness, run_document
from tests.hostile_values import VALUES
from tests.waiting import PATIENCE_S

# Far less than a client waits for an answer that never comes.


def refusal(daemon: DaemonHarness, config_json: str) -> MosaicError:
    """What the daemon itself says, without the checks of our client."""
    with grpc.insecure_channel(f"unix:{daemon.home.daemon_socket}") as channel:
        request = pb.SubmitRunRequest(config_json=config_json, client_key="key")
        with pytest.raises(grpc.RpcError) as caught:
            trainer_stub(channel).SubmitRun(request, timeout=PATIENCE_S)
    return from_rpc(caught.value)


def test_the_daemon_answers_what_it_cannot_take(daemon: DaemonHarness) -> None:
    places: dict[str, dict[str, Any]] = {
        "environment": {"environment": {"A\ud800": "x"}},
        "environment.A": {"environment": {"A": "\ud800"}},
        "run_name": {"run_name": "\ud800"},
        "": {"unknown\ud800": 1},
        "schedule.max_steps": {"schedule": {"max_steps": 1e308}},
        "resources.cpus": {"resources": {"cpus": 2**70, "memory_mb": 512}},
        "metadata.worker.config": {"metadata": {"worker": {"config": {"\x00": 1}}}},
    }
    for field, changes in places.items():
        error = refusal(daemon, json.dumps({**run_document(), **changes}))
        assert isinstance(error, ConfigError), error
        assert error.details["field"] == field
    digits = json.dumps({**run_document(), "priority": "HERE"}).replace('"HERE"', "9" * 6000)
    assert refusal(daemon, digits).details["field"] == "priority"
    assert daemon.client.list_runs() == []


def test_every_hostile_value_in_a_workers_config_is_answered(daemon: DaemonHarness) -> None:
    for name, value in VALUES.items():
        for key in ("seed", "episodes", "env_id", "unknown"):
            document = run_document(config={key: value})
            try:
                daemon.client.submit(document, dry_run=True)
            except MosaicError as error:
                assert type(error) is not MosaicError, (key, name, error.message)
    daemon.wait_over(daemon.submit())


def command(daemon: DaemonHarness, *words: str | bytes) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words],
        env=daemon.environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((b"run", b"baseline", b"--env", b"A\xff=1"), "in environment is not valid Unicode"),
        ((b"run", b"baseline", b"--env", b"A=\xff"), "environment.A is not valid Unicode"),
        ((b"run", b"baseline", b"--name", b"\xff"), "run_name is not valid Unicode"),
        (("run", "baseline", "--max-steps", "1e308"), "argument --max-steps: "),
        (("run", "baseline", "--set", "seed=" + "9" * 6000), "seed"),
        (("logs", "latest", "--tail", "1" + "0" * 30), "argument --tail: "),
        (("stop", "latest", "--grace", "1e308"), "argument --grace: "),
        ((b"show", b"\xff"), "no run"),
        ((b"logs", b"--search", b"\xff"), "text is"),
    ],
)
def test_the_command_line_answers_at_once_and_in_words(
    daemon: DaemonHarness, words: tuple[Any, ...], said: str
) -> None:
    done = command(daemon, *words)
    assert done.returncode in (2, 4), done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr and "unexpected" not in done.stderr
