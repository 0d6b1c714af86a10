"""What keys and time do to a replay."""

from __future__ import annotations

from mosaic.cli.commands.replay_player import FASTEST, SLOWEST, Controls

CONTROLS = Controls(steps=200, fps=10.0)


def pressed(controls: Controls, *keys: str) -> Controls:
    for key in keys:
        controls = controls.pressed(key)
    return controls


def test_time_goes_by_only_while_it_plays() -> None:
    assert CONTROLS.advanced(0.25).step == 2
    assert pressed(CONTROLS, " ").advanced(5).step == 0
    assert CONTROLS.advanced(-3).step == 0
    assert CONTROLS.advanced(0.25).until_next_s == 0.05


def test_it_pauses_at_the_end_and_then_starts_again() -> None:
    ended = CONTROLS.advanced(1000)
    assert ended.step == 200 and not ended.is_playing and ended.is_at_end
    again = pressed(ended, " ")
    assert again.step == 0 and again.is_playing


def test_single_steps_pause() -> None:
    controls = pressed(CONTROLS.moved_to(50), "right", "right", "left")
    assert controls.step == 51 and not controls.is_playing
    assert pressed(controls, "page down", "page down", "page up").step == 61
    assert pressed(CONTROLS, "left").step == 0
    assert pressed(CONTROLS.moved_to(200), "right", "page down").step == 200


def test_jumps_go_on_playing() -> None:
    assert pressed(CONTROLS, "5").step == 100 and pressed(CONTROLS, "5").is_playing
    assert pressed(CONTROLS, "end").step == 200
    assert pressed(CONTROLS, "9", "home").step == 0


def test_the_speed_has_limits() -> None:
    assert pressed(CONTROLS, "+").advanced(1).step == 20
    assert pressed(CONTROLS, "-").advanced(1).step == 5
    assert pressed(CONTROLS, *"+" * 20).speed == FASTEST
    assert pressed(CONTROLS, *"-" * 20).speed == SLOWEST


def test_q_ends_and_other_keys_do_nothing() -> None:
    for key in ("q", "Q", "\x04"):
        assert pressed(CONTROLS, key).is_over
    assert pressed(CONTROLS, "x", "up", "\x00") == CONTROLS


def test_an_empty_episode_can_be_controlled() -> None:
    empty = Controls(steps=0, fps=30.0)
    assert empty.is_at_end and pressed(empty, "right", "5", "end", "page up").step == 0
    assert not empty.advanced(1).is_playing
