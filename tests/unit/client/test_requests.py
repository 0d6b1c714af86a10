"""Whatever a caller passes: a request, or a ConfigError with the field's name. Never a wait."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from mosaic.client import calls
from mosaic.client.calls import SeriesRange, new_request
from mosaic.client.connection import LONGEST_WAIT_S, checked_timeout
from mosaic.client.streams import (
    AllRunsStream,
    ArchiveStream,
    BusStream,
    EventStream,
    LogStream,
    RunWatch,
)
from mosaic.contracts.keeping import RetentionPolicy
from mosaic.errors import ConfigError
from mosaic.wire.generated import trainer_pb2 as pb
from tests.hostile_values import VALUES

BROKEN = "a\ud800b"


def bus(kind: type[BusStream], **changes: Any) -> BusStream:
    given: dict[str, Any] = {
        "run_ids": ("x",),
        "types": (),
        "cursors": None,
        "window": 10,
        "lossless": False,
        **changes,
    }
    return kind(lambda _: pytest.fail("nothing is opened yet"), *given.values())


TEXTS: dict[str, Callable[[Any], Any]] = {
    "submit.client_key": lambda text: calls.submit({}, text, False),
    "submit.config_json": lambda text: calls.submit(text, None, False),
    "stop.run_id": lambda text: calls.stop(text, "", None),
    "stop.reason": lambda text: calls.stop("x", text, None),
    "pause.run_id": calls.pause,
    "unpause.run_id": calls.unpause,
    "get.run_id": calls.get,
    "list.states": lambda text: calls.list_runs([text], (), "", 0),
    "list.outcomes": lambda text: calls.list_runs((), [text], "", 0),
    "list.contains": lambda text: calls.list_runs((), (), text, 0),
    "recent.run_id": lambda text: calls.recent_metrics(text, 1, ()),
    "recent.names": lambda text: calls.recent_metrics("x", 1, [text]),
    "control.run_id": lambda text: calls.control(text, {}),
    "metrics.run_id": calls.metrics,
    "series.run_ids": lambda text: calls.series([text], ["x"], SeriesRange()),
    "series.names": lambda text: calls.series(["x"], [text], SeriesRange()),
    "episodes.run_id": lambda text: calls.episodes(text, "oldest", 0, 0),
    "episodes.order": lambda text: calls.episodes("x", text, 0, 0),
    "steps.run_id": lambda text: calls.steps(text, None, None, 0),
    "recording.run_id": lambda text: calls.get_recording(text, 0, None),
    "delete.run_id": lambda text: calls.delete(text, False),
    "restore.run_id": calls.restore,
    "empty.run_ids": lambda text: calls.empty_trash(iter([text])),
    "pin.run_id": lambda text: calls.pin(text, True),
    "archive.run_id": ArchiveStream,
    "watch.run_ids": lambda text: RunWatch([text]),
    "log.run_id": lambda text: LogStream(text, "", 0, False),
    "log.stream": lambda text: LogStream("x", text, 0, False),
    "events.run_id": lambda text: EventStream(text, 0, (), False),
    "events.types": lambda text: EventStream("x", 0, [text], False),
    "bus.run_ids": lambda text: bus(BusStream, run_ids=(text,)),
    "bus.types": lambda text: bus(AllRunsStream, types=(text,)),
    "bus.cursors": lambda text: bus(BusStream, cursors={text: 0}),
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "stop.grace_s": lambda number: calls.stop("x", "", number),
    "list.limit": lambda number: calls.list_runs((), (), "", number),
    "recent.count": lambda number: calls.recent_metrics("x", number, ()),
    "series.first_step": lambda number: calls.series(["x"], ["x"], SeriesRange(number)),
    "series.last_step": lambda number: calls.series(["x"], ["x"], SeriesRange(0, number)),
    "series.buckets": lambda number: calls.series(["x"], ["x"], SeriesRange(0, 0, number)),
    "series.after_cursor": lambda n: calls.series(["x"], ["x"], SeriesRange(), n),
    "episodes.limit": lambda number: calls.episodes("x", "oldest", number, 0),
    "episodes.after_cursor": lambda number: calls.episodes("x", "oldest", 0, number),
    "episodes.episode_index": lambda n: calls.episodes("x", "oldest", 0, 0, n),
    "steps.episode_index": lambda number: calls.steps("x", number, None, 0),
    "steps.attempt": lambda number: calls.steps("x", None, number, 0),
    "recording.episode_index": lambda number: calls.get_recording("x", number, None),
    "recording.attempt": lambda number: calls.get_recording("x", 0, number),
    "log.tail_lines": lambda number: LogStream("x", "", number, False),
    "events.cursor": lambda number: EventStream("x", number, (), False),
    "bus.window": lambda number: bus(BusStream, window=number),
    "bus.cursors.x": lambda number: bus(BusStream, cursors={"x": number}),
    "retention.max_age_days": lambda n: calls.apply_retention(RetentionPolicy(n), True),
    "retention.max_total_bytes": lambda number: calls.apply_retention(
        RetentionPolicy(max_total_bytes=number), True
    ),
    "retention.keep_last": lambda number: calls.apply_retention(
        RetentionPolicy(keep_last=number), True
    ),
}


@pytest.mark.parametrize("place", TEXTS)
def test_text_that_cannot_be_sent_is_refused_by_name(place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TEXTS[place](BROKEN)
    assert caught.value.details["field"] == place.partition(".")[2]
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("place", TEXTS | NUMBERS)
def test_no_value_at_all_leads_to_another_error(place: str) -> None:
    for name, value in VALUES.items():
        try:
            (TEXTS | NUMBERS)[place](value)
        except ConfigError as error:
            assert error.details.get("field") or "TrainRunConfig" in error.message, name
            assert len(error.message) < 300, name
        except TypeError:
            assert not isinstance(value, str | int | float), name


@pytest.mark.parametrize("place", NUMBERS)
def test_numbers_beyond_a_field_are_refused_by_name(place: str) -> None:
    for number in (10**400, 10**6000, "7"):
        with pytest.raises(ConfigError) as caught:
            NUMBERS[place](number)
        assert caught.value.details["field"] == place.partition(".")[2]


def test_the_range_of_a_number_is_said() -> None:
    with pytest.raises(ConfigError, match=r"limit is -1; .* from 0 to 4,294,967,295"):
        new_request(pb.ListRunsRequest, limit=-1)


def test_what_can_be_gone_through_once_is_sent_whole() -> None:
    assert [*new_request(pb.WatchRunsRequest, run_ids=iter(["a", "b"])).run_ids] == ["a", "b"]


def test_times_beyond_what_grpc_can_count_mean_no_limit() -> None:
    assert checked_timeout(None) is None
    assert checked_timeout(math.inf) is None
    assert checked_timeout(1e308) is None
    assert checked_timeout(LONGEST_WAIT_S) == LONGEST_WAIT_S
    assert checked_timeout(-1) == -1
    with pytest.raises(ConfigError, match="timeout is nan"):
        checked_timeout(math.nan)
