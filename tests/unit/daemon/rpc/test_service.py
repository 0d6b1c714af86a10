"""A record that no message can hold hides no other."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.rpc.service import TrainerService
from mosaic.wire.generated import trainer_pb2 as pb
from tests.registry_samples import new_run


async def test_lists_watches_and_the_start_leave_it_out_and_say_so() -> None:
    sound = replace(new_run().record, state=RunState.TERM, outcome=Outcome.SUCCEEDED)
    bad = [
        replace(new_run().record, attempt=10**12),
        replace(sound, run_id=new_run().record.run_id, env_id="\ud800"),
    ]
    noted: dict[str, str] = {}

    async def list_runs(chosen: Any) -> Any:
        return [*bad, sound], 3

    async def watch(run_ids: Any, after: Any) -> Any:
        for record in [*bad, sound]:
            yield record

    trainer = SimpleNamespace(list_runs=list_runs, watch=watch, note_unusable=noted.__setitem__)
    service = TrainerService(cast("Any", trainer))
    await service.warm_up()
    assert noted.keys() == {record.run_id for record in bad}
    answer = await service.ListRuns(pb.ListRunsRequest(), None)
    assert [run.run_id for run in answer.runs] == [sound.run_id]
    watched = [run.run_id async for run in service.WatchRuns(pb.WatchRunsRequest(), None)]
    assert watched == [sound.run_id]
