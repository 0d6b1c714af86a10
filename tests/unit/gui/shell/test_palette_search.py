"""What the command palette finds, and how fast."""

from __future__ import annotations

import time

import pytest

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.gui.shell.model.palette_search import (
    PaletteItem,
    PaletteKind,
    palette_items,
    search,
    word_score,
)
from mosaic.gui.state.workbench_state import WorkbenchState
from tests.registry_samples import new_run

COMMANDS = [
    PaletteItem(PaletteKind.COMMAND, "run.stop", "Stop", "Run", "Ctrl+."),
    PaletteItem(PaletteKind.COMMAND, "view.theme.dark", "Dark theme", "View"),
    PaletteItem(PaletteKind.COMMAND, "view.theme.light", "Light theme", "View"),
]
RUNS = [
    PaletteItem(PaletteKind.RUN, "01A", "ppo-CartPole-v1-seed1", "CartPole-v1", "running"),
    PaletteItem(PaletteKind.RUN, "01B", "dqn-LunarLander-v3-seed2", "LunarLander-v3", "failed"),
]


def keys(query: str) -> list[str]:
    return [item.key for item in search(query, [*COMMANDS, *RUNS])]


def test_without_a_query_everything_comes_in_its_order() -> None:
    assert keys("  ") == ["run.stop", "view.theme.dark", "view.theme.light", "01A", "01B"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("dark", "view.theme.dark"),
        ("theme li", "view.theme.light"),  # words in any order
        ("cartpole-v1", "01A"),
        ("CARTPOLE", "01A"),
        ("dqn seed2", "01B"),
        ("ppocart", "01A"),  # letters in their order
        ("lnr", "01B"),
    ],
)
def test_what_is_meant_comes_first(query: str, found: str) -> None:
    assert keys(query)[0] == found


@pytest.mark.parametrize("query", ["zebra", "dark zebra", "krad", "x"])
def test_what_does_not_fit_is_left_out(query: str) -> None:
    assert keys(query) == []


def test_the_beginning_of_a_word_counts_more_than_its_middle() -> None:
    assert word_score("lander", "lunar lander") > word_score("lander", "lunarlander")
    assert word_score("lunar", "lunarlander") > word_score("lander", "lunarlander")
    assert word_score("lander", "lunarlander") > word_score("lndr", "lunarlander") > 0


def test_a_run_is_found_by_its_id() -> None:
    state = WorkbenchState()
    record = new_run("first").record
    state.runs.update([record])
    (found, *_) = search(record.run_id[-8:], palette_items(state, COMMANDS))
    assert (found.kind, found.key, found.title) == (PaletteKind.RUN, record.run_id, "first")


def test_algorithms_that_cannot_be_used_are_not_offered() -> None:
    state = WorkbenchState()
    state.set_catalogue(
        [AlgorithmInfo("good", "w", "works"), AlgorithmInfo("later", "w", "", is_available=False)],
        [],
    )
    assert [item.key for item in palette_items(state, ())] == ["good"]


def test_ten_thousand_runs_are_searched_without_lag() -> None:
    items = [
        PaletteItem(
            PaletteKind.RUN, f"{n:026}", f"ppo-CartPole-v1-seed{n}", "CartPole-v1", "succeeded"
        )
        for n in range(10_000)
    ]
    slowest = 0.0
    for query in ("p", "ppo", "cart 77", "ppocrt9", "nothing like it"):
        began = time.perf_counter()
        assert len(search(query, items)) <= 50
        slowest = max(slowest, time.perf_counter() - began)
    assert slowest < 0.5  # a tenth of it on an idle machine


def test_what_cannot_be_done_now_is_found_too_behind_what_can() -> None:
    can = PaletteItem(PaletteKind.COMMAND, "a", "Stop now")
    cannot = PaletteItem(PaletteKind.COMMAND, "b", "Stop…", problem="the run is over")
    assert search("stop", [cannot, can]) == [can, cannot]
    assert cannot.refusal == "Stop: the run is over"
    assert palette_items(WorkbenchState(), [cannot, can])[:2] == [can, cannot]
