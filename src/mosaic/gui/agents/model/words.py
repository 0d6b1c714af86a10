"""Minds as rows of text: what is new is marked, what is gone is shown struck for a while."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mosaic.contracts.agents import ValuesLine
from mosaic.front.human import amount, count, decimal
from mosaic.gui.agents.model.mind import MARKED_S, Belief, MindView
from mosaic.gui.tabs.model import Column, Row, Tone, time_of_day

NEW, GONE = "+", "\N{MINUS SIGN}"
BELIEF_COLUMNS = (
    Column("", help="+ has come just now, \N{MINUS SIGN} has gone"),
    Column("Belief", is_wide=True),
    Column("Source", help="where it has it from"),
    Column("Since", is_number=True),
)
GOAL_COLUMNS = (
    Column("", help="+ has come just now"),
    Column("Goal", is_wide=True, help="what it wants; below it, what it wants for that"),
    Column("Plan", is_wide=True, help="the one that was chosen for it"),
)
HAPPENING_COLUMNS = (Column("Time", is_number=True), Column("What"), Column("Text", is_wide=True))
MESSAGE_COLUMNS = (
    Column("Time", is_number=True),
    Column("Who", help="whom it told, or who told it"),
    Column("How", help="tell, achieve, …"),
    Column("Message", is_wide=True),
)
_DEEPEST = 10
_LONG_NUMBER = re.compile(r"(?<![\w.])\d{1,9}\.\d{5,20}(?![\w.])")


def is_marked(at: float | None, now: float) -> bool:
    return at is not None and 0 <= now - at < MARKED_S


def belief_rows(mind: MindView, wanted: str, now: float) -> list[Row]:
    """In the order of their names, so that one that changes stays where it is."""
    rows: list[Row] = []
    places: dict[tuple[str, str], int] = {}
    for belief in mind.beliefs:
        is_new = is_marked(belief.at, now)
        if (belief.is_gone and not is_new) or not _is_wanted(wanted, belief.text, belief.source):
            continue
        kind = (belief.name, belief.source)
        places[kind] = places.get(kind, -1) + 1
        rows.append(_belief_row(belief, (*kind, places[kind]), is_new, now))
    return rows


def _belief_row(belief: Belief, key: tuple[str, str, int], is_new: bool, now: float) -> Row:
    tone = Tone.GONE if belief.is_gone else Tone.GOOD if is_new else Tone.PLAIN
    mark = GONE if belief.is_gone else NEW if is_new else ""
    cells = (mark, short_numbers(belief.text), belief.source, _time(belief.at))
    return Row(key, cells, tone, belief.text)


def goal_rows(mind: MindView, wanted: str, now: float) -> list[Row]:
    """Outermost first, each below and behind the one that it serves."""
    rows = []
    for depth, goal in enumerate(mind.goals):
        if not _is_wanted(wanted, goal.text, goal.plan):
            continue
        is_new = is_marked(goal.at, now)
        inside = "" if depth == 0 else f"{'  ' * min(depth, _DEEPEST)}› "
        cells = (NEW if is_new else "", inside + goal.text, goal.plan)
        told = f"{goal.text}, by {goal.plan}" if goal.plan else goal.text
        rows.append(Row(depth, cells, Tone.GOOD if is_new else Tone.PLAIN, told))
    return rows


def happening_rows(mind: MindView, wanted: str) -> list[Row]:
    return [
        Row(
            one.number,
            (_time(one.at), one.what, one.text),
            Tone.BAD if "failed" in one.what else Tone.PLAIN,
        )
        for one in mind.happenings
        if _is_wanted(wanted, one.what, one.text)
    ]


def message_rows(mind: MindView, wanted: str, now: float) -> list[Row]:
    return [
        Row(
            one.number,
            (
                _time(one.at),
                f"to {one.receiver}" if one.sender == mind.agent else f"from {one.sender}",
                one.performative,
                short_numbers(one.text),
            ),
            Tone.GOOD if is_marked(one.at, now) else Tone.PLAIN,
            f"{one.sender} → {one.receiver}, {one.performative}: {one.text}",
        )
        for one in mind.messages
        if _is_wanted(wanted, one.sender, one.receiver, one.performative, one.text)
    ]


def headline(mind: MindView) -> str:
    """`explore · plan otherwise_explore`."""
    goal = mind.goal or "no goal"
    return f"{goal} · plan {mind.plan}" if mind.plan else goal


def confidence_words(mind: MindView) -> str:
    return "" if mind.confidence is None else f"confidence {mind.confidence * 100:.0f} %"


def agent_title(mind: MindView) -> str:
    return f"{mind.agent} ({mind.role})" if mind.role and mind.role != mind.agent else mind.agent


def belief_status(mind: MindView, shown: int) -> str:
    known = sum(not belief.is_gone for belief in mind.beliefs)
    text = amount(known, "belief")
    if shown < known:
        text = f"{count(shown)} of {text}"
    return f"{text} · {count(mind.left_out)} more are not listed" if mind.left_out else text


def goal_status(mind: MindView) -> str:
    parts = [f"{amount(mind.achieved, 'goal')} achieved"]
    if mind.intentions:
        parts.append(f"carries out {', '.join(mind.intentions[:4])}")
    if mind.skipped:
        parts.append(f"{amount(mind.skipped, 'line')} of the trace were left out")
    return " · ".join(parts)


def message_status(mind: MindView, shown: int) -> str:
    total = len(mind.messages)
    text = amount(total, "message")
    return f"{count(shown)} of {text}" if shown < total else text


def snapshot_words(snapshots: Sequence[ValuesLine], place: int) -> str:
    """`after 1,200 episodes`."""
    if not 0 <= place < len(snapshots):
        return ""
    return f"after {amount(snapshots[place].episodes, 'episode')}"


def short_numbers(text: str) -> str:
    """With as many digits as anybody reads."""
    return _LONG_NUMBER.sub(lambda found: decimal(float(found[0])), text)


def _is_wanted(wanted: str, *texts: str) -> bool:
    lowered = wanted.strip().casefold()
    return not lowered or any(lowered in text.casefold() for text in texts)


def _time(at: float | None) -> str:
    """Blank for a moment that is none of any calendar."""
    if at is None or not 0 < at < 1e11:
        return ""
    return time_of_day(at)
