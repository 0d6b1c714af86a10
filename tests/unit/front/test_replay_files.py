"""Which steps of an episode a video shows."""

from __future__ import annotations

from mosaic.front.replay_files import shown_steps


def test_a_video_shows_every_step_unless_there_are_too_many_in_a_second() -> None:
    assert shown_steps(3, 30, 60) == ([0, 1, 2, 3], 30)
    assert shown_steps(10, 240, 60) == ([0, 4, 8, 10], 60)
    assert shown_steps(8, 240, 60) == ([0, 4, 8], 60)
    assert shown_steps(0, 30, 60) == ([0], 30)
    assert shown_steps(2, 0.5, 60) == ([0, 1, 2], 0.5)
