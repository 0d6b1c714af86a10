"""AsyncTrainerClient: the same calls as TrainerClient, for programs that live in asyncio.

async with AsyncTrainerClient() as client:
    run_id = await client.start_run(config)
    record = await client.wait(run_id)
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Collection,
    Generator,
    Iterable,
    Mapping,
)
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

import grpc

from mosaic.client import calls
from mosaic.client.archive_file import ArchiveFile, chunks_of, opened_archive
from mosaic.client.calls import (
    Call,
    Names,
    Page,
    RunConfig,
    SeriesRange,
    following_call,
)
from mosaic.client.channel import Target, open_async_channel, trainer_stub
from mosaic.client.connection import PAUSE_S, RetryBudget, checked_timeout, choose_connector
from mosaic.client.exporting import (
    DEFAULT_OPTIONS,
    TENSORBOARD,
    ExportOptions,
    export_run,
    run_in_thread,
)
from mosaic.client.streams import (
    AllRunsStream,
    ArchiveStream,
    AsyncSubscription,
    BusStream,
    EventStream,
    InstallStream,
    LogSearchStream,
    LogStream,
    PackStream,
    ResumableStream,
    RunWatch,
    Send,
    unique_names,
)
from mosaic.contracts.bundles import Accelerator, InstallProgress, InstallRequest, VenvInfo
from mosaic.contracts.events import EpisodeSummary, MetricPoint, TrainingStep
from mosaic.contracts.keeping import Deletion, RetentionPolicy, RetentionResult, TrashedRun
from mosaic.contracts.metrics import LogMatch, MetricInfo, MetricSeries
from mosaic.contracts.replay import EpisodeRecording
from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_reference import choose_run, choose_runs
from mosaic.contracts.run_settings import Setting
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import TrainerUnreachableError
from mosaic.export.run_rows import Exported
from mosaic.paths import Home
from mosaic.wire.answers import EventBatch, Health, LogChunk, Submission
from mosaic.wire.errors import is_connection_lost, raise_from_rpc
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.server_address import TlsFiles

T = TypeVar("T")
R = TypeVar("R")


class _Connection:
    def __init__(self, target: Target) -> None:
        self.metadata = target.metadata
        self.channel = open_async_channel(target)
        self.stub = trainer_stub(self.channel)


class AsyncTrainerClient:
    """Belongs to one event loop. See `TrainerClient` for what each call means.

    With `wakes=False` a daemon that was stopped on purpose stays so until `wake` is called: for
    front ends that ask all the time, whether or not a person wants something.
    """

    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        autostart: bool = True,
        wakes: bool = True,
        address: str | None = None,
        token: str | None = None,
        tls: TlsFiles | None = None,
    ) -> None:
        self._wakes = wakes
        self._connector = choose_connector(home, autostart, address, token, tls)
        self._lock = asyncio.Lock()
        self._connection: _Connection | None = None
        self._is_closed = False

    async def __aenter__(self) -> AsyncTrainerClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._is_closed = True
        async with self._lock:
            if self._connection is not None:
                await self._connection.channel.close(None)
                self._connection = None

    # Runs

    async def submit(
        self,
        config: RunConfig,
        client_key: str | None = None,
        dry_run: bool = False,
        consent: str | None = None,
        install: bool = False,
        most_install_bytes: int | None = None,
    ) -> Submission:
        """Everything the daemon says about a submission; `start_run` when the id is enough.

        A config that somebody else wrote is sent with `consent=""`: where it would run what this
        installation does not know, ConsentError says what that is, and its `digest` in `details`
        is the `consent` for exactly that. What comes from an imported run is always asked about;
        a config you wrote needs no consent.

        With `install` a run that needs what is not installed is accepted, and waits until it is;
        fetching more than `most_install_bytes` is refused.
        """
        return await self._call(
            calls.submit(config, client_key, dry_run, consent, install, most_install_bytes)
        )

    async def start_run(
        self,
        config: RunConfig,
        client_key: str | None = None,
        dry_run: bool = False,
        consent: str | None = None,
        install: bool = False,
        most_install_bytes: int | None = None,
    ) -> str:
        """The id of the new run, or of the run this key has started before; "" for a dry run."""
        done = await self.submit(config, client_key, dry_run, consent, install, most_install_bytes)
        return done.run_id

    async def stop_run(
        self, run_id: str, reason: str = "user_cancel", grace_s: float | None = None
    ) -> RunRecord:
        return await self._call(calls.stop(run_id, reason, grace_s))

    async def pause_run(self, run_id: str) -> RunRecord:
        return await self._call(calls.pause(run_id))

    async def unpause_run(self, run_id: str) -> RunRecord:
        return await self._call(calls.unpause(run_id))

    async def get_run(self, run_id: str) -> RunRecord:
        return await self._call(calls.get(run_id))

    async def list_runs(
        self,
        states: Iterable[str] = (),
        outcomes: Iterable[str] = (),
        contains: str = "",
        limit: int = 0,
    ) -> list[RunRecord]:
        """Newest first, without details; limit 0 means all."""
        return await self._call(calls.list_runs(states, outcomes, contains, limit))

    async def find_run(self, reference: str) -> RunRecord:
        """By id, part of an id, name or `latest`, or of a group with one run; raises with the
        candidates where several could be meant."""
        return await self.get_run(choose_run(await self.list_runs(), reference))

    async def find_runs(self, reference: str) -> list[RunRecord]:
        """The same, where the name of a group means all its runs, oldest first."""
        run_ids = choose_runs(await self.list_runs(), reference)
        return [await self.get_run(run_id) for run_id in run_ids]

    async def control(self, run_id: str, command: dict[str, Any]) -> dict[str, Any]:
        """One line to the worker's standard input."""
        return await self._call(calls.control(run_id, command))

    async def wait(self, run_id: str, timeout: float | None = None) -> RunRecord:
        """The run's record once it is over; raises TimeoutError when that takes too long."""
        limit_s = checked_timeout(timeout)
        try:
            async with asyncio.timeout(limit_s), aclosing(self.watch((run_id,))) as records:
                async for record in records:
                    if record.is_over:
                        break
        except TimeoutError:
            raise TimeoutError(f"run {run_id} is not over after {timeout} s") from None
        return await self.get_run(run_id)

    # Streams: each continues, without gap or repetition, when the daemon dies and comes back.

    def watch(self, run_ids: Iterable[str] = ()) -> AsyncGenerator[RunRecord, None]:
        """These runs (or all) as they are, then each change; never ends by itself."""
        return self._stream(RunWatch(run_ids))

    def stream_log(
        self, run_id: str, stream: str = "", tail_lines: int = 0, follow: bool = False
    ) -> AsyncGenerator[LogChunk, None]:
        """Output of the worker; `stream` is "stdout", "stderr" or "" for both."""
        return self._stream(LogStream(run_id, stream, tail_lines, follow))

    def stream_events(
        self, run_id: str, cursor: int = 0, types: Iterable[str] = (), follow: bool = False
    ) -> AsyncGenerator[EventBatch, None]:
        return self._stream(EventStream(run_id, cursor, types, follow))

    # What runs have stored

    async def metrics(self, run_id: str) -> list[MetricInfo]:
        """Which metrics a run has reported, by name."""
        return await self._call(calls.metrics(run_id))

    async def series(
        self,
        run_ids: Names,
        names: Names,
        first_step: int | None = None,
        last_step: int | None = None,
        buckets: int = 0,
    ) -> list[MetricSeries]:
        """Curves, run by run and in each run name by name; empty where a run has none.

        With `buckets`, each in at most this many stretches of low, high and mean; without, all
        points.
        """
        wanted = SeriesRange(first_step, last_step, buckets)
        return await self._answer(calls.all_series(run_ids, names, wanted))

    def episodes(
        self, run_id: str, limit: int = 0, order: str = "oldest"
    ) -> AsyncGenerator[EpisodeSummary, None]:
        """Finished episodes: "oldest", "newest", "best" or "worst" first; limit 0 means all."""
        return self._rows(calls.episode_pages(run_id, limit, order))

    async def episode(self, run_id: str, index: int) -> EpisodeSummary:
        """The episode with this index, of the latest attempt that has finished it."""
        call = calls.episodes(run_id, "newest", 1, 0, index)
        return calls.only_episode(run_id, index, await self._call(call))

    def steps(
        self,
        run_id: str,
        episode_index: int | None = None,
        attempt: int | None = None,
    ) -> AsyncGenerator[TrainingStep, None]:
        """Recorded steps: of all episodes, or of one in the latest attempt that has it."""
        return self._rows(calls.step_pages(run_id, episode_index, attempt))

    async def get_recording(
        self,
        run_id: str,
        episode_index: int,
        attempt: int | None = None,
        consent: str = "",
    ) -> EpisodeRecording:
        """What `mosaic.replay.simulation` needs to replay an episode.

        Of the latest attempt that has it by default; its `problem` says why it cannot be played.
        Where its `consent` is something, playing it would run what an imported run says: ask again
        with the digest of that, once a person has seen its lines.
        """
        call = calls.get_recording(run_id, episode_index, attempt, consent)
        return await self._call(call)

    def search_logs(
        self,
        text: str,
        run_ids: Iterable[str] = (),
        *,
        is_regex: bool = False,
        ignore_case: bool = False,
        stream: str = "",
        limit: int = 0,
    ) -> AsyncGenerator[LogMatch, None]:
        """Lines with this text (or pattern) in the logs of these runs, or of all, newest first.

        `stream` is "stdout", "stderr" or "" for both; without a limit at most 1000 lines come.
        """
        return self._stream(LogSearchStream(text, run_ids, is_regex, ignore_case, stream, limit))

    # Files for other tools

    async def export_run(
        self,
        run_id: str,
        export_format: str,
        folder: Path | str | None = None,
        options: ExportOptions = DEFAULT_OPTIONS,
    ) -> Exported:
        """Write a new folder for other tools; its format is one of `exporting.FORMATS`.

        Without a folder it is `<run name>-<format>` in the working directory.
        """
        return await run_in_thread(
            self, lambda ask: export_run(ask, run_id, export_format, folder, options)
        )

    async def export_to_tensorboard(
        self,
        run_id: str,
        folder: Path | str | None = None,
        *,
        metrics: Collection[str] = (),
        force: bool = False,
    ) -> Path:
        """The run's metrics and episodes as an event file; returns the folder it lies in."""
        options = ExportOptions(metrics=metrics, force=force)
        done = await run_in_thread(
            self, lambda ask: export_run(ask, run_id, TENSORBOARD, folder, options)
        )
        return done.folder

    # What is kept: trash, pins, retention, archives

    async def delete_run(self, run_id: str, for_good: bool = False) -> Deletion:
        """Move a finished run to the trash, or delete it for good at once."""
        return await self._call(calls.delete(run_id, for_good))

    async def restore_run(self, run_id: str) -> RunRecord:
        """Bring a deleted run back, exactly as it was."""
        return await self._call(calls.restore(run_id))

    async def trash(self) -> list[TrashedRun]:
        """What can be restored, the last deleted first."""
        return await self._call(calls.trash())

    async def empty_trash(self, run_ids: Iterable[str] = ()) -> tuple[int, int]:
        """(bytes freed, runs): these runs for good, or all that are in the trash."""
        return await self._call(calls.empty_trash(run_ids))

    async def pin_run(self, run_id: str, pinned: bool = True) -> RunRecord:
        """A pinned run is never chosen by retention."""
        return await self._call(calls.pin(run_id, pinned))

    async def settings(self, run_ids: Iterable[str]) -> dict[str, dict[str, Setting]]:
        """What these runs were configured with, by short names such as learning_rate."""
        found: dict[str, dict[str, Setting]] = {}
        for call in calls.settings(run_ids):
            page = await self._call(call)
            found |= page
        return found

    async def rename_run(self, run_id: str, name: str) -> RunRecord:
        """Where the name is taken, a number makes it unique: the answer has what it became."""
        return await self.label_run(run_id, LabelChange(name=name))

    async def tag_run(
        self, run_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> RunRecord:
        change = LabelChange(add_tags=tuple(add), remove_tags=tuple(remove))
        return await self.label_run(run_id, change)

    async def note_run(self, run_id: str, note: str) -> RunRecord:
        """An empty note takes away the one there is."""
        return await self.label_run(run_id, LabelChange(note=note))

    async def label_run(self, run_id: str, change: LabelChange) -> RunRecord:
        """Name, tags and note, all at once."""
        return await self._call(calls.label(run_id, change))

    async def apply_retention(
        self, policy: RetentionPolicy, dry_run: bool = True
    ) -> RetentionResult:
        """What the policy would delete; with `dry_run=False` it goes to the trash."""
        return await self._call(calls.apply_retention(policy, dry_run))

    async def archive_run(self, run_id: str, path: Path | str) -> Path:
        """Everything of a run that is over, in one file that appears when it is complete."""
        with ArchiveFile(Path(path)) as file:
            async for data in self._stream(ArchiveStream(run_id)):
                file.write(data)
        return file.path

    async def import_run(self, path: Path | str, max_bytes: int = 0) -> RunRecord:
        """A run from an archive of another home, or of this one after it was deleted.

        `max_bytes` is what it may become on disk, if that is more than the daemon expects.
        """
        with opened_archive(Path(path)) as file:
            return await self._call(calls.import_run(chunks_of(file, max_bytes)))

    # Bundles: venvs with what workers and families of environments need

    async def bundles(
        self, names: Names = (), accelerator: Accelerator | None = None
    ) -> list[VenvInfo]:
        """What there is to be installed, or these alone, and what became of it here.

        For this accelerator, by default the one of the daemon's machine.
        """
        return await self._call(calls.bundles(names, accelerator))

    async def bundle_problems(self) -> list[str]:
        """What is wrong with packages that bring bundles."""
        return await self._call(calls.bundle_problems())

    def install_bundle(self, request: InstallRequest) -> AsyncGenerator[InstallProgress, None]:
        """How far it is, until it is DONE, FAILED or CANCELED; raises BundleError where it cannot
        even begin. It goes on when nobody follows it any more.
        """
        return self._stream(InstallStream(request))

    async def cancel_install(self, name: str) -> bool:
        """Whether it was being installed; runs that wait for it stay in the queue."""
        return await self._call(calls.cancel_install(name))

    async def remove_bundle(self, name: str) -> list[VenvInfo]:
        """What was removed; refused while a run uses it."""
        return await self._call(calls.remove_bundle(name))

    async def prune_bundles(self, dry_run: bool = False) -> list[VenvInfo]:
        """What was removed, or would be: venvs that no run uses and nothing starts in any more."""
        return await self._call(calls.prune_bundles(dry_run))

    async def verify_bundle(self, name: str) -> VenvInfo:
        """Reads every file of it; BROKEN, with the problem, where one is not as installed."""
        return await self._call(calls.verify_bundle(name))

    def pack_bundle(
        self, request: InstallRequest, folder: Path | str
    ) -> AsyncGenerator[InstallProgress, None]:
        """Write a folder from which it can be installed without a network; it lies on the daemon's
        machine."""
        return self._stream(PackStream(request, str(Path(folder).expanduser().absolute())))

    # Live events

    def subscribe(
        self,
        run_ids: Iterable[str] = (),
        *,
        types: Iterable[str] = (),
        cursors: Mapping[str, int] | None = None,
        window: int = 10_000,
        lossless: bool = False,
    ) -> AsyncSubscription:
        """See `TrainerClient.subscribe`."""
        names = unique_names(run_ids)
        kind = BusStream if names else AllRunsStream

        def open_requests(stream: BusStream) -> tuple[AsyncIterator[pb.SubscribeRequest], Send]:
            further: asyncio.Queue[pb.SubscribeRequest | None] = asyncio.Queue()

            async def requests() -> AsyncIterator[pb.SubscribeRequest]:
                if isinstance(stream, AllRunsStream) and stream.is_resuming:
                    stream.meet(await self._call(calls.list_runs((), (), "", 0)))
                yield stream.first_request()
                while (request := await further.get()) is not None:
                    yield request

            return requests(), further.put_nowait

        stream = kind(open_requests, names, unique_names(types), cursors, window, lossless)
        return AsyncSubscription(stream, self._stream(stream))

    # The rest

    async def recent_metrics(
        self, run_id: str, count: int = 100, names: Iterable[str] = ()
    ) -> list[MetricPoint]:
        return await self._call(calls.recent_metrics(run_id, count, names))

    async def workers(self, refresh: bool = False) -> list[WorkerInfo]:
        return await self._call(calls.workers(refresh))

    async def health(self) -> Health:
        return await self._call(calls.health())

    async def wake(self) -> Health:
        """Starts the daemon, where there is none and that is allowed."""
        return await self._call(calls.health(), may_wake=True)

    # Plumbing

    async def _call(self, call: Call[T], may_wake: bool = False) -> T:
        if not call.is_repeatable:
            # Find out now that the daemon is gone, while trying again is still harmless.
            await self.health()
        retry_budget = RetryBudget()
        while True:
            connection = await self._connected(retry_budget.has_lost, may_wake or self._wakes)
            method = getattr(connection.stub, call.method)
            try:
                answer = await method(
                    call.request, timeout=call.timeout_s, metadata=connection.metadata
                )
            except grpc.RpcError as error:
                if not call.is_repeatable or not is_connection_lost(error):
                    raise_from_rpc(error)
                retry_budget.spend(error)
                await self._drop(connection)
                await asyncio.sleep(PAUSE_S)
            else:
                return call.decode(answer)

    async def _answer(self, exchange: Generator[Call[T], T, R]) -> R:
        """The result of calls that each depend on the answers before them."""
        try:
            call = next(exchange)
            while True:
                call = exchange.send(await self._call(call))
        except StopIteration as end:
            result: R = end.value
            return result

    async def _rows(
        self, pages: Generator[Call[Page[T]], Page[T], None]
    ) -> AsyncGenerator[T, None]:
        """The next page is requested once all rows of the last one have been consumed."""
        call: Call[Page[T]] | None = next(pages)
        while call is not None:
            page = await self._call(call)
            for row in page.rows:
                yield row
            call = following_call(pages, page)

    async def _stream(self, stream: ResumableStream[T]) -> AsyncGenerator[T, None]:
        retry_budget = RetryBudget()
        while True:
            # Whoever only follows does not bring back a daemon that was stopped on purpose.
            may_wake = self._wakes and not retry_budget.has_lost
            connection = await self._connected(retry_budget.has_lost, may_wake)
            messages = getattr(connection.stub, stream.method)(
                stream.request(), metadata=connection.metadata
            )
            try:
                async for message in messages:
                    retry_budget.restore()
                    for item in stream.accept(message):
                        yield item
                if not stream.is_endless:
                    return
                retry_budget.spend()
            except grpc.RpcError as error:
                retry_budget.spend(error)
            finally:
                messages.cancel()
            await self._drop(connection)
            await asyncio.sleep(PAUSE_S)

    async def _connected(self, is_resuming: bool, may_wake: bool) -> _Connection:
        async with self._lock:
            if self._is_closed:
                raise TrainerUnreachableError("This client has been closed")
            if self._connection is None:
                # Finding or starting a daemon waits on processes: not on the event loop.
                connect = self._connector.reconnect if is_resuming else self._connector.connect
                target = await asyncio.to_thread(connect, may_wake)
                self._connection = _Connection(target)
            return self._connection

    async def _drop(self, connection: _Connection) -> None:
        async with self._lock:
            # Another task may have reconnected already. Not closed here either: others may be
            # about to use the channel, and must find a broken one, not a closed one.
            if self._connection is connection:
                self._connection = None
