"""A canary in the variables of a run is found nowhere, however its worker tries to tell it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from mosaic.errors import ConfigError
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated.trainer_pb2_grpc import TrainerStub
from tests.daemon_harness import MISBEHAVING, DaemonHarness, contents_below, run_document
from tests.waiting import PATIENCE_S, wait_until

NAMES = """
PGPASSWORD GITHUB_PAT OPENAI_KEY DATABASE_URL MYSQL_PWD SLACK_WEBHOOK wandbApiKey TOKEN1
WANDB_API_KEY HF_TOKEN AWS_SECRET_ACCESS_KEY AZURE_STORAGE_CONNECTION_STRING SENTRY_DSN dbPassword
SSHPASS SESSION_COOKIE LICENCE http_proxy WANDB_PROJECT DATA_DIR EXPERIMENT X FOO_BAR settings
PLAIN_LOOKING BROWSER
"""
WORKER = f"{MISBEHAVING}.tells_variables"


@pytest.fixture
def core() -> str:
    """What all values have in common; no file may hold it, in any spelling."""
    return secrets.token_hex(10)


def values_with(core: str) -> dict[str, str]:
    values = {name: f'{core}-{name}/ it\'s "ä"+\\' for name in NAMES.split()}
    # Names whose values are harmless as a rule, but not these.
    for name in ("http_proxy", "WANDB_PROJECT", "DATABASE_URL"):
        values[name] = f"https://me:{core}{name}@host/path"
    return values


def needles(core: str) -> list[bytes]:
    """The core as it is, and what is left of it in base64 wherever it begins, and in hex."""
    found = [core.encode(), core.encode().hex().encode()]
    for offset in range(3):
        encoded = base64.b64encode(b"." * offset + core.encode())
        found.append(encoded[4 : (offset + len(core)) * 8 // 6])
    return found


def assert_nowhere(core: str, *folders: Path) -> int:
    """Returns how many files were searched."""
    searched = 0
    for path, content in contents_below(*folders):
        told = content + os.fsencode(path)
        assert not [needle for needle in needles(core) if needle in told], path
        searched += 1
    return searched


def processes_telling(core: str) -> list[bytes]:
    """Command lines of all, and variables of daemons and run hosts; a worker has its own."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            text = (process / "cmdline").read_bytes()
            if b"mosaic.daemon" in text or b"runhost/__main__.py" in text:
                text += (process / "environ").read_bytes()
            if core.encode() in text:
                found.append(text)
    return found


def mosaic(daemon: DaemonHarness, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words],
        env=daemon.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_canary_in_many_variables_is_found_nowhere(
    daemon: DaemonHarness, core: str, tmp_path: Path
) -> None:
    values, go_file = values_with(core), tmp_path / "go"
    assert len(values) >= 25
    config = {"names": sorted(values), "go_file": str(go_file)}
    run_id = daemon.submit(
        entry_point="python",
        metadata={"worker": {"module": WORKER, "config": config}},
        environment={**values, "OMP_NUM_THREADS": "1"},
        retry={"max_attempts": 2, "backoff_seconds": 0},
    )
    daemon.wait_for(run_id, "RDY")
    assert processes_telling(core) == []
    assert_nowhere(core, daemon.home.root, daemon.home.runtime)
    daemon.kill()  # the second attempt is started by a daemon that was never told
    daemon.start()
    go_file.touch()
    record = daemon.wait_over(run_id)

    assert record.attempt == 2 and record.outcome == "failed"
    received = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    outputs = daemon.home.run(run_id).directory / "outputs"
    assert [path.read_text() for path in sorted(outputs.glob("received-*"))] == [received] * 2
    log = b"".join(piece.data for piece in daemon.client.stream_log(run_id, "stderr"))
    assert b"found *** and ******" in log, "the worker told it, and it was masked"

    exports = tmp_path / "exports"
    archive = daemon.client.archive_run(run_id, tmp_path / "run.zip")
    shutil.unpack_archive(archive, exports / "archive")
    for kind in ("csv", "tensorboard"):
        mosaic(daemon, "export", run_id, "--to", kind, "--out", str(exports / kind))
    (exports / "shown").write_text(
        mosaic(daemon, "show", run_id, "--json")
        + mosaic(daemon, "logs", run_id)
        + mosaic(daemon, "events", run_id)
        + mosaic(daemon, "runs", "--all", "--json")
    )
    assert "OMP_NUM_THREADS" in (exports / "shown").read_text()
    assert assert_nowhere(core, exports) > 10
    # With the daemon alive: its logs, and databases with all that is not yet checkpointed.
    assert assert_nowhere(core, daemon.home.root, daemon.home.runtime) > 10
    assert not [name for name in daemon.shared_memory() if "secrets" in name or "mosaic-" in name]
    stored = json.loads(daemon.home.config(run_id).read_bytes())["environment"]
    assert stored == {
        **{name: f"secret://{run_id}/{name}" for name in values},
        "OMP_NUM_THREADS": "1",
    }


def test_events_that_are_published_by_grpc_are_masked_without_changing_their_length(
    daemon: DaemonHarness, core: str
) -> None:
    value = f'{core}-"quoted"'
    run_id = daemon.submit(
        entry_point=sys.executable,
        arguments=["-c", "import time; time.sleep(60)"],
        environment={"LICENCE": value},
    )
    daemon.wait_for(run_id, "RDY")
    attempt = daemon.home.run(run_id).attempt(1)
    with grpc.insecure_channel(f"unix:{daemon.home.daemon_socket}") as channel:
        stub = TrainerStub(channel)
        session = stub.RegisterWorker(
            pb.RegisterWorkerRequest(
                run_id=run_id,
                attempt=1,
                attempt_token=attempt.token.read_text(),
                protocol="MOSAIC/1.0",
                capabilities_json=json.dumps({"notes": value}),
            ),
            timeout=10,
        )
        line = json.dumps({"type": "heartbeat", "seq": 1, "payload": {value: value}}) + "\n"
        request = pb.PublishEventsRequest(
            run_id=run_id,
            session_token=session.session_token,
            offset=session.journal_offset,
            chunk=line.encode(),
        )
        (answer,) = stub.PublishEvents(iter([request]), timeout=10)
    assert answer.next_offset == session.journal_offset + len(line)
    assert b"****" in daemon.home.run(run_id).journal.read_bytes()
    assert_nowhere(core, daemon.home.root)


def test_a_stored_config_that_is_submitted_again_names_what_is_missing(
    daemon: DaemonHarness,
) -> None:
    given = {"DATA_DIR": "/data", "A_KEY": "x", "SEED": "1"}
    run_id = daemon.submit(environment=given)
    record = daemon.wait_over(run_id)
    with pytest.raises(ConfigError, match="The values of A_KEY, DATA_DIR are not stored") as caught:
        daemon.client.start_run(record.config or daemon.client.get_run(run_id).config)
    assert caught.value.details["missing"] == ["A_KEY", "DATA_DIR"]
    assert "--env A_KEY" in caught.value.hint
    again = {**daemon.client.get_run(run_id).config, "environment": given}
    assert daemon.wait_over(daemon.client.start_run(again)).outcome == "succeeded"


def test_values_declared_plain_are_stored_and_reach_the_worker(daemon: DaemonHarness) -> None:
    document = run_document(environment={"DATA_DIR": "/data", "OTHER": "1"})
    document["metadata"]["plain_environment"] = ["DATA_DIR"]
    run_id = daemon.client.start_run(document)
    daemon.wait_over(run_id)
    stored = daemon.client.get_run(run_id).config["environment"]
    assert stored == {"DATA_DIR": "/data", "OTHER": f"secret://{run_id}/OTHER"}


def test_ordinary_values_reach_the_worker_and_leave_its_log_readable(
    daemon: DaemonHarness,
) -> None:
    code = "import os; print(os.environ['MODE'], 'true story', os.environ['PLACE'])"
    run_id = daemon.submit(
        entry_point=sys.executable,
        arguments=["-c", code],
        environment={"MODE": "true", "PLACE": "/usr/bin", "PYTHONPATH": "/nowhere"},
    )
    daemon.wait_over(run_id)
    log = b"".join(piece.data for piece in daemon.client.stream_log(run_id, "stdout"))
    assert log == b"true true story /usr/bin\n"


def test_an_old_home_is_brought_along_by_the_first_start(daemon: DaemonHarness, core: str) -> None:
    run_id = daemon.submit(environment={"DATA_DIR": "x"})
    daemon.wait_over(run_id)
    daemon.stop()
    path = daemon.home.config(run_id)
    old = {**json.loads(path.read_text()), "environment": {"DATA_DIR": core, "SEED": "1"}}
    path.write_text(json.dumps(old))
    daemon.home.format.unlink()
    daemon.start()
    assert daemon.client.get_run(run_id).config["environment"] == {
        "DATA_DIR": f"secret://{run_id}/DATA_DIR",
        "SEED": "1",
    }
    assert_nowhere(core, daemon.home.root)
    assert '"configs.redacted", "count": 1' in daemon.home.daemon_log.read_text()


# Another user of the same machine

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def as_nobody(code: str, *words: str) -> None:
    """What another user does, in a process of theirs."""
    program = f"import os, sys; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n{code}"
    subprocess.run([sys.executable, "-I", "-c", program, *words], check=True, timeout=PATIENCE_S)


@pytest.fixture
def planted(daemon: DaemonHarness, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The vault's name in shared memory, free, with the daemon stopped."""
    if os.environ.get("XDG_RUNTIME_DIR"):
        pytest.skip("here the vault is in XDG_RUNTIME_DIR, where others cannot create names")
    daemon.stop()
    digest = hashlib.sha256(os.fsencode(daemon.home.root)).hexdigest()[:10]
    place = Path("/dev/shm") / f"mosaic-{os.getuid()}-{digest}"
    yield place
    if place.is_symlink():
        place.unlink()
    elif place.exists():
        shutil.rmtree(place)


@needs_root
def test_a_link_another_user_planted_costs_nobody_a_file(
    daemon: DaemonHarness, planted: Path, tmp_path: Path
) -> None:
    letters = tmp_path / "letters"
    letters.mkdir(mode=0o700)
    for name in ("will.txt", "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        (letters / name).write_text("dear")
        (letters / name).chmod(0o600)
    as_nobody("os.symlink(sys.argv[1], sys.argv[2])", str(letters), str(planted))
    daemon.start()
    health = daemon.client.health()
    assert not health.healthy
    assert any(str(planted) in alarm and "XDG_RUNTIME_DIR" in alarm for alarm in health.alarms)
    run_id = daemon.submit(environment={"A_TOKEN": "canary", "DATA_DIR": "/x"})
    assert daemon.wait_over(run_id).outcome == "succeeded", "memory does, as long as it lives"
    assert sorted(path.name for path in letters.iterdir()) == [
        "01ARZ3NDEKTSV4RRFFQ69G5FAV", "will.txt",
    ]  # fmt: skip
    planted.unlink()
    run_id = daemon.submit(environment={"A_TOKEN": "canary"})
    daemon.wait_over(run_id)
    assert daemon.client.health().healthy


@needs_root
def test_a_folder_another_user_prepared_gets_no_secret(
    daemon: DaemonHarness, planted: Path
) -> None:
    as_nobody("os.mkdir(sys.argv[1]); os.chmod(sys.argv[1], 0o777)", str(planted))
    daemon.start()
    run_id = daemon.submit(environment={"A_TOKEN": "canary"})
    assert daemon.wait_over(run_id).outcome == "succeeded"
    assert list(planted.iterdir()) == []
    assert any("belongs to another user" in alarm for alarm in daemon.client.health().alarms)


@needs_root
def test_sockets_are_not_put_where_another_user_waits_for_them(daemon: DaemonHarness) -> None:
    daemon.stop()
    place = daemon.home.runtime
    as_nobody("os.mkdir(sys.argv[1]); os.chmod(sys.argv[1], 0o777)", str(place))
    try:
        daemon.launch()
        assert daemon.process is not None
        assert daemon.process.wait(PATIENCE_S) != 0
        daemon.process = None
        assert list(place.iterdir()) == []
    finally:
        place.rmdir()
    daemon.start()
    assert wait_until(lambda: daemon.client.health().healthy, what="a healthy daemon")
