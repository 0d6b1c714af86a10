"""Hostile strings in every field of every call: nothing outside the home is touched (fault 19)."""

from __future__ import annotations

import copy
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor

from mosaic.contracts.run_config import load_schema
from mosaic.wire.generated import trainer_pb2 as pb
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon, python_run
from tests.chaos.descendants import no_process_left
from tests.chaos.figures import record
from tests.chaos.traced_daemon import Change, TracedDaemon
from tests.daemon_harness import run_document
from tests.hostile_strings import TRAVERSALS

pytestmark = [pytest.mark.chaos, pytest.mark.blocks_merge]

SERVICE = pb.DESCRIPTOR.services_by_name["Trainer"]
REFUSALS = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNAUTHENTICATED,
}
# Fields that say where something is: none of the hostile strings may be taken.
PATH_FIELDS = (
    ("artifacts", "output_prefix"),
    ("metadata", "artifacts", "tensorboard", "relative_path"),
    ("metadata", "worker", "module"),
    ("metadata", "worker", "script"),
    ("metadata", "worker", "worker_id"),
    ("metadata", "worker", "agent_id"),
)
FieldPath = tuple[str | None, ...]
LIST = "[]"


def call(channel: grpc.Channel, method: MethodDescriptor, request: Any) -> grpc.StatusCode:
    """How a call ends; of an answer that never ends, only the first message is awaited."""
    send = channel.stream_stream(
        f"/{SERVICE.full_name}/{method.name}", lambda message: message.SerializeToString(), None
    )
    answers = send(iter([request]), timeout=30)
    try:
        for _ in answers:
            answers.cancel()
            return grpc.StatusCode.OK
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def request_of(method: MethodDescriptor, **fields: Any) -> Any:
    return getattr(pb, method.input_type.name)(**fields)


def text_fields(method: MethodDescriptor) -> list[FieldDescriptor]:
    return [
        field for field in method.input_type.fields if field.type == FieldDescriptor.TYPE_STRING
    ]


def names_a_run(field: FieldDescriptor) -> bool:
    return field.name in ("run_id", "run_ids")


def value_of(field: FieldDescriptor, text: str) -> str | list[str]:
    return [text] if field.is_repeated else text


def string_fields(schema: dict[str, Any], path: FieldPath = ()) -> Iterator[FieldPath]:
    """Where the schema of a run's config has a string, lists and free objects included."""
    if schema.get("type") == "string":
        yield path
    for name, inner in schema.get("properties", {}).items():
        yield from string_fields(inner, (*path, name))
    if isinstance(inner := schema.get("items"), dict):
        yield from string_fields(inner, (*path, LIST))
    if isinstance(inner := schema.get("additionalProperties"), dict):
        yield from string_fields(inner, (*path, "SOME_NAME"))


# Beyond what the schema says: free objects, and a name (None) where a value was.
FREE_FIELDS: tuple[FieldPath, ...] = (
    ("environment", None),
    ("metadata", "worker", "config", "env_id"),
    ("metadata", "ui", "note"),
    ("metadata", "artifacts", "tensorboard", "relative_path"),
)


def document_with(path: FieldPath, text: str) -> dict[str, Any]:
    document = copy.deepcopy(run_document())
    if path[-1] in ("module", "script"):
        document["entry_point"] = "python"
    *folders, name = path
    value: str | list[str] = text
    if name == LIST:
        *folders, name = folders
        value = [text]
    place = document
    for folder in folders:
        assert folder is not None  # only the last part may stand for any name
        place = place.setdefault(folder, {})
    place[text if name is None else name] = value
    return document


@contextmanager
def traced_daemon() -> Iterator[tuple[TracedDaemon, Path]]:
    """With a folder beside the home, and two inside it, that nobody has any business in."""
    with tempfile.TemporaryDirectory(prefix="mosaic-traced-") as folder, no_process_left():
        # One CPU, taken by a sleeper: whatever is accepted is stored, but does not run.
        daemon = TracedDaemon(Path(folder) / "home", Path(folder) / "trace", MOSAIC_CPUS="1")
        victim = Path(folder) / "victim"
        for place in (victim, daemon.home.root / "victim", daemon.home.trainer / "victim"):
            place.mkdir(parents=True)
            (place / "keep").write_text("precious")
        try:
            daemon.start()
            yield daemon, victim
        finally:
            daemon.close()
        daemon.assert_nothing_left()


def test_hostile_strings_change_nothing_outside_the_home() -> None:
    with traced_daemon() as (daemon, victim):
        over = [daemon.submit(**python_run("pass")) for _ in range(len(TRAPS) + 1)]
        for run_id in over:
            daemon.wait_over(run_id)
        live = daemon.submit(**python_run(SLEEPER))
        daemon.wait_for(live, "RDY")
        token = daemon.attempt(live).token.read_text()
        with grpc.insecure_channel(f"unix:{daemon.home.daemon_socket}") as channel:
            run_ids = refuse_as_run_ids(channel)
            texts = try_as_texts(channel, run_id=over[-1])
            sound = {"run_id": live, "attempt": 1, "attempt_token": token}
            texts += try_as_texts(channel, but_not="CancelRun", **sound)
            submissions, accepted = try_in_configs(channel)
        deleted = delete_through_traps(daemon, over[: len(TRAPS)], victim)
        daemon.end_all_runs()
        daemon.stop()
        changes = list(daemon.changes())
        outside = [change for change in changes if not is_allowed(change, daemon)]
        assert not outside, outside[:20]
        for folder in (victim, daemon.home.root / "victim", daemon.home.trainer / "victim"):
            assert [(path.name, path.read_text()) for path in folder.iterdir()] == [
                ("keep", "precious")
            ]
        assert "victim" not in daemon.text
        record(
            "19",
            f"{len(TRAVERSALS)} strings: {run_ids} as run ids all refused, {texts} in other "
            f"fields of {len(SERVICE.methods)} calls, {submissions} in configs ({accepted} "
            f"harmless), {deleted} deletions with symlinks: 0 of {len(changes):,} traced changes "
            "outside the home",
        )


def refuse_as_run_ids(channel: grpc.Channel) -> int:
    tried = 0
    for method in SERVICE.methods:
        for field in filter(names_a_run, method.input_type.fields):
            for text in TRAVERSALS:
                if field.is_repeated and not text:
                    continue  # no id at all means all runs
                code = call(
                    channel, method, request_of(method, **{field.name: value_of(field, text)})
                )
                assert code in (
                    grpc.StatusCode.INVALID_ARGUMENT,
                    grpc.StatusCode.NOT_FOUND,
                ), f"{method.name}.{field.name} = {text!r}: {code}"
                tried += 1
    return tried


def try_as_texts(channel: grpc.Channel, but_not: str = "", **sound: Any) -> int:
    """In every other text field, where the rest of the request is sound: nothing may crash."""
    tried = 0
    for method in SERVICE.methods:
        known = {name: sound[name] for name in sound if name in method.input_type.fields_by_name}
        for field in text_fields(method):
            if names_a_run(field) or method.name == but_not:
                continue
            for text in TRAVERSALS:
                fields = {**known, field.name: value_of(field, text)}
                code = call(channel, method, request_of(method, **fields))
                where = f"{method.name}.{field.name} = {text!r}: {code}"
                assert code is grpc.StatusCode.OK or code in REFUSALS, where
                tried += 1
    return tried


def try_in_configs(channel: grpc.Channel) -> tuple[int, int]:
    """(how many submissions, how many of them were accepted and queued)."""
    method = SERVICE.methods_by_name["SubmitRun"]
    codes: Counter[grpc.StatusCode] = Counter()
    for path in {*string_fields(load_schema("train_run_config")), *FREE_FIELDS}:
        for text in TRAVERSALS:
            config = json.dumps(document_with(path, text))
            code = call(channel, method, request_of(method, config_json=config))
            codes[code] += 1
            assert code is grpc.StatusCode.OK or code in REFUSALS, f"{path} = {text!r}: {code}"
            assert not (path in PATH_FIELDS and code is grpc.StatusCode.OK), f"{path} = {text!r}"
    for text in TRAVERSALS:
        config = json.dumps(run_document())
        code = call(channel, method, request_of(method, config_json=config, client_key=text))
        codes[code] += 1
        assert code is grpc.StatusCode.OK or code in REFUSALS, f"client_key = {text!r}: {code}"
    return codes.total(), codes[grpc.StatusCode.OK]


def link_inside(directory: Path, victim: Path) -> None:
    (directory / "outputs" / "folder").symlink_to(victim)
    (directory / "outputs" / "file").symlink_to(victim / "keep")


def link_logs(directory: Path, victim: Path) -> None:
    (directory / "logs").rename(directory / "moved")
    (directory / "logs").symlink_to(victim)


def link_directory(directory: Path, victim: Path) -> None:
    directory.rename(directory.parent.parent / "moved")
    directory.symlink_to(victim)


def link_trash(directory: Path, victim: Path) -> None:
    (directory.parent.parent / "trash" / directory.name).symlink_to(victim)


def link_configs(directory: Path, victim: Path) -> None:
    configs = directory.parent.parent / "configs"
    (configs / f"worker-{directory.name}-99.json").symlink_to(victim / "keep")
    (configs / f"config-{directory.name}.json").unlink()
    (configs / f"config-{directory.name}.json").symlink_to(victim / "keep")


TRAPS: tuple[Callable[[Path, Path], None], ...] = (
    link_inside,
    link_logs,
    link_directory,
    link_trash,
    link_configs,
)


def delete_through_traps(daemon: ChaosDaemon, run_ids: list[str], victim: Path) -> int:
    for trap, run_id in zip(TRAPS, run_ids, strict=True):
        directory = daemon.home.run(run_id).directory
        trap(directory, victim)
        daemon.client.delete_run(run_id, for_good=True)
        assert not os.path.lexists(directory), trap
        assert not os.path.lexists(daemon.home.trash / run_id), trap
        assert not list(daemon.home.configs.glob(f"*{run_id}*")), trap
    return len(run_ids)


def is_allowed(change: Change, daemon: ChaosDaemon) -> bool:
    path = Path(os.path.normpath(change.path))
    if path.is_relative_to(daemon.home.root) or path.is_relative_to(daemon.home.runtime):
        return "victim" not in path.parts
    if path.is_relative_to("/dev/shm") or path.is_relative_to("/sys/fs/cgroup"):
        return "mosaic" in str(path)
    # Before Python names the folder for temporary files it tries to make one there.
    if path.parent == Path(tempfile.gettempdir()) and re.fullmatch(r"[a-z0-9_]{8}", path.name):
        return True
    # It keeps what it compiled beside the sources it belongs to.
    is_bytecode = path.parent.name == "__pycache__" or path.name == "__pycache__"
    return is_bytecode or path.is_relative_to("/proc") or path == Path("/dev/null")
