import json

import pytest

from mosaic.cli.shared.terminal import (
    colours_only,
    confirmed,
    printable,
    printable_json,
    say,
    say_fields,
    say_json,
    say_table,
)

REPLACED = "\N{REPLACEMENT CHARACTER}"
ORDERS = {
    "clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "title": "\x1b]0;owned\x1b\\",
    "clear": "\x1b[2J\x1b[H",
    "keys": "\x1b[>4;1m",
    "C1 clipboard": "\x9d52;c;QQ==\x9c",
    "C1 clear": "\x9b2J",
    "backspace": "safe\b\b\b\bevil",
    "carriage return": "evil\rgood",
    "delete": "a\x7fb",
    "bell": "\a",
    "NUL": "a\0b",
    "override": "abc\u202egpj.exe",
    "isolate": "\u2066a\u2069",
    "direction mark": "a\u200eb\u200fc\u061cd",
    "zero width": "a\u200bb\ufeffc",
    "separators": "a\u2028b\u2029c",
    "surrogate": "a\ud800b",
    "tag": "a\U000e0041b",
}


@pytest.mark.parametrize("text", ORDERS.values(), ids=ORDERS)
def test_what_steers_a_terminal_is_shown_as_a_replaced_character(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    assert REPLACED in shown
    assert shown.replace(REPLACED, "").isprintable()


@pytest.mark.parametrize("text", ["", "plain", "ä € 漢字 🚀", "a\tb", "no-break\u00a0space"])
def test_ordinary_text_is_printed_as_it_is(text: str) -> None:
    assert printable(text) == text
    assert colours_only(text) == text


def test_a_new_line_in_a_name_does_not_begin_a_line() -> None:
    assert printable("run\nmosaic: done") == f"run{REPLACED}mosaic: done"


def test_what_is_said_keeps_its_own_colours_and_lines_and_no_other_order() -> None:
    text = "\x1b[1mname\x1b[0m: a\x1b]0;t\x07\n  b\x1b[2J"
    assert colours_only(text) == (
        f"\x1b[1mname\x1b[0m: a{REPLACED}]0;t{REPLACED}\n  b{REPLACED}[2J"
    )


@pytest.mark.parametrize("text", ORDERS.values(), ids=ORDERS)
def test_nothing_a_command_prints_steers_a_terminal(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_answer(question: str) -> str:
        print(question)
        raise EOFError

    monkeypatch.setattr("builtins.input", no_answer)
    say(text)
    say_fields([(text, text)])
    say_table((text, "B"), [(text, text)])
    assert not confirmed(text)
    said = capsys.readouterr().out
    assert said.replace("\n", "").replace(REPLACED, "").isprintable()


@pytest.mark.parametrize("text", ORDERS.values(), ids=ORDERS)
def test_json_says_the_same_with_such_characters_spelled_out(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = json.dumps({"text": text}, ensure_ascii=False)
    spelled = printable_json(line)
    assert spelled.isprintable()
    assert json.loads(spelled) == {"text": text}
    say_json({"text": text})
    said = capsys.readouterr().out
    assert said.replace("\n", "").isprintable()
    assert json.loads(said) == {"text": text}
