"""Names, tags and notes, by command and client, and where a run goes they go with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.cli.main import main
from mosaic.errors import ConfigError
from tests.daemon_harness import DaemonHarness, run_document, running_daemon


class Commands:
    def __init__(self, daemon: DaemonHarness, capsys: pytest.CaptureFixture[str]) -> None:
        self._home, self._capsys = str(daemon.home.root), capsys

    def __call__(self, *words: str, status: int = 0) -> str:
        assert main(["--home", self._home, *words]) == status
        told = self._capsys.readouterr()
        return told.out if status == 0 else told.out + told.err


def test_a_run_is_renamed_tagged_and_noted_by_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with running_daemon() as daemon:
        mosaic, client = Commands(daemon, capsys), daemon.client
        first, second = [client.submit(run_document(run_name="ours")).run_id for _ in "ab"]
        for run in (first, second):
            daemon.wait_over(run)
        assert "renamed ours#2 to theirs" in mosaic("rename", "ours#2", "theirs")
        told = mosaic("rename", "theirs", "ours")
        assert "to ours#2" in told and "another run is called ours" in told
        assert "baseline, draft" in mosaic("tag", "ours", "+baseline", "draft")
        assert mosaic("tag", "ours", "-draft", "+kept").strip().endswith("baseline, kept")
        mosaic("note", "ours", "what\nit is for")
        assert mosaic("note", "ours") == "what\nit is for\n"
        shown = mosaic("show", "ours")
        assert "baseline, kept" in shown and "what it is for" in shown
        assert second not in mosaic("runs", "--tag", "baseline", "--tag", "kept")
        assert mosaic("runs", "--contains", "kept").count(first) == 1
        listed = mosaic("runs", "--show", "policy", "--show", "nowhere")
        assert "POLICY" in listed and "random" in listed
        record = json.loads(mosaic("show", "ours", "--json"))
        assert (record["tags"], record["note"]) == (["baseline", "kept"], "what\nit is for")
        for words, part in (
            (("rename", "ours", "../up"), "looks like a path"),
            (("rename", "ours", "x" * 121), "120 is the limit"),
            (("tag", "ours", "+two words"), "holds a blank"),
            (("tag", "ours", "--force"), "word after + or -"),
            (("note", "ours", "bell\a"), "control characters"),
        ):
            assert part in mosaic(*words, status=2), words
        with pytest.raises(ConfigError):
            client.tag_run(first, [f"t{number}" for number in range(30)])
        assert client.get_run(first).tags == ("baseline", "kept")
        # Trash and archive keep what a person gave it.
        archive = client.archive_run(first, tmp_path / "ours.zip")
        client.delete_run(first)
        assert [run.goes_at is not None for run in client.trash()] == [True]
        trash = mosaic("trash")
        assert "in 6 d" in trash or "in 7 d" in trash
        back = client.restore_run(first)
        assert (back.run_name, back.tags) == ("ours", ("baseline", "kept"))
        assert client.settings([first, second])[first]["policy"] == "random"
    with running_daemon() as other:
        taken = other.client.submit(run_document(run_name="ours")).run_id
        imported = other.client.import_run(archive)
        assert (imported.run_name, imported.note) == ("ours#2", "what\nit is for")
        assert imported.tags == ("baseline", "kept")
        other.wait_over(taken)


def test_a_run_that_goes_on_can_be_labelled(capsys: pytest.CaptureFixture[str]) -> None:
    with running_daemon() as daemon:
        endless = {"total_timesteps": 10**8, "max_steps_per_second": 500, "episodes": None}
        document = run_document(run_name="long")
        settings = document["metadata"]["worker"]["config"]
        settings.update({name: value for name, value in endless.items() if value})
        settings.pop("episodes")
        run = daemon.client.submit(document).run_id
        daemon.wait_for(run, "EXEC")
        record = daemon.client.rename_run(run, "still going")
        assert (record.run_name, record.state) == ("still going", "EXEC")
        daemon.client.tag_run(run, ["live"])
        daemon.client.stop_run(run)
        over = daemon.wait_over(run)
        assert (over.run_name, over.tags) == ("still going", ("live",))
