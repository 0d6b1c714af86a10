"""Settings of the live view from environment variables."""

from __future__ import annotations

import pytest

from mosaic.fastlane.layout import MAX_SLOTS
from mosaic.fastlane.settings import Settings, read_settings


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
