"""Settings of the live view from environment variables, and how often it renders."""

from __future__ import annotations

import pytest

from mosaic.fastlane.layout import MAX_SLOTS
from mosaic.fastlane.settings import Pacer, Settings, read_settings


def test_without_variables_there_is_no_view() -> None:
    settings = read_settings({})
    assert settings == Settings()
    assert not settings.is_on


def test_everything_can_be_said() -> None:
    settings = read_settings(
        {
            "MOSAIC_FASTLANE_SEGMENT": "/dev/shm/x",
            "CLEANRL_FASTLANE_VIDEO_MODE": "Single",
            "CLEANRL_FASTLANE_SLOT": "3",
            "CLEANRL_FASTLANE_GRID_LIMIT": "8",
            "CLEANRL_FASTLANE_INTERVAL_MS": "250",
            "CLEANRL_FASTLANE_MAX_DIM": "128",
        }
    )
    assert settings.is_on
    assert (settings.mode, settings.slot, settings.slots) == ("single", 3, 1)
    assert (settings.grid_limit, settings.interval_s, settings.max_dim) == (8, 0.25, 128)


def test_off_is_off() -> None:
    variables = {"MOSAIC_FASTLANE_SEGMENT": "x", "CLEANRL_FASTLANE_VIDEO_MODE": "off"}
    assert not read_settings(variables).is_on


@pytest.mark.parametrize("text", ["", "abc", "nan", "1e999", "-1e999", "0x10"])
def test_nonsense_never_raises(text: str) -> None:
    names = ("SLOT", "GRID_LIMIT", "INTERVAL_MS", "MAX_DIM", "VIDEO_MODE")
    settings = read_settings({f"CLEANRL_FASTLANE_{name}": text for name in names})
    assert settings.mode == "grid"
    assert 1 <= settings.grid_limit <= MAX_SLOTS
    assert 0 <= settings.interval_s <= 60
    assert 16 <= settings.max_dim <= 4096


def share_of_rendering(pacer: Pacer, costs: list[float], step: float = 0.001) -> tuple[float, int]:
    """Ten seconds of steps: which part of them was spent rendering, and how many frames came."""
    now = spent = 0.0
    frames = 0
    while now < 10.0:
        if pacer.is_due(now):
            cost = costs[min(frames, len(costs) - 1)]
            pacer.rendered(now, now + cost)
            now += cost
            spent += cost
            frames += 1
        now += step
    return spent / now, frames


@pytest.mark.parametrize("cost", [0.0005, 0.002, 0.01, 0.05])
def test_rendering_takes_no_more_than_its_budget(cost: float) -> None:
    share, frames = share_of_rendering(Pacer(1 / 30, 0.03), [cost])
    assert share <= 0.031
    assert frames >= 2


def test_cheap_frames_come_as_often_as_wanted() -> None:
    _, frames = share_of_rendering(Pacer(0.1, 0.03), [0.0001])
    assert 95 <= frames <= 100


def test_a_dear_first_frame_does_not_spoil_the_rest() -> None:
    _, frames = share_of_rendering(Pacer(1 / 30, 0.03), [0.1, *[0.0005] * 1000])
    assert frames > 100


def test_however_dear_a_frame_is_the_next_one_comes() -> None:
    pacer = Pacer(1 / 30, 0.03)
    pacer.rendered(0.0, 60.0)
    assert pacer.is_due(60.0)


@pytest.mark.parametrize(("interval", "budget"), [(-1.0, 0.03), (0.1, 0.0), (0.1, 1.5)])
def test_what_makes_no_sense_is_refused(interval: float, budget: float) -> None:
    with pytest.raises(ValueError, match="interval"):
        Pacer(interval, budget)
