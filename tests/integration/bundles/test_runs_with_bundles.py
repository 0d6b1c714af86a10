"""Runs of a worker that needs a bundle, from its absence to its removal, with a real daemon."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.bundles import InstallPhase, InstallRequest, VenvState
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.errors import BundleError
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.support.tiny_bundles import write_bundles
from tests.support.tiny_wheels import TinyWheel, lock_text, make_wheel
from tests.support.wheel_index import WheelIndex
from tests.waiting import wait_until

BALLAST = 400_000
WORKER = "dicing"
ABOUT = """
from dataclasses import dataclass

from mosaic.contracts.bundles import BundleRule
from mosaic.contracts.replay import Moment
from mosaic.worker import ReadinessCheck, WorkerCapabilities, config_schema, option


@dataclass(frozen=True)
class Config:
    until: str = option("", help="goes on until there is such a file")
    helper: str = option("", help="a program of another venv")


def get_worker_metadata():
    return WorkerCapabilities(
        worker_type="dicing",
        replay_maker="dicing:Dice",
        config_schema=config_schema(Config),
        readiness_checks=(ReadinessCheck("alpha", "import:alpha", "pip install alpha"),),
        bundle_rules=(BundleRule("learner"),),
    )


class Dice:
    def __init__(self, settings):
        import alpha

        self.reward = float(alpha.VERSION)

    def begin(self, start):
        return 0

    def step(self, action):
        return Moment(action, self.reward, action == 2, False)

    def picture(self):
        return None

    def close(self):
        pass
"""
PROGRAM = """
import importlib.util
import sys
import time
from pathlib import Path

import companion
from dicing import Config, Dice, get_worker_metadata
from mosaic.worker import worker_main


def train(run):
    dice = Dice({})
    for index in range(3):
        moment = dice.step(index)
        run.step(episode_index=0, step_index=index, action=index, observation=0,
                 reward=moment.reward, terminated=moment.terminated, truncated=False,
                 episode_seed=1)
    run.episode(episode_index=0, total_reward=3.0, steps=3, terminated=True, truncated=False,
                episode_seed=1)
    run.metric("sees_grpc", float(importlib.util.find_spec("grpc") is not None), step=1)
    while run.config.until and not Path(run.config.until).exists() and not run.should_stop():
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(worker_main(get_worker_metadata, Config, train))
"""


def install_worker(site: Path) -> None:
    """As pip would have, in a folder of its own."""
    package, info = site / WORKER, site / f"{WORKER}-1.5.dist-info"
    for folder in (package, site / "companion", info):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text(ABOUT)
    (package / "cli.py").write_text(PROGRAM)
    (site / "companion" / "__init__.py").touch()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {WORKER}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(
        f"[mosaic.workers]\n{WORKER} = {WORKER}:get_worker_metadata\n"
    )


def announce_worker(daemon: DaemonHarness, site: Path) -> None:
    (daemon.home.worker_manifests / f"{WORKER}.toml").write_text(
        f'name = "{WORKER}"\nentry_point = "{WORKER}:get_worker_metadata"\npath = ["{site}"]\n'
    )


class Bench:
    """A daemon beside which the worker is installed, and an index with what it needs."""

    def __init__(self, daemon: DaemonHarness, index: WheelIndex, site: Path, alpha: TinyWheel):
        self.daemon, self.index, self.site, self.alpha = daemon, index, site, alpha

    def submit(
        self, *, install: bool = True, most_install_bytes: int | None = None, **config: Any
    ) -> str:
        document = run_document(entry_point=WORKER)
        document["metadata"] = {"worker": {"config": config}}
        return self.daemon.client.start_run(
            document, install=install, most_install_bytes=most_install_bytes
        )

    def record(self, run_id: str) -> RunRecord:
        return self.daemon.client.get_run(run_id)

    def wait_until_waiting(self, run_id: str, words: str) -> None:
        wait_until(lambda: words in self.record(run_id).waiting, what=f"{words!r} to be said")

    def state(self) -> VenvState:
        (info,) = self.daemon.client.bundles(["learner"])
        return info.state

    def install(self) -> None:
        (*_, last) = self.daemon.client.install_bundle(InstallRequest("learner"))
        assert last.phase is InstallPhase.DONE, last.message

    def left(self) -> list[str]:
        folder = self.daemon.home.venvs
        return (
            sorted(path.name for path in folder.iterdir() if path.suffix) if folder.exists() else []
        )


def settings(site: Path, index: WheelIndex, cache: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": str(site),
        "PIP_INDEX_URL": index.url,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_RETRIES": "0",
        "UV_CACHE_DIR": str(cache),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    site = tmp_path / "site"
    with WheelIndex(tmp_path / "wheels") as index:
        alpha = make_wheel(index.folder, "alpha", ballast=BALLAST)
        write_bundles(site, {"learner": [alpha]})
        install_worker(tmp_path / "worker")
        with running_daemon(**settings(site, index, tmp_path / "cache")) as daemon:
            announce_worker(daemon, tmp_path / "worker")
            yield Bench(daemon, index, site, alpha)


def test_what_is_missing_is_installed_first_and_the_run_says_what_it_ran_in(bench: Bench) -> None:
    client = bench.daemon.client
    (worker,) = [worker for worker in client.workers() if worker.name == WORKER]
    assert worker.is_ready and "installed when it is first needed" in worker.readiness[0].message

    with pytest.raises(BundleError, match=r"learner.*is not installed.*to fetch") as refused:
        bench.submit(install=False)
    assert refused.value.hint == "`mosaic bundles install learner`"
    with pytest.raises(BundleError, match=r"401\.\d kB; 10\.0 kB were agreed to"):
        document = run_document(entry_point=WORKER)
        client.start_run(document, install=True, most_install_bytes=10_000)
    assert bench.state() is VenvState.ABSENT and client.list_runs() == []

    record = bench.daemon.wait_over(bench.submit())
    assert record.outcome is Outcome.SUCCEEDED, record.failure
    bundle = record.manifest["bundle"]
    (info,) = client.bundles(["learner"])
    assert (bundle["name"], bundle["lock_hash"]) == ("learner", info.lock_hash)
    assert bundle["interpreter"] == f"{info.path}/bin/python"
    assert (bundle["distribution"], bundle["version"]) == (WORKER, "1.5")
    (seen,) = [point for point in client.recent_metrics(record.run_id) if point.name == "sees_grpc"]
    assert seen.value == 0.0, "nothing of what MOSAIC is installed with is on the path"
    kept = bench.daemon.home.run(record.run_id).bundle_lock
    assert kept.read_text() == Path(info.path, "lock.txt").read_text()
    assert info.used_at is not None


def test_two_runs_wait_for_one_install_which_survives_a_daemon_that_is_killed(
    bench: Bench,
) -> None:
    bench.index.goes_on.clear()
    runs = [bench.submit(), bench.submit()]
    for run_id in runs:
        bench.wait_until_waiting(run_id, "installing learner: ")
    assert bench.index.has_sent_half.wait(20)
    (under_way,) = [
        info for info in bench.daemon.client.bundles() if info.state is VenvState.INSTALLING
    ]
    assert under_way.progress is not None and 0 <= under_way.progress.fraction < 1

    bench.daemon.kill()
    bench.index.goes_on.set()
    bench.daemon.start()
    for run_id in runs:
        record = bench.daemon.wait_over(run_id)
        assert record.outcome is Outcome.SUCCEEDED, record.failure
        assert record.attempt == 1
    log = bench.daemon.home.daemon_log.read_text().splitlines()
    started = [line for line in log if json.loads(line)["event"] == "install.started"]
    assert len(started) == 2, "one for each daemon, however many runs wait"
    assert bench.left() == []


def test_after_a_cancel_a_run_waits_for_somebody_to_install_it(bench: Bench) -> None:
    bench.index.goes_on.clear()
    run_id = bench.submit()
    assert bench.index.has_sent_half.wait(20)
    assert bench.daemon.client.cancel_install("learner")
    bench.wait_until_waiting(run_id, "`mosaic bundles install learner`")
    assert f"mosaic stop {run_id}" in bench.record(run_id).waiting
    assert bench.left() == [] and not bench.daemon.client.cancel_install("learner")
    # It does not begin again by itself, also not with another daemon.
    bench.daemon.stop()
    bench.index.goes_on.set()
    bench.daemon.start()
    bench.wait_until_waiting(run_id, "`mosaic bundles install learner`")
    assert bench.state() is VenvState.ABSENT
    bench.install()
    assert bench.daemon.wait_over(run_id).outcome is Outcome.SUCCEEDED


def test_a_venv_stays_while_a_run_uses_it(bench: Bench, tmp_path: Path) -> None:
    bench.install()
    done = tmp_path / "done"
    run_id = bench.submit(until=str(done))
    bench.daemon.wait_for(run_id, RunState.EXEC)
    client = bench.daemon.client
    with pytest.raises(BundleError, match="learner is in use by a run"):
        client.remove_bundle("learner")
    bench.daemon.kill()  # the next daemon knows it as well
    bench.daemon.start()
    with pytest.raises(BundleError, match="learner is in use by a run"):
        client.remove_bundle("learner")
    assert client.prune_bundles() == []
    done.touch()
    assert bench.daemon.wait_over(run_id).outcome is Outcome.SUCCEEDED
    assert [info.name for info in client.remove_bundle("learner")] == ["learner"]
    assert bench.state() is VenvState.ABSENT


def test_a_damaged_venv_is_made_again_for_a_run_but_not_while_one_uses_it(
    bench: Bench, tmp_path: Path
) -> None:
    client, over = bench.daemon.client, tmp_path / "over"
    bench.install()
    user = bench.submit(until=str(over))
    bench.daemon.wait_for(user, RunState.EXEC)
    [folder] = bench.daemon.home.venvs.iterdir()
    next(folder.glob("lib/*/site-packages/alpha/shown.py")).write_text("# somebody was here\n")
    (folder / "lock.txt").write_text("nor does it say any more what it is")
    assert client.verify_bundle("learner").state is VenvState.BROKEN

    with pytest.raises(BundleError, match="a run uses it") as caught:
        bench.install()
    assert "wait for the run" in caught.value.hint
    with pytest.raises(BundleError, match="damaged") as caught:
        bench.submit(install=False)
    assert "`mosaic bundles install learner` makes it again" in caught.value.hint
    over.touch()
    bench.daemon.wait_over(user)

    (info,) = client.bundles(["learner"])
    assert info.fetch_bytes == bench.alpha.size  # so much is what people agree to
    run_id = bench.submit(most_install_bytes=info.fetch_bytes)
    assert bench.daemon.wait_over(run_id).outcome is Outcome.SUCCEEDED
    assert client.verify_bundle("learner").state is VenvState.INSTALLED and bench.left() == []


def test_a_queued_run_whose_venv_is_removed_waits_for_another(bench: Bench, tmp_path: Path) -> None:
    bench.install()
    client, whole_machine = bench.daemon.client, {"cpus": 64, "memory_mb": 512}
    sleeper = bench.daemon.submit(
        entry_point="python",
        arguments=["-c", "import time; time.sleep(60)"],
        resources=whole_machine,
    )
    bench.daemon.wait_for(sleeper, RunState.RDY, RunState.EXEC)
    queued = bench.submit(install=False)
    bench.wait_until_waiting(queued, "CPU")
    client.remove_bundle("learner")
    bench.wait_until_waiting(queued, "`mosaic bundles install learner`")
    bench.install()
    bench.wait_until_waiting(queued, "CPU")
    client.stop_run(sleeper, grace_s=0)
    assert bench.daemon.wait_over(queued).outcome is Outcome.SUCCEEDED


def test_a_wheel_with_another_hash_fails_the_run_with_a_sentence(bench: Bench) -> None:
    wrong = lock_text([bench.alpha], hashes={"alpha": "0" * 64})
    next(bench.site.glob("*/locks/*.txt")).write_text(wrong)
    record = bench.daemon.wait_over(bench.submit())
    assert record.outcome is Outcome.FAILED and record.attempt == 0
    assert record.failure is not None
    assert "alpha" in record.failure.message and record.failure.hint
    assert bench.left() in ([], [name for name in bench.left() if name.endswith(".log")])


def test_an_imported_run_is_replayed_in_its_venv_or_names_the_bundle(
    bench: Bench, tmp_path: Path
) -> None:
    run_id = bench.submit()
    bench.daemon.wait_over(run_id)
    archive = bench.daemon.client.archive_run(run_id, tmp_path / "run.zip")
    own = bench.daemon.client.get_recording(run_id, 0)
    assert not own.problem and own.python.startswith(str(bench.daemon.home.venvs))

    with running_daemon(**settings(bench.site, bench.index, tmp_path / "cache")) as elsewhere:
        announce_worker(elsewhere, tmp_path / "worker")
        client = elsewhere.client
        client.import_run(archive)
        there = client.get_recording(run_id, 0)
        assert "learner" in there.problem and "`mosaic bundles install learner`" in there.problem
        (*_, last) = client.install_bundle(InstallRequest("learner"))
        assert last.phase is InstallPhase.DONE
        there = client.get_recording(run_id, 0)
        assert not there.problem
        assert there.python.startswith(str(Home(elsewhere.home.root).venvs))
        assert all("site-packages" not in folder for folder in there.path)
