"""`mosaic bundles`, `--install` and `mosaic reproduce` against a real daemon, from tiny wheels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.bundles.accelerators import accelerator_here, stand_ins
from mosaic.cli.main import main
from mosaic.contracts.bundles import InstallRequest, VenvState
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.errors import BundleError
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.integration.pseudo_terminal import pseudo_terminal
from tests.support.tiny_bundles import PACKAGE, WORKER, write_bundles, write_worker
from tests.support.tiny_wheels import make_wheel
from tests.support.wheel_index import WheelIndex, write_index
from tests.waiting import PATIENCE_S, wait_until

BALLAST = 400_000


@pytest.fixture
def index(tmp_path: Path) -> Iterator[WheelIndex]:
    with WheelIndex(tmp_path / "wheels") as index:
        yield index


class Commands:
    """`mosaic` in this process: starting one takes longer than most of what it does."""

    def __init__(self, daemon: DaemonHarness, capsys: pytest.CaptureFixture[str]) -> None:
        self.daemon = daemon
        self._capsys = capsys
        self.err = ""  # what the last one said on standard error

    def __call__(self, *words: str, status: int = 0) -> str:
        """Standard output; with another status, of standard error as well."""
        found = main(["--home", str(self.daemon.home.root), *words])
        out, err = self._capsys.readouterr()
        self.err = err
        assert found == status, f"{words}: {found}\n{out}\n{err}"
        assert "\x1b" not in out + err
        return out + err if status else out

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))

    def state(self, name: str) -> VenvState:
        (info,) = self.daemon.client.bundles([name])
        return info.state

    def left(self) -> list[str]:
        """What is below the folder of venvs, whole or not."""
        folder = self.daemon.home.venvs
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture
def mosaic(
    tmp_path: Path, index: WheelIndex, capsys: pytest.CaptureFixture[str]
) -> Iterator[Commands]:
    alpha = make_wheel(index.folder, "alpha", ballast=BALLAST)
    games = make_wheel(index.folder, "mazes")
    installed = tmp_path / "site"
    hammer = make_wheel(index.folder, "hammer")
    bundles = {"learner": [alpha], "learner+games": [alpha, games], "tools": [hammer]}
    write_bundles(installed, bundles)
    settings = {"PIP_INDEX_URL": index.url, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    settings["PIP_CONFIG_FILE"] = os.devnull
    settings["UV_CACHE_DIR"] = str(tmp_path / "uv-cache")
    with running_daemon(PYTHONPATH=str(installed), **settings) as daemon:
        commands = Commands(daemon, capsys)
        commands("workers", "add", str(write_worker(tmp_path / "worker")))
        yield commands


def test_a_bundle_is_listed_installed_found_verified_and_removed(mosaic: Commands) -> None:
    assert mosaic.state("learner") is VenvState.ABSENT
    assert "Tiny learner" in mosaic("bundles")
    shown = mosaic("bundles", "install", "learner")
    assert "learner installed in" in shown
    folder = Path(mosaic("bundles", "where", "learner").strip())
    python = folder / "bin" / "python"
    subprocess.run([python, "-c", "import alpha"], check=True, timeout=PATIENCE_S)
    assert "1 venv" in mosaic("bundles")
    assert "every file is as it was installed" in mosaic("bundles", "verify", "learner")
    assert "is installed already" in mosaic("bundles", "install", "learner")
    assert "nothing to delete" in mosaic("bundles", "prune")

    changed = next(folder.glob("lib/*/site-packages/alpha/shown.py"))
    changed.write_text("# somebody was here\n")
    assert "alpha" in mosaic("bundles", "verify", "learner", status=6)
    assert "fix: mosaic bundles install learner" in mosaic("bundles")
    assert "learner installed in" in mosaic("bundles", "install", "learner")
    assert "every file is as it was installed" in mosaic("bundles", "verify", "learner")

    assert "removed learner" in mosaic("bundles", "remove", "learner")
    assert mosaic.state("learner") is VenvState.ABSENT
    assert mosaic.left() == []


def test_a_packed_bundle_is_installed_without_the_index(
    mosaic: Commands, index: WheelIndex, tmp_path: Path
) -> None:
    stick = tmp_path / "stick"
    assert "packed learner+games" in mosaic("bundles", "pack", "learner+games", "--to", str(stick))
    for wheel in index.folder.glob("*.whl"):
        wheel.unlink()
    found = mosaic.json("bundles", "install", "learner+games", "--from", str(stick))
    assert (found["name"], found["state"]) == ("learner+games", "installed")


def test_what_came_with_mosaic_is_packed_for_machines_without_it(
    mosaic: Commands, index: WheelIndex, tmp_path: Path
) -> None:
    # Its package is beside MOSAIC, by its name and version.
    info = tmp_path / "site" / "alpha-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: alpha\nVersion: 1.0\n")
    wait_until(lambda: mosaic.state("learner") is VenvState.PRESENT, what="alpha to be seen")
    assert "nothing to install" in mosaic("bundles", "install", "learner")
    assert "packed learner" in mosaic("bundles", "pack", "learner", "--to", str(tmp_path / "s"))
    assert list((tmp_path / "s").glob("alpha-*.whl"))


def test_bad_words_are_refused_with_what_to_do(mosaic: Commands) -> None:
    error = mosaic("bundles", "install", "lerner", status=6)
    assert "There is no bundle 'lerner'" in error and "learner" in error
    error = mosaic("bundles", "install", "games+learner", status=6)
    assert "only add-ons are joined" in error
    error = mosaic("bundles", "install", "learner", "--accelerator", "tpu", status=2)
    assert "--accelerator" in error
    assert mosaic.left() == []


def test_a_broken_package_of_bundles_is_named_and_costs_nobody_the_others(
    mosaic: Commands, tmp_path: Path
) -> None:
    definitions = tmp_path / "site" / PACKAGE / "bundles.toml"
    definitions.write_text(definitions.read_text() + '\n[odd]\nkind = "planet"\n')

    def problem() -> bool:
        return any("odd" in text for text in mosaic.daemon.client.bundle_problems())

    wait_until(problem, what="the daemon to see the change")
    assert mosaic.state("learner") is VenvState.ABSENT


def test_ctrl_c_cancels_an_install_and_leaves_nothing(mosaic: Commands, index: WheelIndex) -> None:
    index.goes_on.clear()
    with pseudo_terminal(100) as terminal:
        process = terminal.start(
            [sys.executable, "-m", "mosaic.cli", "bundles", "install", "learner"],
            mosaic.daemon.environment,
        )
        terminal.wait_for("Install it? [Y/n]")
        terminal.press(b"\n")
        assert index.has_sent_half.wait(PATIENCE_S)
        terminal.wait_for("fetching")
        terminal.press(b"\x03")
        terminal.wait_for("Canceled: nothing of learner was installed")
        assert process.wait(PATIENCE_S) == 130
    assert mosaic.state("learner") is VenvState.ABSENT
    assert mosaic.left() == []


# Runs


def test_a_run_that_lacks_its_bundle_names_the_option_with_the_size(mosaic: Commands) -> None:
    error = mosaic("run", WORKER, "--set", "game=maze1", status=6)
    assert "learner+games" in error and "--install" in error and "kB" in error
    dry = mosaic("run", WORKER, "--set", "game=maze1", "--dry-run", status=6)
    assert "what is not installed yet" in dry
    assert "is installed first" in mosaic("run", WORKER, "--dry-run", "--install")
    assert mosaic.daemon.client.list_runs() == [] and mosaic.left() == []


def test_with_install_a_run_waits_for_its_bundle_and_says_so(
    mosaic: Commands, index: WheelIndex
) -> None:
    index.goes_on.clear()
    run_id = mosaic("run", WORKER, "--install", "--detach").strip()

    def waiting() -> str:
        return mosaic.daemon.client.get_run(run_id).waiting

    wait_until(lambda: "installing learner" in waiting(), what="the run to wait for its install")
    index.goes_on.set()
    record = mosaic.daemon.wait_over(run_id)
    assert record.outcome is Outcome.SUCCEEDED, record.failure
    assert record.manifest["bundle"]["name"] == "learner"
    assert mosaic.state("learner") is VenvState.INSTALLED
    # The next one needs nothing.
    assert mosaic.json("run", WORKER)["outcome"] == "succeeded"


def test_on_a_terminal_the_install_is_offered(mosaic: Commands) -> None:
    with pseudo_terminal(100) as terminal:
        process = terminal.start(
            [sys.executable, "-m", "mosaic.cli", "run", WORKER], mosaic.daemon.environment
        )
        terminal.wait_for("Install it now? [Y/n]")
        assert "Tiny learner" in terminal.output and "to fetch" in terminal.output
        terminal.press(b"\n")
        terminal.wait_for("succeeded")
        assert process.wait(PATIENCE_S) == 0


def test_a_run_is_reproduced_with_the_packages_it_had(
    mosaic: Commands, index: WheelIndex, tmp_path: Path
) -> None:
    first = mosaic.json("run", WORKER, "--install", "--seed", "3")
    # Meanwhile the bundle has a new version, and the old venv is gone.
    mosaic("bundles", "remove", "learner")
    newer = make_wheel(index.folder, "alpha", "2.0")
    write_bundles(tmp_path / "site", {"learner": [newer]})

    plan = mosaic("reproduce", first["run_id"], "--dry-run", status=6)
    assert "learner" in plan and "seed" in plan and "what is not installed yet" in plan
    again = mosaic("reproduce", first["run_id"], "--install")
    assert "every metric is the same" in again
    second = mosaic.daemon.client.find_run("latest")
    then, now = first["manifest"]["bundle"], second.manifest["bundle"]
    assert now["lock_hash"] == then["lock_hash"]
    assert second.config["metadata"]["reproduces"] == first["run_id"]
    assert second.metrics_digest == first["metrics_digest"]

    # Out of an archive, the same lock is somebody else's: it is shown, and asked about.
    mosaic("archive", first["run_id"], "--out", str(tmp_path / "run.zip"))
    mosaic("delete", first["run_id"], "--for-good", "--yes")
    mosaic("import", str(tmp_path / "run.zip"))
    mosaic("bundles", "remove", "learner")
    refused = mosaic("reproduce", first["run_id"], "--install", status=5)
    assert f"installs: learner, 1 packages (lock {then['lock_hash']})" in refused
    assert mosaic.state("learner") is VenvState.ABSENT


def test_a_larger_venv_serves_a_run_that_needs_less_of_it(
    mosaic: Commands, index: WheelIndex, tmp_path: Path
) -> None:
    """What it ran in is recorded, protected, and found again when it is gone."""
    maze = mosaic.json("run", WORKER, "--set", "game=maze1", "--install")
    assert maze["manifest"]["bundle"]["name"] == "learner+games"
    assert "not installed" not in mosaic("run", WORKER, "--dry-run")
    first = mosaic.json("run", WORKER, "--seed", "3")
    then = first["manifest"]["bundle"]
    assert then == maze["manifest"]["bundle"]
    assert "learner+games" in mosaic("show", first["run_id"])
    kept = mosaic.daemon.home.run(first["run_id"]).bundle_lock.read_text()
    assert "# bundle: learner+games" in kept
    # Bundles are spoken of one by one.
    assert mosaic.state("learner") is VenvState.ABSENT
    assert "not installed" in mosaic("bundles", "where", "learner", status=6)
    assert "nothing to delete" in mosaic("bundles", "prune")

    # Meanwhile there are new versions, and the venv is gone.
    mosaic("bundles", "remove", "learner+games")
    newer = make_wheel(index.folder, "alpha", "2.0")
    games = make_wheel(index.folder, "mazes", "2.0")
    write_bundles(tmp_path / "site", {"learner": [newer], "learner+games": [newer, games]})
    again = mosaic("reproduce", first["run_id"], "--install")
    assert "every metric is the same" in again
    second = mosaic.daemon.client.find_run("latest")
    assert second.manifest["bundle"]["lock_hash"] == then["lock_hash"]
    # It is none of this installation's any more, and serves no other run.
    assert "`mosaic bundles install learner`" in mosaic("run", WORKER, status=6)
    mosaic("bundles", "install", "learner")
    assert mosaic.json("run", WORKER)["manifest"]["bundle"]["name"] == "learner"


def test_a_larger_venv_stays_while_a_run_uses_it(mosaic: Commands, tmp_path: Path) -> None:
    mosaic("bundles", "install", "learner+games")
    until = tmp_path / "over"
    run_id = mosaic("run", WORKER, "--set", f"until={until}", "--detach").strip()
    wait_until(
        lambda: mosaic.daemon.client.get_run(run_id).state is RunState.EXEC, what="it to run"
    )
    assert "in use by a run" in mosaic("bundles", "remove", "learner+games", status=6)
    mosaic.daemon.kill()  # the next daemon knows it as well
    mosaic.daemon.start()
    assert "in use by a run" in mosaic("bundles", "remove", "learner+games", status=6)
    # Beside it, the smaller one can be had; the run that goes on keeps what it has.
    assert "learner installed in" in mosaic("bundles", "install", "learner")
    assert "in use by a run" in mosaic("bundles", "remove", "learner+games", status=6)
    assert "removed learner" in mosaic("bundles", "remove", "learner")
    until.touch()
    assert mosaic.daemon.wait_over(run_id).outcome is Outcome.SUCCEEDED
    assert "removed learner+games" in mosaic("bundles", "remove", "learner+games")


def test_the_venv_of_a_program_is_told_beside_that_of_its_worker(
    mosaic: Commands, tmp_path: Path
) -> None:
    run = mosaic.json("run", WORKER, "--set", "tool=hammer", "--seed", "1", "--install")
    run_id, home = run["run_id"], mosaic.daemon.home
    assert run["manifest"]["bundle"]["name"] == "learner"
    (other,) = run["manifest"]["other_bundles"]
    (info,) = mosaic.daemon.client.bundles(["tools"])
    assert (other["name"], other["lock_hash"]) == ("tools", info.lock_hash)
    assert other["interpreter"] == f"{info.path}/bin/python"
    assert (other["accelerator"], other["python"]) == (info.accelerator, info.python)
    assert "# bundle: tools" in home.run(run_id).bundle_locks[1].read_text()

    words = f"tools, CPU, Python {info.python}, lock {info.lock_hash[:12]}"
    assert words in mosaic("show", run_id)
    assert mosaic.json("show", run_id)["manifest"]["other_bundles"] == [other]
    mosaic("reproduce", run_id, "--dry-run")
    assert words in mosaic.err
    assert mosaic.json("reproduce", run_id, "--dry-run")["found"]["program's bundle"] == words
    mosaic("archive", run_id, "--out", str(tmp_path / "run.zip"))
    mosaic("delete", run_id, "--for-good", "--yes")
    mosaic("import", str(tmp_path / "run.zip"))
    assert words in mosaic("show", run_id)

    # One that older versions have written says nothing of it.
    path = home.run(run_id).manifest
    older = json.loads(path.read_text())
    del older["other_bundles"]
    path.write_text(json.dumps(older))
    shown = mosaic("show", run_id)
    assert "learner, CPU" in shown and "program's bundle" not in shown


# What there is instead of what suits this machine

HERE = accelerator_here()
STAND_IN = stand_ins(HERE)[0]


@pytest.fixture
def elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], index: WheelIndex
) -> Iterator[Commands]:
    """Its bundle has builds for another accelerator only, and those are in an index of its own."""
    alpha = make_wheel(index.folder, "alpha", "1.0+made", ballast=BALLAST)
    makers = write_index(tmp_path / "makers", [alpha])
    installed, empty = tmp_path / "site", write_index(tmp_path / "empty", [])
    (tmp_path / "empty").mkdir()
    write_bundles(installed, {"learner": [alpha]}, STAND_IN.value, makers)
    settings = {"PIP_INDEX_URL": empty, "PIP_CONFIG_FILE": os.devnull}
    settings["UV_CACHE_DIR"] = str(tmp_path / "uv-cache")
    with running_daemon(PYTHONPATH=str(installed), **settings) as daemon:
        yield Commands(daemon, capsys)


def listed(mosaic: Commands) -> dict[str, Any]:
    return next(item for item in mosaic.json("bundles", "list") if item["name"] == "learner")


def test_all_words_speak_of_the_build_that_is_installed_in_place_of_another(
    elsewhere: Commands,
) -> None:
    shown = listed(elsewhere)
    assert shown["accelerator"] == STAND_IN and shown["state"] == "absent"
    assert f"no lock of the {HERE.value} build" in shown["note"]
    assert shown["note"] in elsewhere("bundles")
    (asked,) = elsewhere.daemon.client.bundles(["learner"])
    assert (asked.fetch_bytes, asked.note) == (shown["fetch_bytes"], shown["note"])

    error = elsewhere("bundles", "install", "learner", "--accelerator", HERE.value, status=6)
    assert "cannot be installed" in error and f"--accelerator {STAND_IN.value}" in error
    less = InstallRequest("learner", most_bytes=shown["fetch_bytes"] - 1)
    with pytest.raises(BundleError, match="were agreed to"):
        list(elsewhere.daemon.client.install_bundle(less))

    found = elsewhere.json("bundles", "install", "learner")
    assert (found["state"], found["accelerator"]) == ("installed", STAND_IN)
    assert found["lock_hash"] == shown["lock_hash"] and found["path"] == shown["path"]
    assert "is installed already" in elsewhere("bundles", "install", "learner")
    assert "nothing to delete" in elsewhere("bundles", "prune")


def test_what_is_packed_without_a_word_is_the_same_build(
    elsewhere: Commands, tmp_path: Path
) -> None:
    elsewhere("bundles", "pack", "learner", "--to", str(tmp_path / "stick"))
    assert list((tmp_path / "stick").glob(f"learner-*-{STAND_IN.value}.txt"))
    assert list((tmp_path / "stick").glob("alpha-*.whl"))


def test_a_run_is_offered_that_build_and_no_more_than_its_size(
    elsewhere: Commands, tmp_path: Path
) -> None:
    elsewhere("workers", "add", str(write_worker(tmp_path / "worker")))
    shown = listed(elsewhere)
    error = elsewhere("run", WORKER, status=6)
    assert "--install" in error and shown["note"].removesuffix(".") in error
    config = run_document(entry_point=WORKER)
    dry = elsewhere.daemon.client.submit(config, dry_run=True)
    assert [item.to_dict() for item in dry.missing] == [shown]
    with pytest.raises(BundleError, match="were agreed to"):
        elsewhere.daemon.client.submit(
            config, install=True, most_install_bytes=shown["fetch_bytes"] - 1
        )
    assert elsewhere.left() == []
