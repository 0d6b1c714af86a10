"""`mosaic rename`, `tag` and `note`: what a person calls runs, and how they sort them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mosaic.cli.commands.control import for_each_run
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import printable, say
from mosaic.contracts.run_labels import tags_in
from mosaic.errors import RequestError
from mosaic.front.references import GROUP_HELP, HELP, resolve_run

if TYPE_CHECKING:
    from mosaic.client import TrainerClient


def add(commands: Any) -> None:
    rename = commands.add_parser(
        "rename",
        help="give a run another name",
        description=(
            "Gives a run another name, which all commands and the window then know it by. No two "
            "runs have the same: where the name is taken, a number makes it unique (ours#2)."
        ),
    )
    rename.add_argument("run", metavar="RUN", help=HELP)
    rename.add_argument("name", metavar="NAME", help="the new name")
    rename.set_defaults(handler=rename_run)

    tag = commands.add_parser(
        "tag",
        help="add and remove tags of runs",
        description="Adds tags to a run, or to the runs of a group, and removes them.",
    )
    tag.add_argument("run", metavar="RUN", help=GROUP_HELP)
    tag.add_argument(
        "tags",
        nargs=argparse.REMAINDER,
        metavar="+TAG|-TAG",
        help="+TAG adds it, -TAG removes it; without any, the tags are listed",
    )
    tag.set_defaults(handler=tag_runs)

    note = commands.add_parser(
        "note",
        help="write a note about a run",
        description="Writes a note about a run in place of the one it has.",
    )
    note.add_argument("run", metavar="RUN", help=HELP)
    note.add_argument(
        "text", metavar="TEXT", nargs="?", help='"" removes the note; without it, it is shown'
    )
    note.set_defaults(handler=note_run)


def rename_run(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.run)
        before = client.get_run(run_id).run_name
        record = client.rename_run(run_id, arguments.name)
    is_taken = record.run_name != arguments.name.strip()
    why = f": another run is called {printable(arguments.name.strip())}" if is_taken else ""
    say(f"renamed {printable(before)} to {printable(record.run_name)} ({run_id}){why}")
    return 0


def tag_runs(arguments: argparse.Namespace) -> int:
    words = arguments.tags
    if any(word in ("", "+", "-") or word.startswith("--") for word in words):
        raise RequestError(
            "A tag is a word after + or -", hint="for example: mosaic tag RUN +baseline -draft"
        )
    change = tags_in(words)

    def tag(client: TrainerClient, run_id: str) -> None:
        record = client.label_run(run_id, change) if words else client.get_run(run_id)
        tags = ", ".join(record.tags) or "no tags"
        say(f"{printable(record.run_name)} ({run_id}): {printable(tags)}")

    with open_client(arguments) as client:
        return for_each_run(client, [arguments.run], tag)


def note_run(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.run)
        if arguments.text is None:
            for line in client.get_run(run_id).note.splitlines() or ["no note"]:
                say(printable(line))
            return 0
        record = client.note_run(run_id, arguments.text)
    word = "note of" if record.note else "no note any more of"
    say(f"{word} {printable(record.run_name)} ({run_id})")
    return 0
