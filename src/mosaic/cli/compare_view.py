"""A comparison in the terminal: verdicts first, then the tables behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mosaic.cli.terminal import paint, printable, say, say_table
from mosaic.compare.published import BELOW, UNCHECKED
from mosaic.front.human import amount, count, decimal

if TYPE_CHECKING:
    from mosaic.compare.comparison import Comparison
    from mosaic.compare.statistics import Estimate

_MOST_VALUE = 40


def say_comparison(comparison: Comparison, shows_equal: bool = False) -> None:
    question = comparison.question
    say(
        paint(
            printable(
                f"{question.metric} on {comparison.environment or 'an unknown environment'}, "
                f"up to step {count(int(comparison.grid[-1]))}"
            ),
            "bold",
        )
    )
    say()
    for line in comparison.headlines():
        say(printable(line))
    for check in comparison.checks:
        colour = {BELOW: "red", UNCHECKED: "dim"}.get(check.verdict, "green")
        say(paint(printable(check.sentence), colour))
    for warning in comparison.warnings:
        say(paint(printable(f"note: {warning}"), "yellow"))
    if comparison.pairs or comparison.checks or comparison.warnings:
        say()
    _say_groups(comparison)
    _say_differences(comparison, shows_equal)


def _say_groups(comparison: Comparison) -> None:
    say(
        f"Final performance: mean of the last {comparison.question.last} "
        f"{comparison.question.unit}s of each seed; 95 % intervals over seeds"
    )
    say_table(
        ("GROUP", "SEEDS", "IQM", "INTERVAL", "MEAN ± SD", "MEDIAN", "WHILE TRAINING", "STEPS"),
        [
            (
                group.label,
                str(group.seeds),
                decimal(group.final.iqm.value),
                _interval(group.final.iqm),
                f"{decimal(group.final.mean.value)} ± {decimal(group.final.deviation)}"
                if group.final.deviation is not None
                else decimal(group.final.mean.value),
                decimal(group.final.median.value),
                decimal(group.area.iqm.value),
                count(int(min(run.steps for run in group.runs if run.final is not None))),
            )
            for group in comparison.groups
        ],
    )
    if len(comparison.groups) > 3:
        say()
        say_table(
            ("BETTER?", "THAN", "P(IMPROVEMENT)", "INTERVAL", "P", "VERDICT"),
            [
                (
                    pair.first,
                    pair.second,
                    f"{pair.improvement.value:.2f}",
                    _interval(pair.improvement),
                    "-" if pair.p_value is None else f"{pair.p_value:.3f}",
                    "told apart" if pair.is_told_apart else "not told apart",
                )
                for pair in comparison.pairs
            ],
        )


def _say_differences(comparison: Comparison, shows_equal: bool) -> None:
    if len(comparison.groups) > 1:
        say()
        if comparison.differences:
            say("What differs in the configs")
            say_table(
                ("PARAMETER", *(printable(_short(group.label)) for group in comparison.groups)),
                [
                    (item.path, *(_short(value) for value in item.values))
                    for item in comparison.differences
                ],
            )
        else:
            say("The configs are equal but for their seeds.")
    if shows_equal and comparison.equalities:
        say()
        say("What is equal")
        say_table(
            ("PARAMETER", "VALUE"),
            [(item.path, _short(item.values[0])) for item in comparison.equalities],
        )
    elif comparison.equalities:
        say(
            paint(
                f"{amount(len(comparison.equalities), 'parameter')} equal (--equal lists them)",
                "dim",
            )
        )


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "-"
    return f"{decimal(estimate.low)} to {decimal(estimate.high)}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_VALUE else text[: _MOST_VALUE - 1] + "…"
