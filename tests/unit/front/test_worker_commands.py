"""Words on a command line become a command for a worker, and its answer is found."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic.errors import ConfigError, RequestError
from mosaic.front.worker_commands import ask, ask_async, read_command


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["dance"], {"command": "dance"}),
        (["goal", "kind=exploit"], {"command": "goal", "kind": "exploit"}),
        (
            ["goal", "subgoal", "row 2, column 3"],
            {"command": "goal", "arguments": ["subgoal", "row 2, column 3"]},
        ),
        (["tell", "a = b"], {"command": "tell", "arguments": ["a = b"]}),
        (["tell", "to=coach", "x(1)"], {"command": "tell", "to": "coach", "arguments": ["x(1)"]}),
        (["say", "@@home"], {"command": "say", "arguments": ["@home"]}),
        (['{"command": "goal", "kind": 3}'], {"command": "goal", "kind": 3}),
    ],
)
def test_words_become_a_command(words: list[str], command: dict[str, Any]) -> None:
    assert read_command(words) == command


def test_a_file_is_read_where_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.asl"
    path.write_text("!live.\n")
    assert read_command(["plan", f"text=@{path}"])["text"] == "!live.\n"
    for bad in (tmp_path / "none", tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_command(["plan", f"@{bad}"])
    path.write_bytes(b"x" * 500_001)
    with pytest.raises(ConfigError, match="more than"):
        read_command(["plan", f"@{path}"])


@pytest.mark.parametrize("text", ["{", "{]", '{"a": ' + "[" * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_command([text])


class Worker:
    """Answers what it is told, among other heartbeats."""

    def __init__(self, *, reply: dict[str, Any] | None = None, answers: bool = True) -> None:
        self.reply = {"ok": True} if reply is None else reply
        self.answers = answers
        self.told: dict[str, Any] = {}

    def get_run(self, run_id: str) -> Any:
        return SimpleNamespace(paths={})

    def control(self, run_id: str, command: dict[str, Any]) -> dict[str, Any]:
        self.told = command
        return self.reply

    def stream_events(self, *_: Any, **__: Any) -> Any:
        beats: list[Any] = [{}, {"payload": 3}, {"payload": {"answer": "x"}}]
        beats.append({"payload": {"answer": {"request": "of another", "ok": True}}})
        if self.answers:
            answer = {"request": self.told["request"], "ok": True, "text": "done"}
            beats.append({"payload": {"answer": answer}})
        return [SimpleNamespace(next_cursor=9, events=lambda: beats)]


class WorkerForWindows:
    """The same, as a client tells of it that lives in asyncio."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def get_run(self, run_id: str) -> Any:
        return self._worker.get_run(run_id)

    async def control(self, run_id: str, command: dict[str, Any]) -> dict[str, Any]:
        return self._worker.control(run_id, command)

    async def stream_events(self, *_: Any, **__: Any) -> Any:
        for batch in self._worker.stream_events():
            yield batch


def asked_at_once(
    timeout_s: float = 5.0, **worker: Any
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    told = Worker(**worker)
    return ask(told, "run", {"command": "goal"}, timeout_s), told.told


def asked_in_asyncio(
    timeout_s: float = 5.0, **worker: Any
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    told = Worker(**worker)
    answer = asyncio.run(ask_async(WorkerForWindows(told), "run", {"command": "goal"}, timeout_s))
    return answer, told.told


both = pytest.mark.parametrize("asked", [asked_at_once, asked_in_asyncio])


@both
def test_the_answer_is_the_one_to_this_command(asked: Any) -> None:
    answer, told = asked()
    assert answer["text"] == "done"
    assert answer["request"] == told["request"]


@both
def test_a_worker_that_says_nothing_is_not_waited_for_long(asked: Any) -> None:
    assert asked(0.1, answers=False)[0] is None


@both
def test_a_command_that_cannot_be_sent_says_why(asked: Any) -> None:
    with pytest.raises(RequestError, match="takes no commands"):
        asked(reply={"ok": False, "error": "this worker takes no commands"})
