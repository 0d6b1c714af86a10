"""Which tabs a run has, which of them have room, and how their tables change."""

from __future__ import annotations

import pytest

from mosaic.gui.tabs import model as presence
from mosaic.gui.tabs.model import Growth, Row, growth, shown_tabs
from tests.unit.gui.run_samples import record

MENU = 30


def test_all_tabs_are_shown_where_there_is_room() -> None:
    assert shown_tabs([60, 60, 60], 0, 180, MENU) == (True, True, True)


def test_what_has_no_room_is_in_the_menu_and_the_bar_has_no_gap() -> None:
    assert shown_tabs([60, 90, 60, 20], 0, 200, MENU) == (True, True, False, False)


@pytest.mark.parametrize("current", range(5))
def test_the_current_tab_is_always_shown_and_nothing_is_cut(current: int) -> None:
    widths = [60, 80, 95, 50, 110]
    shown = shown_tabs(widths, current, 210, MENU)
    assert shown[current]
    assert sum(width for width, is_in in zip(widths, shown, strict=True) if is_in) + MENU <= 210


def test_tabs_follow_what_the_manifest_has() -> None:
    bare = record(manifest={}, config={})
    for is_there in (
        presence.has_videos,
        presence.has_tensorboard,
        presence.has_wandb,
        presence.has_trials,
    ):
        assert not is_there(bare)
    full = record(
        manifest={
            "videos": ["videos/episode-0.mp4"],
            "tensorboard": {"enabled": True},
            "wandb": {"enabled": True},
            "optuna_db_path": "study.db",
        }
    )
    assert presence.has_videos(full) and presence.has_tensorboard(full)
    assert presence.has_wandb(full) and presence.has_trials(full)


def test_a_run_that_will_record_videos_has_the_tab_before_the_first_one() -> None:
    settings = {"extras": {"algo_params": {"capture_video": True}}}
    waiting = record(config={"metadata": {"worker": {"config": settings}}}, manifest={})
    assert presence.has_videos(waiting)


def test_a_damaged_manifest_has_no_tabs_instead_of_an_exception() -> None:
    odd = record(manifest={"tensorboard": "yes", "wandb": None}, config={"metadata": 3})
    assert not presence.has_tensorboard(odd)
    assert not presence.has_wandb(odd)
    assert not presence.has_videos(odd)


def rows(*keys: int) -> list[Row]:
    return [Row(key, (str(key),)) for key in keys]


def test_rows_that_come_in_front_keep_the_others() -> None:
    assert growth(rows(3, 2, 1), rows(5, 4, 3, 2)) == Growth(2, 1)
    assert growth(rows(3, 2, 1), rows(3, 2, 1)) == Growth(0, 0)


def test_other_rows_are_not_taken_for_the_same() -> None:
    assert growth(rows(3, 2, 1), rows(9, 8)) is None
    assert growth(rows(3, 2, 1), rows(4, 3, 1)) is None
    assert growth([], rows(1)) is None
