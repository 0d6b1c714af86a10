"""Journal lines nobody should write: every kind of damage a line can have, from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from mosaic.contracts.events import MAX_LINE_BYTES, EventType
from tests import journal_lines
from tests.journal_lines import OTHER_RUN_ID

MARKER = "marker"
_WEIRD: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**63, 2**64, -(2**70), 10**400, 1e308, -0.0, "", "NaN", "\x00", "\ud800"),
    *([], {}, [[]], {"": {}}, [1, "a", None], "x" * 3000, "\u202e", {"type": "step"}),
)
_TYPES = [kind.value for kind in EventType]


def marker(number: int) -> bytes:
    """A sound event between the hostile ones: none of these may be lost."""
    return journal_lines.metric(number, MARKER, 1.0, number)


def hostile_lines(seed: int, count: int, large: int = 0) -> list[bytes]:
    """So many cases, each ending in a newline; `large` of them have a mebibyte or more."""
    chance = random.Random(seed)
    kinds = list(_KINDS)
    lines = [kinds[number % len(kinds)](chance) + b"\n" for number in range(count - large)]
    lines += [_huge(chance) + b"\n" for _ in range(large)]
    chance.shuffle(lines)
    return lines


def _event(chance: random.Random) -> dict[str, Any]:
    made = chance.choice((journal_lines.step, journal_lines.metric, journal_lines.episode))
    event: dict[str, Any] = json.loads(made(chance.randrange(10_000)))
    return event


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode()


def _noise(chance: random.Random) -> bytes:
    return chance.randbytes(chance.randrange(300)).replace(b"\n", b" ")


def _broken_text(chance: random.Random) -> bytes:
    line = _line({**_event(chance), "info": {"text": "HERE"}})
    return line.replace(b"HERE", chance.choice((b"\xff\xfe", b"\xc3(", b"\xed\xa0\x80", b"\x80")))


def _mutated(chance: random.Random) -> bytes:
    line = bytearray(_line(_event(chance)))
    for _ in range(chance.randint(1, 4)):
        line[chance.randrange(len(line))] = chance.choice(b'\x00"{}[]:,\\\xff 9-eE.')
    return bytes(line)


def _torn(chance: random.Random) -> bytes:
    line = _line(_event(chance))
    return line[: chance.randrange(len(line))]


def _no_number(chance: random.Random) -> bytes:
    word = chance.choice((b"NaN", b"-Infinity", b"1e999", b"-1e999", b"9" * 400, b"0x10", b"+1"))
    field = chance.choice(("reward", "value", "total_reward", "timestamp", "seq", "step"))
    event = {**_event(chance), field: "HERE"}
    return _line(event).replace(b'"HERE"', word)


def _deep(chance: random.Random) -> bytes:
    depth = chance.choice((100, 127, 129, 1000, 10_000))
    nest = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
    field = chance.choice((b'"observation"', b'"payload"', b'"info"', b'"metadata"'))
    inside = nest[0] * depth + b"1" + nest[1] * depth
    kind = chance.choice((b"step", b"heartbeat", b"episode"))
    return b'{"type":"' + kind + b'","seq":1,"timestamp":1,' + field + b":" + inside + b"}"


def _wrong_run(chance: random.Random) -> bytes:
    run_id = chance.choice((OTHER_RUN_ID, "", "../../etc", "x" * 500))
    return _line({**_event(chance), "run_id": run_id})


def _wrong_sequence(chance: random.Random) -> bytes:
    return _line({**_event(chance), "seq": chance.choice((0, 1, 2**53 - 1, 2**53, -5, 2**64))})


def _wrong_field(chance: random.Random) -> bytes:
    event = _event(chance)
    for name in chance.sample(sorted(event), chance.randint(1, 3)):
        event[name] = chance.choice(_WEIRD)
    return _line(event)


def _missing_field(chance: random.Random) -> bytes:
    event = _event(chance)
    del event[chance.choice(sorted(event))]
    return _line(event)


def _wrong_lifecycle(chance: random.Random) -> bytes:
    """Sound on the outside: these get through to whoever acts on what a worker announces."""
    names = ("total_steps", "steps", "env_id", "path", "error", "stop_reason", "exit_code", "hint")
    payload: Any = {name: chance.choice(_WEIRD) for name in chance.sample(names, 4)}
    if chance.random() < 0.2:
        payload = chance.choice(_WEIRD)
    return _line(
        {
            "type": chance.choice(_TYPES),
            "seq": chance.randrange(10_000),
            "timestamp": chance.choice((0, -1, 1e308, 1e-300, 2**52)),
            "payload": payload,
            "capabilities": {"worker_type": chance.choice(_WEIRD), "lane": "no such lane"},
            "schema_version": chance.choice((1, 99, -1, "1")),
            "protocol": chance.choice(("MOSAIC/1", "", "x" * 200)),
            "attempt": chance.choice((None, 0, 1, 7, 2**53 - 1)),
        }
    )


def _control_characters(chance: random.Random) -> bytes:
    raw = bytes(chance.sample([*range(0, 10), *range(11, 32), 127], 5))
    line = _line({**_event(chance), "agent_id": "HERE"})
    return line.replace(
        b"HERE", chance.choice((raw, b"\\u0000\\u001b[31m", b"\\ud800", b"\\udfff\\n"))
    )


_NO_EVENTS = (
    *(b"", b" \t ", b"\r", b"null", b"true", b"12", b'"text"', b"[1, 2]", b"{}", b"{}{}"),
    *(b"\xef\xbb\xbf{}", b"\x00" * 50, b'{"type": ["step"]}'),
    b'{"type": "no_such_event", "seq": 1, "timestamp": 1}',
    b'{"type": "step", "type": "metric", "seq": 1}',
)


def _no_event(chance: random.Random) -> bytes:
    return chance.choice(_NO_EVENTS)


def _crowded(chance: random.Random) -> bytes:
    many = {f"key {number}": number for number in range(2000)}
    name = chance.choice(("", "x" * 300, "a\nb", "\u0000"))
    return _line({**_event(chance), "name": name, "info": many})


def _huge(chance: random.Random) -> bytes:
    """Just below, at and above the longest line, and far beyond it."""
    event = {**_event(chance), "observation": "HERE"}
    line = _line(event)
    size = chance.choice(
        (MAX_LINE_BYTES, MAX_LINE_BYTES + 1, MAX_LINE_BYTES - 1, 3 * MAX_LINE_BYTES)
    )
    return line.replace(b"HERE", b"x" * (size - len(line) + 4))


_KINDS: tuple[Callable[[random.Random], bytes], ...] = (
    _noise,
    _broken_text,
    _mutated,
    _torn,
    _no_number,
    _deep,
    _wrong_run,
    _wrong_sequence,
    _wrong_field,
    _missing_field,
    _wrong_lifecycle,
    _control_characters,
    _no_event,
    _crowded,
)
