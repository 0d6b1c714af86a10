"""What a client asked for is done to its end, or not at all, although the client went away."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from mosaic.client.channel import trainer_stub
from mosaic.errors import RunStateError
from mosaic.wire.generated import trainer_pb2 as pb
from tests.daemon_harness import DaemonHarness, run_document
from tests.waiting import wait_until

# From before a request is looked at to after it is answered.
PATIENCES_S = [0.002 * step for step in range(1, 41)]


@pytest.fixture
def stub(daemon: DaemonHarness) -> Iterator[Any]:
    with grpc.insecure_channel(f"unix://{daemon.home.daemon_socket}") as channel:
        yield trainer_stub(channel)


def abandoned(call: Callable[..., Any], request: Any, patience_s: float) -> None:
    try:
        call(request, timeout=patience_s)
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise


def test_a_run_that_was_accepted_is_run(daemon: DaemonHarness, stub: Any) -> None:
    document = run_document(entry_point=sys.executable, arguments=["-c", "pass"])
    for index, patience_s in enumerate(PATIENCES_S):
        request = pb.SubmitRunRequest(config_json=json.dumps(document), client_key=f"key-{index}")
        abandoned(stub.SubmitRun, request, patience_s)

    def is_quiet() -> bool:
        return all(record.is_over for record in daemon.client.list_runs(limit=0))

    # Whoever asks once more hears of the run that there is, or makes it.
    runs = [
        daemon.client.start_run(document, client_key=f"key-{index}")
        for index in range(len(PATIENCES_S))
    ]
    wait_until(is_quiet, what="every run to end")
    assert {record.run_id for record in daemon.client.list_runs(limit=0)} == set(runs)


def test_a_state_that_is_stored_is_known(daemon: DaemonHarness, stub: Any) -> None:
    sleep = ["-c", "import time; time.sleep(600)"]
    run_id = daemon.submit(entry_point=sys.executable, arguments=sleep)
    daemon.wait_for(run_id, "RDY", "EXEC")
    for patience_s in PATIENCES_S:
        abandoned(stub.PauseRun, pb.RunRequest(run_id=run_id), patience_s / 4)
        with contextlib.suppress(RunStateError):  # it is
            daemon.client.pause_run(run_id)
        assert daemon.client.get_run(run_id).state == "PAUSE"
        abandoned(stub.ResumeRun, pb.RunRequest(run_id=run_id), patience_s / 4)
        with contextlib.suppress(RunStateError):  # it has been
            daemon.client.unpause_run(run_id)
        assert daemon.client.get_run(run_id).state != "PAUSE"
    abandoned(stub.CancelRun, pb.CancelRunRequest(run_id=run_id, grace_s=0), 0.002)
    with contextlib.suppress(RunStateError):  # it is over
        daemon.client.stop_run(run_id, grace_s=0)
    assert daemon.wait_over(run_id).outcome == "canceled"
