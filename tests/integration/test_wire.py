"""Errors, authentication and reconnection over real sockets, with a scripted servicer behind."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from mosaic.client import AsyncTrainerClient, TrainerClient, connection
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.errors import (
    JournalOffsetError,
    MosaicError,
    RequestError,
    RunStateError,
    TrainerUnreachableError,
    UnauthenticatedError,
    UnknownRunError,
    error_codes,
)
from mosaic.paths import Home
from mosaic.wire.convert import record_to_proto
from mosaic.wire.errors import raise_from_rpc
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated.trainer_pb2_grpc import TrainerStub
from mosaic.wire.server_address import TcpAddress, TlsFiles, listen_on_tcp
from tests.integration.scripted_trainer import TOKEN, ServerThread
from tests.unit.wire.test_convert import BARE
from tests.waiting import PATIENCE_S

RUN = BARE.run_id
METHODS = list(pb.DESCRIPTOR.services_by_name["Trainer"].methods)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerThread]:
    thread = ServerThread(Home(tmp_path))
    yield thread
    thread.close()


@pytest.fixture
def client(server: ServerThread) -> Iterator[TrainerClient]:
    with TrainerClient(server.home, autostart=False) as client:
        yield client


def raw_call(
    channel: grpc.Channel, name: str, streams: bool, body: bytes = b"", metadata: Any = ()
) -> None:
    """Call a method with any bytes, whatever its kind, without any generated code."""
    path = f"/mosaic.trainer.v1.Trainer/{name}"
    if streams:
        send = channel.stream_stream(path, None, None)
        answers = send(iter([body]), timeout=5, metadata=metadata)
        next(iter(answers), None)
    else:
        channel.unary_unary(path, None, None)(body, timeout=5, metadata=metadata)


# Errors


@pytest.mark.parametrize("cls", error_codes().values(), ids=error_codes())
def test_error_of_a_unary_call_is_raised_as_its_own_class(
    server: ServerThread, cls: type[MosaicError]
) -> None:
    sent = cls("went wrong: größer", hint="do this", field="a.b", count=3)

    async def fail(request: Any, context: Any) -> Any:
        raise sent

    server.trainer.script["GetRun"] = fail
    with (
        grpc.insecure_channel(f"unix:{server.home.daemon_socket}") as channel,
        pytest.raises(cls) as caught,
    ):
        try:
            TrainerStub(channel).GetRun(pb.RunRequest(run_id=RUN))
        except grpc.RpcError as error:
            raise_from_rpc(error)
    assert caught.value.to_dict() == sent.to_dict()


def test_error_in_the_middle_of_a_stream_arrives_after_what_was_sent(
    server: ServerThread, client: TrainerClient
) -> None:
    async def half(request: Any, context: Any) -> AsyncIterator[Any]:
        yield pb.EventBatch(events=[b"{}"], next_cursor=3)
        raise RunStateError("no more", hint="sorry")

    server.trainer.script["StreamEvents"] = half
    stream = client.stream_events(RUN)
    assert next(stream).next_cursor == 3
    with pytest.raises(RunStateError, match="no more"):
        next(stream)


def test_error_of_a_two_way_stream_carries_its_details(server: ServerThread) -> None:
    async def publish(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            if request.offset:
                raise JournalOffsetError("a gap", expected_offset=0)
            yield pb.PublishEventsAck(next_offset=10)

    server.trainer.script["PublishEvents"] = publish
    chunks = [pb.PublishEventsRequest(offset=0), pb.PublishEventsRequest(offset=99)]
    with grpc.insecure_channel(f"unix:{server.home.daemon_socket}") as channel:
        acks = TrainerStub(channel).PublishEvents(iter(chunks))
        assert next(acks).next_offset == 10
        with pytest.raises(JournalOffsetError) as caught:
            try:
                next(acks)
            except grpc.RpcError as error:
                raise_from_rpc(error)
    assert caught.value.details == {"expected_offset": 0}


def test_unexpected_exception_is_logged_and_not_leaked(
    server: ServerThread, client: TrainerClient, caplog: pytest.LogCaptureFixture
) -> None:
    async def crash(request: Any, context: Any) -> Any:
        raise KeyError("a-secret-detail")

    server.trainer.script["GetRun"] = crash
    with caplog.at_level(logging.ERROR), pytest.raises(MosaicError) as caught:
        client.get_run(RUN)
    assert type(caught.value) is MosaicError
    assert "a-secret-detail" not in str(caught.value.to_dict())
    record = next(entry for entry in caplog.records if entry.getMessage() == "call.failed")
    assert record.exc_info is not None


def test_malformed_request_is_the_callers_fault(server: ServerThread) -> None:
    with (
        grpc.insecure_channel(f"unix:{server.home.daemon_socket}") as channel,
        pytest.raises(grpc.RpcError) as caught,
    ):
        raw_call(channel, "GetRun", False, b"\xff\xff\xff")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


# Authentication


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", "Bearer wrong-token"),),
        (("authorization", TOKEN),),
        (("authorization", "Bearer "),),
        (("authorization", f"bearer {TOKEN} "),),
        (("x-authorization", f"Bearer {TOKEN}"),),
    ],
    ids=["none", "wrong", "no scheme", "empty", "almost", "wrong key"],
)
@pytest.mark.parametrize("body", [b"", b"\xff\xff\xff"], ids=["empty body", "garbage"])
def test_no_method_is_open_over_tcp_without_the_token(
    server: ServerThread, metadata: Any, body: bytes
) -> None:
    names = [(method.name, method.client_streaming) for method in METHODS]
    with grpc.insecure_channel(str(server.address)) as channel:
        for name, streams in [*names, ("NoSuchMethod", False), ("NoSuchMethod", True)]:
            with pytest.raises(grpc.RpcError) as caught:
                raw_call(channel, name, streams, body, metadata)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED, name
    assert server.trainer.requests == []


def test_right_token_opens_tcp(server: ServerThread) -> None:
    with TrainerClient(address=str(server.address), token=TOKEN) as client:
        assert client.health().pid == os.getpid()


def test_client_with_a_wrong_token_is_told_so(server: ServerThread) -> None:
    with (
        TrainerClient(address=str(server.address), token="wrong") as client,
        pytest.raises(UnauthenticatedError, match="token"),
    ):
        client.health()


def test_unknown_method_on_the_unix_socket_is_unimplemented(server: ServerThread) -> None:
    with (
        grpc.insecure_channel(f"unix:{server.home.daemon_socket}") as channel,
        pytest.raises(grpc.RpcError) as caught,
    ):
        raw_call(channel, "NoSuchMethod", False)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_port_in_use_is_a_clear_error() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(RequestError, match="cannot listen"),
    ):
        listen_on_tcp(grpc.aio.server(), TcpAddress(*taken.getsockname()))


class Authority:
    """A certificate authority of a test, made with openssl."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("needs the openssl program")
        folder.mkdir()
        self._folder = folder
        self.certificate = folder / "ca.pem"
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority"),
        )

    def issue(self, name: str, trusts: Authority) -> TlsFiles:
        self._openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2"),
            *("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-CA", "ca.pem", "-CAkey", "ca.key"),
        )
        return TlsFiles(
            self._folder / f"{name}.pem", self._folder / f"{name}.key", trusts.certificate
        )

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True)


def test_mutual_tls_admits_only_clients_of_the_right_authority(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    server = ServerThread(Home(tmp_path / "home"), ours.issue("server", trusts=ours))
    try:
        address = str(server.address)
        with TrainerClient(address=address, token=TOKEN, tls=ours.issue("me", ours)) as client:
            assert client.health().pid == os.getpid()
        with (
            TrainerClient(address=address, token="wrong", tls=ours.issue("me", ours)) as client,
            pytest.raises(UnauthenticatedError),
        ):
            client.health()
        for tls in (theirs.issue("stranger", trusts=ours), None):
            with (
                TrainerClient(address=address, token=TOKEN, tls=tls) as client,
                pytest.raises(TrainerUnreachableError),
            ):
                client.health()
    finally:
        server.close()


# The client: identity


def test_stranger_on_the_socket_is_refused(server: ServerThread, client: TrainerClient) -> None:
    server.trainer.pid += 1
    with pytest.raises(TrainerUnreachableError, match="stranger"):
        client.list_runs()
    assert server.trainer.requests == []


def test_daemon_of_another_home_is_a_stranger(server: ServerThread, client: TrainerClient) -> None:
    server.trainer.home = Home(Path("/elsewhere"))
    with pytest.raises(TrainerUnreachableError, match="stranger"):
        client.list_runs()


def test_without_daemon_and_autostart_the_error_says_how_to_start_one(tmp_path: Path) -> None:
    with (
        TrainerClient(tmp_path, autostart=False) as client,
        pytest.raises(TrainerUnreachableError, match="No daemon") as caught,
    ):
        client.health()
    assert "mosaic daemon start" in caught.value.hint
    assert not list(tmp_path.iterdir())


# The client: what happens when the daemon goes away


def test_submit_repeated_after_a_loss_has_the_same_key(
    server: ServerThread, client: TrainerClient
) -> None:
    async def lose_the_first_answer(request: Any, context: Any) -> Any:
        if len(server.trainer.requests) == 1:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        return pb.SubmitRunResponse(run_id=RUN)

    server.trainer.script["SubmitRun"] = lose_the_first_answer
    assert client.start_run({"run_name": "x"}) == RUN
    first, second = server.trainer.requests
    assert first.client_key == second.client_key != ""
    client.start_run({"run_name": "x"})
    assert server.trainer.requests[-1].client_key != first.client_key


def test_control_is_never_sent_twice(server: ServerThread, client: TrainerClient) -> None:
    async def lose_the_answer(request: Any, context: Any) -> Any:
        await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")

    server.trainer.script["Control"] = lose_the_answer
    with pytest.raises(TrainerUnreachableError):
        client.control(RUN, {"command": "step"})
    assert len(server.trainer.requests) == 1


def test_calls_go_on_after_a_restart(server: ServerThread, client: TrainerClient) -> None:
    async def answer(request: Any, context: Any) -> Any:
        return record_to_proto(BARE)

    server.trainer.script["PauseRun"] = answer
    assert client.pause_run(RUN) == BARE
    server.crash()
    server.start()
    assert client.pause_run(RUN) == BARE


class Journal:
    """A run's events and log as a daemon would stream them, from cursor or offset."""

    def __init__(self, server: ServerThread, pieces: int) -> None:
        self._server = server
        self.pieces = [b"%d\n" % number for number in range(pieces)]
        # After how many pieces of one stream the daemon "dies".
        self.breaks_after = 3
        server.trainer.script["StreamEvents"] = self.events
        server.trainer.script["StreamLog"] = self.log

    async def events(self, request: Any, context: Any) -> AsyncIterator[Any]:
        for sent, number in enumerate(range(request.cursor, len(self.pieces))):
            await self._maybe_break(sent, context)
            yield pb.EventBatch(events=[self.pieces[number]], next_cursor=number + 1)

    async def log(self, request: Any, context: Any) -> AsyncIterator[Any]:
        after = dict(text.split(":") for text in request.after)
        start = max(0, len(self.pieces) - request.tail_lines) if request.tail_lines else 0
        sent = 0
        for stream in ("stdout", "stderr"):
            for number in range(int(after.get(stream, start)), len(self.pieces)):
                await self._maybe_break(sent, context)
                sent += 1
                cursor = f"{stream}:{number + 1}"
                yield pb.LogChunk(stream=stream, data=self.pieces[number], cursor=cursor)

    async def _maybe_break(self, sent: int, context: Any) -> None:
        if sent == self.breaks_after:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")


def test_events_go_on_after_each_loss_without_gap_or_repetition(
    server: ServerThread, client: TrainerClient
) -> None:
    journal = Journal(server, 10)
    lines = [line for batch in client.stream_events(RUN) for line in batch.lines]
    assert lines == journal.pieces


@pytest.mark.parametrize("tail", [0, 7])
def test_logs_go_on_after_each_loss_without_gap_or_repetition(
    server: ServerThread, client: TrainerClient, tail: int
) -> None:
    journal = Journal(server, 10)
    received: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    for chunk in client.stream_log(RUN, tail_lines=tail):
        received[chunk.stream].append(chunk.data)
    expected = journal.pieces[-tail:]
    assert received == {"stdout": expected, "stderr": expected}


async def test_async_events_go_on_after_each_loss(server: ServerThread) -> None:
    journal = Journal(server, 10)
    async with AsyncTrainerClient(server.home, autostart=False) as client:
        lines = [line async for batch in client.stream_events(RUN) for line in batch.lines]
    assert lines == journal.pieces


def watch_script(server: ServerThread, *lives: list[Any]) -> None:
    """Each connection gets one list of records; then the stream breaks."""
    remaining = list(lives)

    async def watch(request: Any, context: Any) -> AsyncIterator[Any]:
        for record in remaining.pop(0):
            yield record_to_proto(record)
        await context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")

    server.trainer.script["WatchRuns"] = watch


FIRST = replace(BARE, revision=1)
SECOND = replace(BARE, revision=2, state=RunState.EXEC)
OVER = replace(BARE, revision=3, state=RunState.TERM, outcome=Outcome.SUCCEEDED)


def test_watch_skips_what_it_has_delivered_before_the_loss(
    server: ServerThread, client: TrainerClient
) -> None:
    watch_script(server, [FIRST, SECOND], [SECOND], [SECOND, OVER])
    watching = client.watch([RUN])
    assert [next(watching) for _ in range(3)] == [FIRST, SECOND, OVER]


def test_wait_survives_the_daemon_and_returns_the_details(
    server: ServerThread, client: TrainerClient
) -> None:
    async def get(request: Any, context: Any) -> Any:
        return record_to_proto(replace(OVER, stderr_tail=("bye",)))

    server.trainer.script["GetRun"] = get
    watch_script(server, [FIRST], [FIRST], [OVER])
    assert client.wait(RUN, timeout=PATIENCE_S).stderr_tail == ("bye",)


async def test_async_wait_survives_the_daemon(server: ServerThread) -> None:
    async def get(request: Any, context: Any) -> Any:
        return record_to_proto(OVER)

    server.trainer.script["GetRun"] = get
    watch_script(server, [FIRST], [OVER])
    async with AsyncTrainerClient(server.home, autostart=False) as client:
        assert await client.wait(RUN, timeout=PATIENCE_S) == OVER


async def _never(request: Any, context: Any) -> AsyncIterator[Any]:
    yield record_to_proto(FIRST)
    await asyncio.Event().wait()


def test_wait_gives_up_in_time(server: ServerThread, client: TrainerClient) -> None:
    server.trainer.script["WatchRuns"] = _never
    with pytest.raises(TimeoutError, match="is not over"):
        client.wait(RUN, timeout=0.3)


async def test_async_wait_gives_up_in_time(server: ServerThread) -> None:
    server.trainer.script["WatchRuns"] = _never
    async with AsyncTrainerClient(server.home, autostart=False) as client:
        with pytest.raises(TimeoutError, match="is not over"):
            await client.wait(RUN, timeout=0.3)


def test_watch_of_an_unknown_run_fails_at_once(server: ServerThread, client: TrainerClient) -> None:
    async def refuse(request: Any, context: Any) -> AsyncIterator[Any]:
        raise UnknownRunError("no such run")
        yield

    server.trainer.script["WatchRuns"] = refuse
    with pytest.raises(UnknownRunError):
        client.wait(RUN, timeout=PATIENCE_S)


def test_real_crash_in_the_middle_of_a_stream_is_survived(
    server: ServerThread, client: TrainerClient
) -> None:
    server.trainer.script["WatchRuns"] = _never
    watching = client.watch([RUN])
    assert next(watching) == FIRST
    server.crash()
    server.start()
    watch_script(server, [FIRST, SECOND])
    assert next(watching) == SECOND


def test_follower_waits_for_a_stopped_daemon_but_does_not_start_it(
    server: ServerThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "GOODBYE_TIMEOUT_S", 0.2)
    server.trainer.script["WatchRuns"] = _never
    with TrainerClient(server.home, autostart=True) as client:
        watching = client.watch([RUN])
        next(watching)
        server.home.daemon_info.unlink()  # a daemon that is told to stop cleans up
        server.crash()
        with pytest.raises(TrainerUnreachableError, match="No daemon"):
            next(watching)


def test_closed_client_says_so(client: TrainerClient) -> None:
    client.close()
    with pytest.raises(TrainerUnreachableError, match="closed"):
        client.health()
