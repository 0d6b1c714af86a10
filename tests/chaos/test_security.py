"""Secrets that must not leak, callers that must not get in (faults 20 and 27)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
import stat
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import grpc
import pytest

from mosaic.client import TrainerClient
from mosaic.errors import ConfigError, TrainerUnreachableError, UnauthenticatedError
from mosaic.wire.generated import trainer_pb2 as pb
from tests.chaos.announced_workers import announce_workers, emitting, printing
from tests.chaos.certificates import Authority
from tests.chaos.chaos_daemon import ChaosDaemon, chaos_daemon, python_run
from tests.chaos.figures import record
from tests.daemon_harness import MISBEHAVING, contents_below, run_document
from tests.waiting import wait_until

pytestmark = [pytest.mark.chaos, pytest.mark.blocks_merge]

SERVICE = pb.DESCRIPTOR.services_by_name["Trainer"]
METHODS = [f"/{SERVICE.full_name}/{method.name}" for method in SERVICE.methods]
UNKNOWN_METHODS = [f"/{SERVICE.full_name}/NoSuchCall", "/grpc.reflection.v1.ServerReflection/Info"]
UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED
Metadata = tuple[tuple[str, str | bytes], ...]


class CommandLineWatch:
    """Looks at the command lines of all processes, and the environment of run hosts, all the time.

    While it runs, a worker's own environment holds its secrets: that is how it gets them.
    """

    def __init__(self, needle: bytes) -> None:
        self._needle = needle
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.looks = 0
        self.found: list[str] = []

    def __enter__(self) -> CommandLineWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.wait(0.02):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit() and int(entry.name) != os.getpid():
                    self._look_at(entry)
            self.looks += 1

    def _look_at(self, process: Path) -> None:
        try:
            command = (process / "cmdline").read_bytes()
            if b"runhost/__main__.py" in command or b"mosaic.daemon" in command:
                command += (process / "environ").read_bytes()
        except OSError:
            return  # it is gone
        if self._needle in command:
            self.found.append(command.replace(b"\0", b" ").decode(errors="replace"))


def leaking_runs(variable: str) -> list[dict[str, object]]:
    """Every kind of worker, each telling its secret in every way it has, and crashing with it."""
    return [
        emitting(steps=10, leaked_variable=variable),
        printing("prints_secret", variable),
        {"entry_point": "python", "arguments": ["-m", f"{MISBEHAVING}.prints_secret", variable]},
    ]


def attempts_of(daemon: ChaosDaemon, run_id: str) -> int:
    return daemon.client.get_run(run_id).attempt


@pytest.mark.parametrize("variable", ["WANDB_API_KEY", "MY_LICENCE"])
def test_secret_reaches_the_worker_and_nothing_else(variable: str) -> None:
    # A quote and a backslash: it looks different wherever it stands in JSON.
    value = f'sk-"{secrets.token_hex(12)}\\{secrets.token_hex(4)}'
    retry = {"max_attempts": 3, "backoff_seconds": 0.5}
    with chaos_daemon(MOSAIC_SECRET_ENV="MY_LICENCE") as daemon:
        announce_workers(daemon.home)
        with CommandLineWatch(value.encode()) as watch:
            runs = [
                daemon.submit(environment={variable: value}, retry=retry, **changes)
                for changes in leaking_runs(variable)
            ]
            for run_id in runs:
                wait_until(partial(attempts_of, daemon, run_id), 20, run_id)
            daemon.kill()
            daemon.start()
            records = [daemon.wait_over(run_id, timeout_s=60) for run_id in runs]
        for item in records:
            # A launch that the kill of the daemon undid before the worker was started is no fault.
            faults = [step for step in item.transitions if step.state == "FAULT"]
            assert (len(faults), item.outcome) == (3, "failed")
        assert not watch.found
        digest = hashlib.sha256(value.encode()).hexdigest()
        outputs = daemon.home.run(runs[0]).directory / "outputs"
        assert {path.read_text() for path in outputs.glob("received-*")} == {digest}
        for item in records:
            text = str(daemon.client.get_run(item.run_id).to_dict())
            assert not spellings_in(value, text.encode()), text
        with pytest.raises(ConfigError) as refused:
            daemon.client.start_run(run_document(config={"api_key": value}))
        assert value not in str(refused.value.to_dict())
        daemon.stop()
        searched = assert_nowhere(value, [daemon.home.root, daemon.home.runtime, Path("/dev/shm")])
        daemon.start()
        record(
            "20",
            f"{variable} printed, journalled and raised by {len(runs)} workers in 3 attempts each, "
            f"daemon killed in between: 0 hits in {searched} files and {watch.looks} looks at all "
            "command lines; the worker received it",
        )


def spellings_in(value: str, content: bytes) -> list[bytes]:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    # Half of it would be half a leak: the part in front of the backslash counts, too.
    pieces = {value, escaped, repr(value)[1:-1], value.partition("\\")[0][4:]}
    return [piece.encode() for piece in pieces if piece.encode() in content]


def assert_nowhere(value: str, folders: list[Path]) -> int:
    """Returns how many files were searched."""
    searched = 0
    for path, content in contents_below(*folders):
        assert not spellings_in(value, content), f"a secret is in {path}"
        searched += 1
    for folder in folders:
        for _, folder_names, file_names in os.walk(folder):  # others may delete theirs meanwhile
            for name in (*folder_names, *file_names):
                assert not spellings_in(value, os.fsencode(name))
    return searched


def call(channel: grpc.Channel, method: str, metadata: Metadata, body: bytes) -> grpc.StatusCode:
    """How any method, of whatever kind, answers to one message; the first answer is enough."""
    answers = channel.stream_stream(method, None, None)(iter([body]), metadata=metadata, timeout=20)
    try:
        for _ in answers:
            answers.cancel()
            return grpc.StatusCode.OK
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def credentials_that_are_none(token: str) -> dict[str, Metadata]:
    return {
        "no token": (),
        "an empty header": (("authorization", ""),),
        "an empty token": (("authorization", "Bearer "),),
        "no scheme": (("authorization", token),),
        "a wrong token": (("authorization", f"Bearer {secrets.token_hex(32)}"),),
        "all but the last character": (("authorization", f"Bearer {token[:-1]}"),),
        "one character more": (("authorization", f"Bearer {token}0"),),
        "another case": (("authorization", f"Bearer {token.upper()}"),),
        "another scheme": (("authorization", f"Basic {token}"),),
        "a scheme in small letters": (("authorization", f"bearer {token}"),),
        "two spaces": (("authorization", f"Bearer  {token}"),),
        "another header": (("x-authorization", f"Bearer {token}"), ("token", token)),
        "a cookie": (("cookie", f"authorization=Bearer {token}"),),
        "a binary header": (("authorization-bin", f"Bearer {token}".encode()),),
        "many wrong ones": tuple(("authorization", f"Bearer {n}") for n in range(20)),
    }


def test_no_method_is_open_to_a_caller_without_the_token() -> None:
    with chaos_daemon() as daemon:
        run_id = daemon.submit(**python_run("pass"))
        daemon.wait_over(run_id)
        daemon.stop()
        daemon.start("--tcp", "127.0.0.1:0")
        address = daemon.client.health().addresses[1]
        token = daemon.home.daemon_token.read_text()
        named = pb.RunRequest(run_id=run_id).SerializeToString()
        refused = 0
        with grpc.insecure_channel(address) as channel:
            for method in (*METHODS, *UNKNOWN_METHODS):
                for what, metadata in credentials_that_are_none(token).items():
                    # A sound message, and one no parser takes: neither may be looked at.
                    for body in (named, b"\xff\xff\xff"):
                        code = call(channel, method, metadata, body)
                        assert code is UNAUTHENTICATED, f"{method} with {what}: {code}"
                        refused += 1
            assert daemon.client.get_run(run_id).run_id == run_id
            right = (("authorization", f"Bearer {token}"),)
            for method in METHODS:
                assert call(channel, method, right, named) is not UNAUTHENTICATED
        assert_speaks_no_http(address)
        record(
            "27",
            f"{len(METHODS)} methods and {len(UNKNOWN_METHODS)} unknown ones over TCP: "
            f"{refused}/{refused} calls without the token refused, 0 methods open",
        )


def assert_speaks_no_http(address: str) -> None:
    """What a browser could be made to send gets no answer that means anything."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.settimeout(5)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\nOrigin: null\r\n\r\n")
        with contextlib.suppress(OSError):
            assert not connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_sockets_and_files_are_for_their_owner_only() -> None:
    with chaos_daemon() as daemon:
        daemon.stop()
        daemon.start("--tcp", "127.0.0.1:0")
        home = daemon.home
        home.root.chmod(0o755)  # what lies below must not rely on it
        assert stat.S_IMODE(home.runtime.stat().st_mode) == 0o700
        assert stat.S_IMODE(home.daemon_socket.stat().st_mode) == 0o600
        assert stat.S_IMODE(home.daemon_token.stat().st_mode) == 0o600
        for folder in (home.trainer.parent, home.trainer, home.runs, home.configs, home.logs):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        if os.getuid() != 0:
            pytest.skip("only root can try as another user")
        for path in (home.daemon_socket, home.daemon_token, home.registry):
            assert not can_reach_as_nobody(path), path
        record("27", "another user reaches neither socket nor token nor registry")


def can_reach_as_nobody(path: Path) -> bool:
    program = (
        "import os, socket, sys\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        "    if sys.argv[1].endswith('.sock'):\n"
        "        socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n"
        "    else:\n"
        "        open(sys.argv[1])\n"
        "except PermissionError:\n"
        "    sys.exit(13)\n"
    )
    answer = subprocess.run([sys.executable, "-I", "-S", "-c", program, str(path)], check=False)
    assert answer.returncode in (0, 13)
    return answer.returncode == 0


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0"])
def test_other_machines_need_mutual_tls(tmp_path: Path, address: str) -> None:
    command = [sys.executable, "-m", "mosaic.daemon", "--home", str(tmp_path), "--tcp", address]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert answer.returncode == 2
    assert "mutual TLS" in answer.stderr
    assert not list(tmp_path.iterdir())


def test_mutual_tls_lets_in_only_who_has_certificate_and_token(tmp_path: Path) -> None:
    ours, foreign = Authority(tmp_path / "ours"), Authority(tmp_path / "foreign")
    server, client = ours.issue("server"), ours.issue("client")
    stranger = foreign.issue("client", peer_ca=ours.certificate)
    with chaos_daemon() as daemon:
        daemon.stop()
        files = ("--tls-cert", server.certificate, "--tls-key", server.key)
        options = (*files, "--tls-client-ca", server.peer_ca, "--tcp", "0.0.0.0:0")
        daemon.start(*map(str, options))
        port = daemon.client.health().addresses[1].rpartition(":")[2]
        address, token = f"127.0.0.1:{port}", daemon.home.daemon_token.read_text()
        with TrainerClient(address=address, token=token, tls=client) as friend:
            assert friend.health().home == str(daemon.home.root)
        for wrong in (None, secrets.token_hex(32)):
            with (
                TrainerClient(address=address, token=wrong, tls=client) as visitor,
                pytest.raises(UnauthenticatedError),
            ):
                visitor.health()
        for tls in (stranger, None):
            with (
                TrainerClient(address=address, token=token, tls=tls) as visitor,
                pytest.raises(TrainerUnreachableError),
            ):
                visitor.health()
        with (
            TrainerClient(address=address, token=token, tls=foreign.issue("other")) as suspicious,
            pytest.raises(TrainerUnreachableError),
        ):
            suspicious.health()  # it does not know who signed the daemon's certificate
        record("27", "mutual TLS: certificate and token together get in, 5/5 others do not")
