"""Writes the sections of docs/reference/command-line.md that list commands and their options.

They are derived from the parser, between a line `<!-- commands: NAME ... -->` and the line
`<!-- end of commands -->`. What stands outside such lines is written by hand.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mosaic.cli.main import build_parser

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "command-line.md"
END = "<!-- end of commands -->"
BLOCK = re.compile(rf"<!-- commands: ([a-z -]+) -->\n.*?{re.escape(END)}\n", re.DOTALL)
# An option named in a sentence; not what is code already, nor a part of a word.
NAMED_OPTION = re.compile(r"(?<![\w`-])(--[a-z0-9]+(?:-[a-z0-9]+)*|\$[A-Z_]+)")
# Python up to 3.12 adds this to the help of options that have a --no- form.
ADDED_DEFAULT = " (default: %(default)s)"


@dataclass(frozen=True)
class Command:
    parser: argparse.ArgumentParser
    summary: str  # its line in the list of commands


class PageError(Exception):
    """The page does not name every command once."""


def page(text: str, parser: argparse.ArgumentParser) -> str:
    """This text of the page with all its sections as the parser is now."""
    commands = subcommands(parser)
    named = [name for block in BLOCK.finditer(text) for name in block[1].split()]
    if faults := sorted(set(named) ^ commands.keys()):
        raise PageError(f"no command, or in no section: {', '.join(faults)}")
    if len(named) != len(set(named)):
        raise PageError("a command is in two sections")

    def section(block: re.Match[str]) -> str:
        parts = (part for name in block[1].split() for part in command_section(commands[name]))
        return f"<!-- commands: {block[1]} -->\n\n" + "\n\n".join(parts) + f"\n\n{END}\n"

    return BLOCK.sub(section, text)


def subcommands(parser: argparse.ArgumentParser) -> dict[str, Command]:
    return {
        listed.dest: Command(action.choices[listed.dest], listed.help or "")
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for listed in action._choices_actions
    }


def command_section(command: Command) -> Iterator[str]:
    parser = command.parser
    yield f"### `{parser.prog}`"
    if len(usage(parser).split()) > len(parser.prog.split()):
        yield f"`{usage(parser)}`"
    summary = f"{command.summary[:1].upper()}{command.summary[1:]}."
    yield _markdown(parser.description or summary)
    if rows := list(argument_rows(parser)):
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows])
    for action in subcommands(parser).values():
        yield from command_section(action)


def usage(parser: argparse.ArgumentParser) -> str:
    """In one line, whatever the width of the terminal and the version of Python."""
    if parser.usage:
        return parser.usage
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    flags = [action for action in shown if action.option_strings]
    words = [parser.prog]
    words += [_positional(action) for action in shown if not action.option_strings]
    words += [_flag(action) for action in flags if action.required]
    if any(not action.required and not _is_help(action) for action in flags):
        words.append("[options]")
    return " ".join(words)


def argument_rows(parser: argparse.ArgumentParser) -> Iterator[str]:
    exclusive = {
        id(action): [other for other in group._group_actions if other is not action]
        for group in parser._mutually_exclusive_groups
        for action in group._group_actions
    }
    for action in parser._actions:
        if (
            action.help == argparse.SUPPRESS
            or isinstance(action, argparse._SubParsersAction)
            or (_is_help(action) and action.help == "show this help message and exit")
        ):
            continue
        name = _flag(action) if action.option_strings else str(action.metavar or action.dest)
        meaning = _meaning(action)
        if others := exclusive.get(id(action)):
            listed = " or ".join(f"`{other.option_strings[-1]}`" for other in others)
            meaning = f"{meaning}; not with {listed}" if meaning else f"not with {listed}"
        yield f"| {_cell(name)} | {meaning.replace('|', chr(92) + '|')} |"


def _positional(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    if isinstance(action, argparse._SubParsersAction) and not action.required:
        return f"[{name}]"
    match action.nargs:
        case "?":
            return f"[{name}]"
        case "*":
            return f"[{name} ...]"
        case "+":
            return f"{name} ..."
    return name


def _flag(action: argparse.Action) -> str:
    flags = ", ".join(action.option_strings)
    if action.nargs == 0:
        return flags
    if action.choices and not action.metavar:
        value = "|".join(map(str, action.choices))
    else:
        value = str(action.metavar or action.dest.upper())
    return f"{flags} {value}{' ...' if action.nargs == '+' else ''}"


def _meaning(action: argparse.Action) -> str:
    text = (action.help or "").removesuffix(ADDED_DEFAULT).replace("%%", "%")
    text = _markdown(text)
    has_default = action.nargs != 0 and action.default not in (None, "", [], argparse.SUPPRESS)
    if has_default and "default" not in text.lower():
        return f"{text}; default: {action.default}" if text else f"default: {action.default}"
    return text


def _is_help(action: argparse.Action) -> bool:
    return "--help" in action.option_strings


def _cell(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


def _markdown(text: str) -> str:
    """Options as code, and no character that Markdown or HTML would take for its own."""
    pieces = text.split("`")
    for index in range(0, len(pieces), 2):  # outside of code
        escaped = re.sub(r"[*_<>\[\]]", lambda found: f"\\{found[0]}", pieces[index])
        pieces[index] = NAMED_OPTION.sub(r"`\1`", escaped.replace("\\_", "_"))
    return "`".join(pieces)


def main() -> int:
    found = PAGE.read_text()
    wanted = page(found, build_parser())
    PAGE.write_text(wanted)
    count = len(subcommands(build_parser()))
    sys.stderr.write(f"{count} commands written to {PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
