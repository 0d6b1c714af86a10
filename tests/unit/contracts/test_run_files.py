"""The records of an attempt: what MOSAIC wrote is read back, and nothing else is believed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.run_files import ClaimRecord, ExitRecord, LiveRecord
from mosaic.errors import CorruptStoreError
from mosaic.processes import ProcessIdentity

HOST = ProcessIdentity(4711, 123456, "boot")
LIVE = LiveRecord(HOST, HOST._replace(pid=4712), "/run/c.sock", 1.5, "cgroup")
EXIT = ExitRecord(
    *("R", 2, None, 9, 1.0, 2.5, "memory_limit", True, 3, 512.5, 1.25, "text"),
    stderr_tail=("a", "ü"),
    proof="word",
)
CLAIM = {**HOST.to_dict(), "groups": ["/sys/fs/cgroup/x"]}
RECORDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "claim": (ClaimRecord, CLAIM),
    "live.json": (LiveRecord, LIVE.to_dict()),
    "exit.json": (ExitRecord, EXIT.to_dict()),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)


def test_what_was_written_is_read_back() -> None:
    assert LiveRecord.from_dict(json.loads(json.dumps(LIVE.to_dict()))) == LIVE
    assert ExitRecord.from_dict(json.loads(json.dumps(EXIT.to_dict()))) == EXIT
    assert ClaimRecord.from_dict(CLAIM) == ClaimRecord(HOST, ("/sys/fs/cgroup/x",))
    assert ClaimRecord.from_dict({"refused_by": {}}) == ClaimRecord(None, is_refused=True)


def test_fields_of_a_newer_run_host_are_left_out() -> None:
    assert ExitRecord.from_dict({**EXIT.to_dict(), "colour": "red"}) == EXIT


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("pid", value) for value in ("4711", -1, 0, 10**30, 2**22 + 1, 1.5, True, None, [1])],
        *[("start_ticks", value) for value in ("1", -1, 10**30, None, float("nan"))],
        *[("boot_id", value) for value in (1, None, "\ud800", "x" * 200_000)],
        ("boot_id", []),
        *[("groups", value) for value in ("text", [1], {"a": 1}, [None])],
    ],
)
def test_a_claim_with_a_wrong_field_is_refused_and_names_it(field: str, value: Any) -> None:
    with pytest.raises(CorruptStoreError, match=rf"^claim: {field}"):
        ClaimRecord.from_dict({**CLAIM, field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("attempt", value) for value in ("1", -1, 10**30, None, True)],
        *[("exit_code", value) for value in (-1, 256, 10**30, "0", 0.0, False)],
        *[("signal", value) for value in (-9, 65, "9")],
        *[("finished_at", value) for value in (float("nan"), float("inf"), 1e300, -1, "now")],
        *[("max_rss_mb", value) for value in (float("nan"), 1e300, 10**400, "1", None)],
        *[("was_killed", value) for value in (1, "true", None)],
        *[("stderr_tail", value) for value in ("text", [1], ["\udfff"])],
        *[("run_id", value) for value in (1, None)],
        *[("proof", value) for value in (1, None, ["word"])],
    ],
)
def test_an_exit_with_a_wrong_field_is_refused_and_names_it(field: str, value: Any) -> None:
    with pytest.raises(CorruptStoreError, match=rf"^exit\.json: {field}"):
        ExitRecord.from_dict({**EXIT.to_dict(), field: value})


@pytest.mark.parametrize("part", ["host", "worker"])
@pytest.mark.parametrize("value", [None, 4711, [], {}, {**HOST.to_dict(), "pid": "4711"}])
def test_a_live_record_without_sound_processes_is_refused(part: str, value: Any) -> None:
    with pytest.raises(CorruptStoreError, match=rf"^live\.json: {part}"):
        LiveRecord.from_dict({**LIVE.to_dict(), part: value})


@given(st.sampled_from(sorted(RECORDS)), JSON)
def test_any_document_is_a_record_or_refused_with_one_error(name: str, document: Any) -> None:
    kind, _ = RECORDS[name]
    try:
        assert isinstance(kind.from_dict(document), kind)
    except CorruptStoreError as error:
        assert str(error).startswith(name)


@given(st.sampled_from(sorted(RECORDS)), st.data())
def test_a_sound_record_with_any_one_field_replaced_is_a_record_or_refused(
    name: str, data: st.DataObject
) -> None:
    kind, document = RECORDS[name]
    field = data.draw(st.sampled_from(sorted(document)))
    try:
        assert isinstance(kind.from_dict({**document, field: data.draw(JSON)}), kind)
    except CorruptStoreError as error:
        assert field in str(error)
