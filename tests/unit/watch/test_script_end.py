"""How a script is brought to its end, and what its end means."""

from __future__ import annotations

import signal

import pytest

from mosaic.errors import ConfigError
from mosaic.watch.config import ScriptConfig
from mosaic.watch.script_process import StopLadder, failure_of, how_it_ended, last_words
from mosaic.worker import build_config

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


def test_signals_get_harder_within_the_grace() -> None:
    ladder = StopLadder(100.0)
    assert ladder.due(100.0, 10.0) == [INT]
    assert ladder.due(104.9, 10.0) == []
    assert ladder.due(105.0, 10.0) == [TERM]
    assert ladder.due(109.9, 10.0) == [KILL]
    assert ladder.due(200.0, 10.0) == []


def test_a_long_grace_is_left_to_the_script() -> None:
    ladder = StopLadder(0.0)
    assert ladder.due(0.0, None) == [INT]  # the request's line, with its grace, comes later
    assert ladder.due(29.0, 60.0) == []
    assert ladder.due(31.0, 60.0) == [TERM]


def test_no_grace_at_all_is_one_step() -> None:
    assert StopLadder(0.0).due(0.0, 0.0) == [INT, TERM, KILL]


TRACEBACK = (
    "a warning",
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    "    fail()",
    "ValueError: it is bad",
)


def test_of_a_traceback_only_the_error_is_told() -> None:
    assert last_words(TRACEBACK) == "ValueError: it is bad"
    assert last_words(("one", "", "two", "three", "four")) == "two | three | four"
    assert last_words(()) == ""


def test_a_failure_carries_code_words_and_output() -> None:
    failure = failure_of(3, ("python", "my train.py"), TRACEBACK)
    assert failure is not None
    assert failure.message == "python 'my train.py' ended with exit code 3: ValueError: it is bad"
    assert failure.exit_code == 3
    assert failure.output.splitlines() == list(TRACEBACK)
    assert failure_of(0, ("true",), TRACEBACK) is None


@pytest.mark.parametrize(
    ("status", "words", "code"),
    [(-11, "was killed by SIGSEGV", 139), (-9, "was killed by SIGKILL", 137), (1, "code 1", 1)],
)
def test_a_signal_has_its_name_and_the_code_of_shells(status: int, words: str, code: int) -> None:
    failure = failure_of(status, ("x",), ())
    assert failure is not None
    assert words in how_it_ended(status)
    assert failure.message.endswith(words)
    assert failure.exit_code == code


def test_a_long_command_is_cut() -> None:
    failure = failure_of(1, ("x" * 10_000,), ())
    assert failure is not None
    assert len(failure.message) < 300


@pytest.mark.parametrize("command", [[], [""], ["  "], ["a\0b"]])
def test_a_command_that_says_nothing_is_refused_by_its_field(command: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        build_config(ScriptConfig, {"command": command})
    assert caught.value.details["field"] == "command"
