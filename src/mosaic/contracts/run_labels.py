"""What a person calls a run, and how they sort it: its name, tags and note. Pure.

**A run has one name, and no other run of its home has the same.** It is the name that was submitted
or given later. Where that is taken, a number makes it unique: the second `ours` is `ours#2`, the
third `ours#3`. The registry decides this once, when the run is stored, renamed, imported or
restored. So the number never changes because another run goes, and every front end shows and
accepts one and the same text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mosaic.contracts.hostile_text import label_problem
from mosaic.errors import ConfigError

MAX_NAME = 120  # as in the schema of a config
MAX_TAG = 40
MAX_TAGS = 20
MAX_NOTE = 2000
MARK = "#"
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
# What separates tags wherever they are written in one line, and what adds or removes one.
_NOT_IN_TAGS = frozenset(", ")
_SIGNS = ("+", "-")


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """`wanted`, or with the number after the highest that is taken."""
    others = frozenset(taken)
    if wanted not in others:
        return wanted
    numbers = [_number(name.removeprefix(wanted)) for name in others if name.startswith(wanted)]
    return f"{wanted}{MARK}{max([1, *numbers]) + 1}"


def named_apart(names: Iterable[str]) -> list[str]:
    """What `free_name` gives one after the other, in time that grows with their number alone."""
    given: dict[str, None] = {}
    highest: dict[str, int] = {}  # number after a name that is taken
    for wanted in names:
        name = f"{wanted}{MARK}{highest.get(wanted, 1) + 1}" if wanted in given else wanted
        given[name] = None
        base, _, number = name.rpartition(MARK)
        if found := _number(f"{MARK}{number}"):
            highest[base] = max(highest.get(base, 1), found)
    return list(given)


def _number(suffix: str) -> int:
    is_numbered = suffix.startswith(MARK) and _NUMBER.fullmatch(suffix[1:])
    return int(suffix[1:]) if is_numbered else 0


@dataclass(frozen=True)
class LabelChange:
    """What is None or empty stays as it is."""

    name: str | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    note: str | None = None  # empty: there is none any more

    def checked(self) -> LabelChange:
        """Without blanks at either end; raises ConfigError, which names the field."""
        name = None if self.name is None else self.name.strip()
        note = None if self.note is None else self.note.strip()
        added = tuple(dict.fromkeys(tag.strip() for tag in self.add_tags))
        removed = tuple(dict.fromkeys(tag.strip() for tag in self.remove_tags))
        if name is not None and (problem := name_problem(name)):
            raise ConfigError(
                f"The name {problem}", hint="write a plain name, such as ours-seed1", field="name"
            )
        for tag in added:
            if problem := tag_problem(tag):
                raise ConfigError(
                    f"The tag {tag[:MAX_TAG]!r} {problem}",
                    hint="write a word, such as baseline or lr-sweep",
                    field="tags",
                )
        if note is not None and (problem := note_problem(note)):
            raise ConfigError(f"The note {problem}", hint="write a shorter text", field="note")
        return LabelChange(name, added, removed, note)

    def tags_of(self, known: Sequence[str]) -> tuple[str, ...]:
        """Those of a run after the change; raises ConfigError when they are too many."""
        tags = [tag for tag in known if tag not in self.remove_tags]
        tags += [tag for tag in self.add_tags if tag not in tags]
        if len(tags) > MAX_TAGS:
            raise ConfigError(
                f"The run would have {len(tags)} tags; {MAX_TAGS} is the limit",
                hint="remove some first: mosaic tag RUN -NAME",
                field="tags",
            )
        return tuple(tags)


def name_problem(text: str) -> str | None:
    if len(text) > MAX_NAME:
        return f"has {len(text):,} characters; {MAX_NAME} is the limit"
    return label_problem(text)


def tag_problem(text: str) -> str | None:
    if len(text) > MAX_TAG:
        return f"has {len(text):,} characters; {MAX_TAG} is the limit"
    if _NOT_IN_TAGS & set(text):
        return "holds a blank or a comma"
    if text.startswith(_SIGNS):
        return "begins with a sign"
    return label_problem(text)


def tags_problem(tags: Sequence[str]) -> str | None:
    """Why a run cannot have these, from an archive for example."""
    if len(tags) > MAX_TAGS:
        return f"has {len(tags):,} tags; {MAX_TAGS} is the limit"
    if len(set(tags)) < len(tags):
        return "has a tag twice"
    for tag in tags:
        if problem := tag_problem(tag):
            return f"has a tag that {problem}"
    return None


def note_problem(text: str) -> str | None:
    """A note may have several lines, and no other control characters."""
    if len(text) > MAX_NOTE:
        return f"has {len(text):,} characters; {MAX_NOTE:,} is the limit"
    plain = text.replace("\n", " ").replace("\t", " ")
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in plain):
        return "holds control characters"
    return None


def tags_in(words: Iterable[str]) -> LabelChange:
    """`+a -b c` as a person writes it: those with a minus go, all others are added."""
    added, removed = [], []
    for word in words:
        if word.startswith("-"):
            removed.append(word[1:])
        else:
            added.append(word.removeprefix("+"))
    return LabelChange(add_tags=tuple(added), remove_tags=tuple(removed))
