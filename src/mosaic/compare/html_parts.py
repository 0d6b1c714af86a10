"""Small pieces of HTML; whatever comes from outside goes through `text`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from mosaic.compare.charts import colour, stroke
from mosaic.compare.statistics import Estimate
from mosaic.compare.wording import number

_MOST_OF_A_VALUE = 300


def text(value: str) -> str:
    return html.escape(value, quote=True)


def section(title: str, body: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<section{attribute}><h2>{text(title)}</h2>{body}</section>"


def listing(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{text(line)}</li>" for line in sentences) + "</ul>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """`rows` are HTML already, the header is not; `numbers` are the columns of numbers."""
    right = set(numbers)

    def kind(column: int) -> str:
        return ' class="number"' if column in right else ' class="name"' if column == 0 else ""

    head = "".join(f"<th{kind(i)}>{text(cell)}</th>" for i, cell in enumerate(header))
    body = "".join(
        "<tr>" + "".join(f"<td{kind(i)}>{cell}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{whole}</div>'


def folded(summary: str, body: str) -> str:
    return f"<details><summary>{text(summary)}</summary>{body}</details>"


def estimate(value: Estimate) -> str:
    """The value, and small below it its interval."""
    if value.low is None or value.high is None:
        return number(value.value)
    return f"{number(value.value)}<br><small>{number(value.low)} to {number(value.high)}</small>"


def code(value: str) -> str:
    cut = value if len(value) <= _MOST_OF_A_VALUE else value[: _MOST_OF_A_VALUE - 1] + "…"
    return f"<code>{text(cut)}</code>"


def swatch(index: int) -> str:
    return f'<span class="swatch" style="border-top:4px {stroke(index)} {colour(index)}"></span>'
