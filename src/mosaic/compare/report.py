"""The report: one HTML file that needs nothing else, neither network nor scripts.

Whatever comes from outside is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib import resources

from mosaic.compare.charts import colour, curves_svg, finals_svg, pairs_svg, stroke
from mosaic.compare.comparison import Comparison, GroupResult
from mosaic.compare.published import BELOW, UNCHECKED, WITHIN
from mosaic.compare.statistics import Estimate, number_text, seeds_text

# Names come from outside; nothing of a report may run or load anything whatever they hold.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_FEW_GROUPS = 4
_FEW_RUNS = 30


def html_report(comparison: Comparison, title: str, made_at: str, version: str) -> str:
    css = (resources.files("mosaic.compare") / "report.css").read_text(encoding="utf-8")
    sections = [
        _verdicts(comparison),
        section("Mind", listing(comparison.warnings), "warnings") if comparison.warnings else "",
        section("Learning curves", curves_svg(comparison) + _legend(comparison)),
        section("Final performance", finals_svg(comparison) + _final_table(comparison)),
        _pairs(comparison),
        _references(comparison),
        _differences(comparison),
        _runs(comparison),
        section("How this was made", listing(comparison.notes), "notes"),
    ]
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title>\n<style>\n{css}</style></head>\n<body><main>\n"
        f"<header><h1>{escaped(title)}</h1><p>{escaped(_subtitle(comparison))}</p></header>\n"
        + "\n".join(part for part in sections if part)
        + f"\n<footer>Made {escaped(made_at)} by MOSAIC {escaped(version)}.</footer>\n"
        "</main></body></html>\n"
    )


def group_labels(groups: Sequence[GroupResult]) -> str:
    labels = [group.label for group in groups]
    return " vs ".join(labels) if len(labels) <= _FEW_GROUPS else f"{len(labels)} groups"


def _subtitle(comparison: Comparison) -> str:
    groups = len(comparison.groups)
    runs = sum(group.seeds for group in comparison.groups)
    parts = [
        comparison.environment,
        comparison.question.metric,
        f"{groups} group{'' if groups == 1 else 's'}",
        f"{runs} run{'' if runs == 1 else 's'}",
        f"up to step {comparison.grid[-1]:,.0f}",
    ]
    return " · ".join(part for part in parts if part)


def _verdicts(comparison: Comparison) -> str:
    is_told = {pair.sentence: pair.is_told_apart for pair in comparison.pairs}
    lines = [
        f'<p class="verdict{" told" if is_told.get(line) else ""}">{escaped(line)}</p>'
        for line in comparison.headlines()
    ]
    for check in comparison.checks:
        if check.verdict != UNCHECKED:
            kind = "below" if check.verdict == BELOW else "told"
            lines.append(f'<p class="verdict {kind}">{escaped(check.sentence)}</p>')
    return section("Verdict", "".join(lines))


def _legend(comparison: Comparison) -> str:
    items = "".join(
        f"<li>{swatch(index)}{escaped(group.label)} <small>{seeds_text(group.seeds)}</small></li>"
        for index, group in enumerate(comparison.groups)
    )
    return f'<ul class="legend">{items}</ul>'


def _final_table(comparison: Comparison) -> str:
    rows = [
        (
            swatch(index) + escaped(group.label),
            str(group.seeds),
            estimate_cell(group.final.iqm),
            estimate_cell(group.final.mean),
            estimate_cell(group.final.median),
            number_text(group.final.deviation),
            estimate_cell(group.area.iqm),
        )
        for index, group in enumerate(comparison.groups)
    ]
    header = ("Group", "Seeds", "IQM", "Mean", "Median", "Deviation", "While training")
    return table(header, rows, numbers=range(1, 7))


def _pairs(comparison: Comparison) -> str:
    """A few pairs are drawn and listed; of many, a matrix is seen at a glance."""
    if not comparison.pairs:
        return ""
    rows = [
        (
            f"{escaped(pair.first)} <small>over</small> {escaped(pair.second)}",
            estimate_cell(pair.improvement),
            number_text(pair.p_value, 3),
            escaped(pair.test or "none possible"),
            '<span class="good">told apart</span>'
            if pair.is_told_apart
            else f'<span class="quiet">not told apart{_more(pair.more_seeds)}</span>',
        )
        for pair in comparison.pairs
    ]
    listed = table(("Pair", "P(improvement)", "p", "Test", "Verdict"), rows, numbers=(1, 2))
    body = (
        pairs_svg(comparison) + listed
        if len(comparison.groups) <= _FEW_GROUPS
        else _pair_matrix(comparison) + folded(f"{len(rows)} pairs", listed)
    )
    return section("Probability of improvement", body)


def _more(seeds: int | None) -> str:
    return "" if seeds is None else f"; about {seeds} more seed{'' if seeds == 1 else 's'} each"


def _pair_matrix(comparison: Comparison) -> str:
    """How likely the group of the row is ahead of the group of the column."""
    cells: dict[tuple[str, str], str] = {}
    for pair in comparison.pairs:
        ahead = pair.improvement.value
        for key, value, kind in (
            ((pair.first, pair.second), ahead, "good"),
            ((pair.second, pair.first), 1 - ahead, "bad"),
        ):
            shown = kind if pair.is_told_apart else "quiet"
            cells[key] = f'<span class="{shown}">{value:.2f}</span>'
    labels = [group.label for group in comparison.groups]
    rows = [
        (
            f"{index + 1}&ensp;{swatch(index)}{escaped(row)}",
            *(cells.get((row, column), "") for column in labels),
        )
        for index, row in enumerate(labels)
    ]
    header = ("Row ahead of column", *(str(index + 1) for index in range(len(labels))))
    return table(header, rows, numbers=range(1, len(labels) + 1))


def _references(comparison: Comparison) -> str:
    if not comparison.checks:
        return ""
    rows = []
    for check in comparison.checks:
        kind = {WITHIN: "good", BELOW: "bad", UNCHECKED: "quiet"}.get(check.verdict, "good")
        published = check.published
        what = escaped(check.sentence)
        if published is not None:
            budget = f"{published.algorithm}, {published.environment}, {published.steps:,} steps"
            what = f"{escaped(budget)}<br><small>{escaped(published.source)}</small>"
        rows.append(
            (
                escaped(check.label),
                f'<span class="{kind}">{escaped(check.verdict)}</span>',
                estimate_cell(check.measured) if check.measured else "–",
                escaped(published.text) if published else "–",
                what,
            )
        )
    header = ("Group", "Verdict", "Mean here", "Published", "What was published")
    return section("Published values", table(header, rows, numbers=(2, 3)))


def _differences(comparison: Comparison) -> str:
    labels = [group.label for group in comparison.groups]
    items = comparison.differences
    body = ""
    if len(labels) > _FEW_GROUPS and items:
        rows = [
            (escaped(label), *(code(item.values[index]) for item in items))
            for index, label in enumerate(labels)
        ]
        body = table(("Group", *(item.path for item in items)), rows)
    elif len(labels) > 1 and items:
        rows = [(code(item.path), *(code(value) for value in item.values)) for item in items]
        body = table(("Parameter", *labels), rows)
    elif len(labels) > 1:
        body = "<p>The configs are equal but for their seeds.</p>"
    same = [(code(item.path), code(item.values[0])) for item in comparison.equalities]
    if same:
        body += folded(
            f"{len(same)} parameters that are equal", table(("Parameter", "Value"), same)
        )
    return section("Config differences", body) if body else ""


def _runs(comparison: Comparison) -> str:
    rows = [
        (
            swatch(index) + escaped(run.run_name),
            f'<code class="id">{escaped(run.run_id)}</code>',
            "–" if run.seed is None else str(run.seed),
            f"{run.steps:,.0f}",
            number_text(run.final),
            escaped(run.remark or run.outcome),
        )
        for index, group in enumerate(comparison.groups)
        for run in group.runs
    ]
    header = ("Run", "Id", "Seed", "Steps", "Final", "Outcome")
    listed = table(header, rows, numbers=(2, 3, 4))
    return section(
        "Runs", listed if len(rows) <= _FEW_RUNS else folded(f"{len(rows)} runs", listed)
    )


_MOST_OF_A_VALUE = 300


def escaped(value: str) -> str:
    return html.escape(value, quote=True)


def section(title: str, body: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<section{attribute}><h2>{escaped(title)}</h2>{body}</section>"


def listing(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escaped(line)}</li>" for line in sentences) + "</ul>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """`rows` are HTML already, the header is not; `numbers` are the columns of numbers."""
    right = set(numbers)

    def kind(column: int) -> str:
        return ' class="number"' if column in right else ' class="name"' if column == 0 else ""

    head = "".join(f"<th{kind(i)}>{escaped(cell)}</th>" for i, cell in enumerate(header))
    body = "".join(
        "<tr>" + "".join(f"<td{kind(i)}>{cell}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{whole}</div>'


def folded(summary: str, body: str) -> str:
    return f"<details><summary>{escaped(summary)}</summary>{body}</details>"


def estimate_cell(value: Estimate) -> str:
    """The value, and small below it its interval."""
    if value.low is None or value.high is None:
        return number_text(value.value)
    interval = f"{number_text(value.low)} to {number_text(value.high)}"
    return f"{number_text(value.value)}<br><small>{interval}</small>"


def code(value: str) -> str:
    cut = value if len(value) <= _MOST_OF_A_VALUE else value[: _MOST_OF_A_VALUE - 1] + "…"
    return f"<code>{escaped(cut)}</code>"


def swatch(index: int) -> str:
    return f'<span class="swatch" style="border-top:4px {stroke(index)} {colour(index)}"></span>'
