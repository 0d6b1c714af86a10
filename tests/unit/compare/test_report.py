"""The report is one sound HTML file that runs nothing, whatever the runs are called."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from mosaic.compare.charts import curves_svg, finals_svg, overview_png, pairs_svg
from mosaic.compare.comparison import Comparison
from mosaic.compare.published import TRAINING, PublishedValue, check, find_published
from mosaic.compare.report import group_labels, html_report
from mosaic.compare.statistics import Estimate
from tests.compare_samples import sample_comparison

HOSTILE = "<script>alert('x')</script>&\"'--><b>"
STRANGE = "_under $\\alpha_{$ 漢字 😀 \u202e"
LONG = "a-very-long-name-" * 20


class Reader(HTMLParser):
    """Collects tags and text, and checks that what opens is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def page_of(comparison: Comparison) -> str:
    return html_report(comparison, group_labels(comparison.groups), "2026-01-01 00:00", "1.2.3")


@pytest.fixture(scope="module")
def hostile() -> Comparison:
    found = sample_comparison([[4, 5, 6], [1, 2, 3], [2, 3, 9]], [HOSTILE, STRANGE, LONG])
    return replace(found, warnings=(f"about {HOSTILE}",))


def test_names_are_text_and_never_markup(hostile: Comparison) -> None:
    reader = read(page_of(hostile))
    assert not reader.tags & {"script", "b", "img", "link", "iframe", "object"}
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert HOSTILE in reader.text and STRANGE in reader.text and LONG in reader.text


def test_nothing_is_loaded_from_anywhere(hostile: Comparison) -> None:
    page = page_of(hostile)
    links = [v for n, v in read(page).attributes if n in ("src", "href", "xlink:href", "action")]
    assert all(value.startswith("#") for value in links)
    assert "@import" not in page and "url(http" not in page
    assert "default-src 'none'" in page


def test_ids_are_unique_and_what_is_referred_to_exists(hostile: Comparison) -> None:
    page = page_of(hostile)
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    referred = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page))
    assert referred and {a or b for a, b in referred} <= set(ids)


def test_plots_are_sound_svg_that_follows_the_theme(hostile: Comparison) -> None:
    for draw in (curves_svg, finals_svg, pairs_svg):
        drawing = draw(hostile)
        ET.fromstring(drawing)
        assert "currentColor" in drawing and "#ffffff" not in drawing


def test_a_report_is_the_same_each_time(hostile: Comparison) -> None:
    assert page_of(hostile) == page_of(hostile)


def test_every_run_and_every_difference_is_in_it(hostile: Comparison) -> None:
    text = read(page_of(hostile)).text
    for group in hostile.groups:
        for run in group.runs:
            assert run.run_id in text
    for word in ("learning_rate", "Verdict", "How this was made", "Config differences", "Mind"):
        assert word in text


@pytest.mark.parametrize("groups", [1, 2, 8, 12])
def test_any_number_of_groups(groups: int) -> None:
    found = sample_comparison([[10.0 * n + s for s in range(3)] for n in range(groups)])
    assert read(page_of(found)).text.count("group 0") >= 2
    assert overview_png(found, "title", found.headlines()).startswith(b"\x89PNG")


def test_published_values_are_shown_with_their_verdict() -> None:
    found = sample_comparison([[300.0, 310.0]])
    published = find_published("ppo", "CartPole-v1", 500_000)
    assert not isinstance(published, str)
    answer = check("group 0", published, Estimate(305.0, 300.0, 310.0), 2)
    reader = read(page_of(replace(found, checks=(answer,))))
    assert "is below the published range" in reader.text and "490.04 ± 6.12" in reader.text


def test_a_published_range_is_drawn_only_beside_a_training_as_long() -> None:
    found = sample_comparison([[300.0, 310.0]])  # of 30,000 steps
    for steps, is_drawn in ((30_000, True), (500_000, False)):
        value = PublishedValue("ppo", "CartPole-v1", steps, TRAINING, 490.0, 6.0, "somewhere")
        answer = check("group 0", value, Estimate(305.0), 2)
        drawing = finals_svg(replace(found, checks=(answer,)))
        assert ("published range" in drawing) == is_drawn


def test_many_groups_are_shown_as_a_matrix() -> None:
    found = sample_comparison([[10.0 * n + s for s in range(5)] for n in range(6)])
    reader = read(page_of(found))
    assert "Row ahead of column" in reader.text and "15 pairs" in reader.text


def test_strange_names_can_be_drawn(hostile: Comparison) -> None:
    assert overview_png(hostile, HOSTILE + STRANGE, hostile.headlines()).startswith(b"\x89PNG")
