"""What the lines of a person mean while stepping through a policy."""

from __future__ import annotations

import pytest

from mosaic.cli.commands.policies import describe_answer, read_requests


@pytest.mark.parametrize(
    ("text", "requests"),
    [
        ("", [{"cmd": "step"}]),
        ("3 s", [{"cmd": "step"}] * 3),
        ("r", [{"cmd": "reset"}]),
        ("1", [{"cmd": "step", "action": 1}]),
        ("[0.5, -1]", [{"cmd": "step", "action": [0.5, -1]}]),
        ("dance", [{"cmd": "dance"}]),
    ],
)
def test_lines_become_requests(text: str, requests: list[dict[str, object]]) -> None:
    assert read_requests(text) == requests


def test_a_huge_number_of_steps_is_bounded() -> None:
    assert len(read_requests("99999999 s")) == 10_000


def test_answers_become_sentences() -> None:
    assert "return 7" in describe_answer({"type": "step", "episode_reward": 7})
    assert "after 9 steps" in describe_answer({"type": "episode_done", "episode_length": 9})
    assert describe_answer({"type": "error", "message": "no"}) == "error: no"
