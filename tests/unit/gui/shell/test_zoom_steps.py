"""The sizes in which the interface is drawn."""

from __future__ import annotations

from mosaic.gui.shell.model.zoom_steps import (
    STEPS,
    larger,
    read_percent,
    read_scale,
    scale_text,
    smaller,
)


def test_it_goes_step_by_step_from_the_smallest_to_the_largest_and_back() -> None:
    seen = [STEPS[0]]
    while larger(seen[-1]) != seen[-1]:
        seen.append(larger(seen[-1]))
    assert tuple(seen) == STEPS and (seen[0], seen[-1]) == (80, 200)
    while smaller(seen[-1]) != seen[-1]:
        seen.append(smaller(seen[-1]))
    assert seen[-1] == 80


def test_from_between_two_steps_it_goes_to_the_next() -> None:
    assert larger(103) == 110 and smaller(103) == 100


def test_strange_settings_mean_the_usual_size() -> None:
    assert [read_percent(value) for value in (None, "x", 5, "100000", "150")] == [
        *(100, 100, 100, 100, 150)
    ]


def test_it_comes_upon_the_scale_that_is_set_for_all_programs() -> None:
    assert scale_text("", 150) == "1.5"
    assert scale_text("2", 150) == "3"
    assert [read_scale(text) for text in ("", "nan", "x", "1e9", "1.25")] == [1, 1, 1, 1, 1.25]
