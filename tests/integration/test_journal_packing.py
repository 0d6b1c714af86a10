"""The daemon packs the journals of runs that are over, and everybody reads on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.telemetry.journal.files import packed_path
from tests.daemon_harness import DaemonHarness
from tests.waiting import wait_until

# About 500 kB of journal.
MUCH = {"episodes": 150, "policy": "random"}


def is_packed(journal: Path) -> bool:
    return packed_path(journal).exists() and not journal.exists()


def test_a_long_journal_is_packed_when_its_run_is_over_and_read_as_before(
    daemon: DaemonHarness,
) -> None:
    run_id = daemon.submit(config=MUCH)
    seen = [
        line for batch in daemon.client.stream_events(run_id, follow=True) for line in batch.lines
    ]
    daemon.wait_over(run_id)
    journal = daemon.home.run(run_id).journal
    wait_until(lambda: is_packed(journal), what="the journal to be packed")
    batches = list(daemon.client.stream_events(run_id))
    assert [line for batch in batches for line in batch.lines] == seen
    assert gzip.decompress(packed_path(journal).read_bytes()) == b"".join(
        line.rstrip(b"\n") + b"\n" for line in seen
    )
    # From the middle, by a cursor that was handed out before.
    cursor = batches[len(batches) // 2 - 1].next_cursor
    rest = [line for batch in daemon.client.stream_events(run_id, cursor) for line in batch.lines]
    assert rest == seen[-len(rest) :]
    assert daemon.client.get_run(run_id).paths["journal"] == str(packed_path(journal))


def test_runs_that_ended_without_a_daemon_or_were_left_half_packed_are_packed_at_the_start(
    daemon: DaemonHarness,
) -> None:
    run_id = daemon.submit(config=MUCH)
    daemon.wait_over(run_id)
    journal = daemon.home.run(run_id).journal
    wait_until(lambda: is_packed(journal), what="the journal to be packed")
    content = gzip.decompress(packed_path(journal).read_bytes())
    daemon.kill()
    # As if it had died between putting the packed journal in place and removing the plain one.
    journal.write_bytes(content)
    leftover = packed_path(journal).with_suffix(".gz.tmp")
    leftover.write_bytes(b"half")
    daemon.start()
    wait_until(lambda: is_packed(journal), what="the journal to be packed again")
    assert gzip.decompress(packed_path(journal).read_bytes()) == content
    assert not leftover.exists()


def test_the_journal_of_a_run_that_goes_on_stays_plain(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config={"episodes": 100_000})
    journal = daemon.home.run(run_id).journal
    wait_until(lambda: journal.exists() and journal.stat().st_size > 200_000, what="much to pack")
    other = daemon.submit(config=MUCH)
    daemon.wait_over(other)
    other_journal = daemon.home.run(other).journal
    wait_until(lambda: is_packed(other_journal), what="the other journal to be packed")
    assert journal.exists() and not packed_path(journal).exists()
    daemon.client.stop_run(run_id)
    daemon.wait_over(run_id)
    # The packer gives way to everybody: on a loaded machine that takes a while.
    wait_until(lambda: is_packed(journal), what="this journal to be packed, too")


async def test_the_asynchronous_client_reads_packed_journals_too(daemon: DaemonHarness) -> None:
    run_id = daemon.submit(config=MUCH)
    daemon.wait_over(run_id)
    journal = daemon.home.run(run_id).journal
    wait_until(lambda: is_packed(journal), what="the journal to be packed")
    async with AsyncTrainerClient(daemon.home, autostart=False) as client:
        lines = [line async for batch in client.stream_events(run_id) for line in batch.lines]
    assert json.loads(lines[-1])["type"] == "run_completed"
