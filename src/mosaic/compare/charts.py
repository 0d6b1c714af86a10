"""The plots of a comparison, as SVG for the report and as one PNG.

In the SVG, ink has a colour of its own that is replaced by `currentColor`, so that axes and text
follow the page into its dark theme.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from mosaic.compare.comparison import Comparison
from mosaic.compare.published import PublishedValue
from mosaic.compare.statistics import seeds_text

# Told apart by most kinds of colour blindness, and visible on white and on black.
COLOURS = ("#2f7ed8", "#e8743b", "#19a979", "#b45fd0", "#d6a400", "#e0527e", "#17a2b8", "#8d8d8d")
_INK = "#123456"
_PNG_INK = "#24292f"
_SEED_LINES = 3  # more groups than this, and thin lines of seeds only confuse
_MOST_SEED_LINES = 12
_LABEL = 34
_DPI = 150
_TEXT_WIDTH = 180  # characters of a line below the plots


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def stroke(index: int) -> str:
    """Beyond the colours there are, other strokes, by their names in CSS and in matplotlib."""
    return ("solid", "dashed", "dotted")[index // len(COLOURS) % 3]


def curves_svg(comparison: Comparison) -> str:
    with _style():
        figure = Figure(figsize=(9.2, 4.2), layout="constrained")
        _draw_curves(figure.add_subplot(), comparison)
        return _svg(figure, "curves")


def finals_svg(comparison: Comparison) -> str:
    with _style():
        height = 1.1 + 0.42 * len(comparison.groups)
        figure = Figure(figsize=(9.2, height), layout="constrained")
        _draw_finals(figure.add_subplot(), comparison)
        return _svg(figure, "finals")


def pairs_svg(comparison: Comparison) -> str:
    with _style():
        height = 1.1 + 0.42 * len(comparison.pairs)
        figure = Figure(figsize=(9.2, height), layout="constrained")
        _draw_pairs(figure.add_subplot(), comparison)
        return _svg(figure, "pairs")


def overview_png(comparison: Comparison, title: str, subtitle: Sequence[str]) -> bytes:
    """One picture: curves, final performance (whose rows name the colours), verdicts as text."""
    with _style(_PNG_INK):
        groups = len(comparison.groups)
        height = max(3.8, 1.0 + 0.3 * groups)
        text = "\n".join(line for item in subtitle for line in textwrap.wrap(item, _TEXT_WIDTH))
        height += 0.8 + 0.2 * text.count("\n")
        figure = Figure(figsize=(13, height), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.45, 1))
        _draw_curves(left, comparison)
        _draw_finals(right, comparison)
        left.set_title(f"{comparison.question.metric} over steps", loc="left")
        right.set_title(f"final performance (last {comparison.question.last})", loc="left")
        heading = _cut(title, 90)
        figure.suptitle(heading, x=0.012, ha="left", fontsize=14, fontweight="bold")
        if text:
            figure.supxlabel(text, x=0.012, ha="left", fontsize=9.5)
        canvas = FigureCanvasAgg(figure)
        buffer = io.BytesIO()
        canvas.print_figure(buffer, dpi=_DPI, facecolor="white", metadata={"Software": None})
        return buffer.getvalue()


@contextmanager
def _style(ink: str = _INK) -> Iterator[None]:
    """Our own look, whatever the user's matplotlib is set up to do."""
    settings: dict[str, Any] = {
        "font.family": ["sans-serif"],
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 10,
        "text.parse_math": False,
        "text.color": ink,
        "axes.edgecolor": ink,
        "axes.labelcolor": ink,
        "axes.titlecolor": ink,
        "axes.titlesize": 10.5,
        "xtick.color": ink,
        "ytick.color": ink,
        "grid.color": ink,
        "grid.alpha": 0.15,
        "grid.linewidth": 0.6,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "svg.fonttype": "none",
        "figure.facecolor": "none",
        "axes.facecolor": "none",
    }
    with mpl.rc_context(), warnings.catch_warnings():
        # A name may hold characters our font has not; a box in its place is good enough.
        warnings.filterwarnings("ignore", message="Glyph")
        mpl.rcdefaults()
        parameters: Any = mpl.rcParams
        parameters.update(settings)
        yield


def _draw_curves(axes: Axes, comparison: Comparison) -> None:
    grid = comparison.grid
    shows_seeds = len(comparison.groups) <= _SEED_LINES
    for index, group in enumerate(comparison.groups):
        ink = colour(index)
        if shows_seeds and 1 < group.seeds <= _MOST_SEED_LINES:
            for row in group.seed_curves:
                axes.plot(grid, row, color=ink, linewidth=0.7, alpha=0.35)
        if group.curve.low is not None and group.curve.high is not None:
            axes.fill_between(
                grid, group.curve.low, group.curve.high, color=ink, alpha=0.18, linewidth=0
            )
        marker = "o" if len(grid) == 1 else None
        axes.plot(
            grid, group.curve.iqm, color=ink, linewidth=2, linestyle=stroke(index), marker=marker
        )
    axes.set_xlabel("environment steps")
    axes.set_ylabel(_cut(comparison.question.metric, 40))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(8))
    axes.margins(x=0.01)


def _draw_finals(axes: Axes, comparison: Comparison) -> None:
    labels = [f"{_cut(group.label)} ({seeds_text(group.seeds)})" for group in comparison.groups]
    for place, group in enumerate(comparison.groups):
        ink = colour(place)
        estimate = group.final.iqm
        # Below the interval, where it does not hide them.
        below = np.full(group.seeds, place + 0.2)
        axes.plot(group.final.seeds, below, "o", color=ink, markersize=4, alpha=0.5, mew=0)
        if estimate.low is not None and estimate.high is not None:
            axes.plot([estimate.low, estimate.high], [place, place], color=ink, linewidth=3)
        axes.plot([estimate.value], [place], "D", color=ink, markersize=7)
    places = {group.label: place for place, group in enumerate(comparison.groups)}
    for label, published in _published_ranges(comparison):
        axes.fill_betweenx(
            [places[label] - 0.38, places[label] + 0.38],
            published.low,
            published.high,
            color="#19a979",
            alpha=0.18,
            linewidth=0,
        )
    _name_rows(axes, labels)
    for place, tick in enumerate(axes.get_yticklabels()):
        tick.set_color(colour(place))
    axes.set_xlabel(_final_caption(comparison), loc="right")


def _published_ranges(comparison: Comparison) -> list[tuple[str, PublishedValue]]:
    """By group; a range of a longer training than the one drawn would only mislead."""
    return [
        (check.label, check.published)
        for check in comparison.checks
        if check.published is not None and check.published.is_of_budget(comparison.grid[-1])
    ]


def _final_caption(comparison: Comparison) -> str:
    caption = "IQM and 95 % interval; dots are seeds"
    return f"{caption}; green: published range" if _published_ranges(comparison) else caption


def _draw_pairs(axes: Axes, comparison: Comparison) -> None:
    axes.axvline(0.5, color=_INK, linewidth=1, linestyle="--", alpha=0.6)
    for place, pair in enumerate(comparison.pairs):
        ink = "#19a979" if pair.is_told_apart else "#8d8d8d"
        estimate = pair.improvement
        if estimate.low is not None and estimate.high is not None:
            axes.plot([estimate.low, estimate.high], [place, place], color=ink, linewidth=3)
        axes.plot([estimate.value], [place], "D", color=ink, markersize=7)
    _name_rows(axes, [f"{_cut(p.first, 24)} > {_cut(p.second, 24)}" for p in comparison.pairs])
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("P(improvement) and 95 % interval; green: told apart", loc="right")


def _name_rows(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def _cut(text: str, width: int = _LABEL) -> str:
    """Long names are told apart by their ends, so the middle goes."""
    if len(text) <= width:
        return text
    head = (width - 1) * 3 // 5
    return f"{text[:head]}…{text[-(width - 1 - head) :]}"


def _svg(figure: Figure, name: str) -> str:
    mpl.rcParams["svg.hashsalt"] = name
    buffer = io.StringIO()
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    # Several drawings share the page: ids are made unique by the drawing's name.
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\g<1>{name}-", text)
    # Its size is the page's to say; the view box keeps the proportions.
    return re.sub(r' (width|height)="[^"]*pt"', "", text, count=2).replace(
        "<svg ", f'<svg class="plot" role="img" aria-label="{name}" ', 1
    )
