"""`mosaic bundles`: what workers and families of environments need, and the venvs that hold it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.clients import is_remote, open_client
from mosaic.cli.shared.terminal import paint, printable, say, say_json, say_table, say_to_stderr
from mosaic.contracts.bundles import (
    BUNDLES_GROUP,
    Accelerator,
    InstallRequest,
    VenvInfo,
    VenvState,
    split_name,
)
from mosaic.errors import BundleError, ConsentError, RequestError
from mosaic.front.human import age, amount, duration, size

if TYPE_CHECKING:
    from mosaic.client import TrainerClient

NAME_HELP = "a bundle, or a worker's joined with add-ons: WORKER+ADD_ON"
_COLOURS = {
    VenvState.INSTALLED: "green",
    VenvState.PRESENT: "green",
    VenvState.INSTALLING: "blue",
    VenvState.BROKEN: "red",
    VenvState.UNAVAILABLE: "dim",
}


def add(commands: Any) -> None:
    bundles = commands.add_parser(
        "bundles",
        help="list, install or remove what workers and environments need",
        description=(
            "Lists what workers and families of environments need: what it is, whether it is "
            "installed, and its size. Each is installed into a venv of its own; a run that needs "
            "one that is missing says so, or installs it with --install."
        ),
    )
    bundles.add_argument("--json", action="store_true", help="machine-readable output")
    bundles.set_defaults(handler=list_bundles)
    actions = bundles.add_subparsers(metavar="list | install | cancel | verify | remove | …")
    listing = actions.add_parser("list", help="what there is; the same as without a word")
    _add_json(listing)
    listing.set_defaults(handler=list_bundles)
    _add_fetching(actions)
    _add_looking(actions)


def _add_fetching(actions: Any) -> None:
    """What may fetch something, and what ends that."""
    install = actions.add_parser(
        "install",
        help="make the venv of a bundle",
        description=(
            "Says what is installed and how much is fetched at most, asks on a terminal, and "
            "follows the install. Ctrl-C cancels it and leaves nothing of it. Without a terminal "
            "nothing is asked; more than was said is never fetched."
        ),
    )
    _add_request(install)
    install.set_defaults(handler=install_bundle)
    pack = actions.add_parser(
        "pack",
        help="fetch a bundle into a folder, for machines without network",
        description=(
            "Writes all files of a bundle into a folder, from which `mosaic bundles install NAME "
            "--from FOLDER` installs it on a machine without network, of the same kind and with "
            "the same Python."
        ),
    )
    _add_request(pack, has_source=False)
    pack.add_argument("--to", required=True, metavar="FOLDER", help="made if it is not there")
    pack.set_defaults(handler=pack_bundle)
    cancel = actions.add_parser("cancel", help="end an install that is under way")
    cancel.add_argument("name", metavar="NAME", type=bundle_name, help=NAME_HELP)
    cancel.set_defaults(handler=cancel_install)


def _add_looking(actions: Any) -> None:
    """What looks at venvs that are there, or takes them away."""
    for name, text, handler in (
        ("verify", "read every file of a venv and compare it with what was installed", verify),
        ("remove", "delete the venv of a bundle; refused while a run uses it", remove),
    ):
        parser = actions.add_parser(name, help=text)
        parser.add_argument("name", metavar="NAME", type=bundle_name, help=NAME_HELP)
        _add_json(parser)
        parser.set_defaults(handler=handler)
    where = actions.add_parser(
        "where",
        help="print where the venv of a bundle is, and nothing else",
        description=(
            "Prints the folder of the venv and nothing else, for scripts: its interpreter is "
            '`"$(mosaic bundles where NAME)/bin/python"`.'
        ),
    )
    where.add_argument("name", metavar="NAME", type=bundle_name, help=NAME_HELP)
    where.set_defaults(handler=say_where)
    prune = actions.add_parser(
        "prune",
        help="delete venvs that nothing would be started in any more",
        description=(
            "Lists the venvs that no run uses and whose lock is no longer the current one, with "
            "what deleting them frees, asks, and deletes them. Without a terminal --yes is "
            "required."
        ),
    )
    prune.add_argument("--yes", action="store_true", help="do not ask")
    prune.add_argument("--dry-run", action="store_true", help="only list what would go")
    _add_json(prune)
    prune.set_defaults(handler=prune_bundles)


def _add_request(parser: argparse.ArgumentParser, has_source: bool = True) -> None:
    parser.add_argument("name", metavar="NAME", type=bundle_name, help=NAME_HELP)
    parser.add_argument(
        "--accelerator",
        choices=[accelerator.value for accelerator in Accelerator],
        help="which builds of torch and JAX; default: what this machine has",
    )
    if has_source:
        parser.add_argument(
            "--from",
            dest="source",
            metavar="FOLDER",
            help="a folder that `mosaic bundles pack` wrote; nothing is fetched",
        )
    parser.add_argument("--yes", action="store_true", help="do not ask on a terminal")
    _add_json(parser)


def _add_json(parser: argparse.ArgumentParser) -> None:
    # Left out where it is not given: `mosaic bundles --json list` has it before the word.
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="machine-readable output",
    )


def bundle_name(text: str) -> str:
    if not split_name(text):
        raise argparse.ArgumentTypeError(
            f"{text[:80]!r} cannot be the name of a bundle; `mosaic bundles` lists them, and "
            "several are joined with +"
        )
    return text


# Looking


def list_bundles(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        infos = client.bundles()
        problems = client.bundle_problems()
    if arguments.json:
        say_json([info.to_dict() for info in infos])
    elif infos:
        say_bundles(infos)
    else:
        say(f"no bundles; packages bring them under the entry point group {BUNDLES_GROUP}")
    for problem in problems:  # a list from which one is missing must not look complete
        say_to_stderr(f"{paint('problem:', 'red', sys.stderr)} {printable(problem)}")
    return 0


def say_bundles(infos: list[VenvInfo]) -> None:
    from mosaic.front.bundle_words import (
        build_words,
        disk_words,
        fetch_words,
        state_words,
        total_words,
    )

    builds = {build_words(info) for info in infos if info.python}
    # A column of its own only where it tells them apart.
    is_mixed = len(builds) > 1
    header = ("BUNDLE", "WHAT IT IS", "STATE", "FETCH", "DISK", *(["BUILD"] if is_mixed else []))
    rows = [
        (
            *(info.name, info.title, state_words(info), fetch_words(info), disk_words(info)),
            *([build_words(info) if info.python else ""] if is_mixed else []),
        )
        for info in infos
    ]
    say_table(header, rows, [_COLOURS.get(info.state, "") for info in infos], flexible=1)
    for info in infos:
        if info.state is VenvState.BROKEN:
            say(f"{paint(printable(info.name), 'red')}: {printable(info.problem)}")
            say(f"  fix: mosaic bundles install {info.name}")
    for note in dict.fromkeys(info.note for info in infos if info.note):
        first, *others = [info.name for info in infos if info.note == note]
        more = f" and {len(others)} more" if others else ""
        say(paint(printable(f"{first}{more}: {note}"), "dim"))
    if nowhere := [info for info in infos if info.state is VenvState.UNAVAILABLE]:
        what = f"{amount(len(nowhere), 'bundle')} unavailable on this machine"
        say(paint(f"{what}: `mosaic bundles install NAME` says why", "dim"))
    suffix = f"; all for {builds.pop()}" if len(builds) == 1 else ""
    say(paint(f"{total_words(infos)}{suffix}", "dim"))


def verify(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        info = client.verify_bundle(arguments.name)
    if info.state is VenvState.BROKEN:
        raise _no_use(info)
    if arguments.json:
        say_json(info.to_dict())
    elif info.state is VenvState.PRESENT:
        say(f"{info.name} needs no venv: all of it came with MOSAIC")
    else:
        require_installed(info)
        say(f"{info.name}: every file is as it was installed ({size(info.disk_bytes)})")
    return 0


def say_where(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        info = described(client, arguments.name)
    require_installed(info)
    if info.state is VenvState.PRESENT:
        raise BundleError(
            f"{info.name} has no venv of its own: all of it came with MOSAIC",
            hint="use the Python that MOSAIC runs in",
            bundle=info.name,
        )
    say(info.path)
    return 0


def require_installed(info: VenvInfo) -> None:
    """Raises where there is no venv of it that could be used."""
    if not info.is_usable:
        raise _no_use(info)


def _no_use(info: VenvInfo) -> BundleError:
    install = f"`mosaic bundles install {info.name}`"
    if info.state is VenvState.BROKEN:
        message = f"The venv of {info.name} is broken: {info.problem}"
        return BundleError(message, hint=f"{install} makes it again", bundle=info.name)
    if info.state is VenvState.INSTALLING:
        message, hint = f"{info.name} is still being installed", f"{install} follows it"
    else:
        message, hint = f"{info.name} is not installed", install
    return BundleError(info.problem or message, hint=info.hint or hint, bundle=info.name)


# Installing


def install_bundle(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.install_view import follow_install

    began = time.monotonic()
    with open_client(arguments) as client:
        source = wheel_folder(arguments.source, is_elsewhere=is_remote(arguments))
        info = described(client, arguments.name, arguments.accelerator)
        if not info.is_usable:
            agree(arguments, info, source)
            status = follow_install(
                client.install_bundle(_request(arguments, info, source)),
                info.name,
                arguments.json,
                _canceling(client, info),
            )
            if status:
                return status
            info = described(client, arguments.name, arguments.accelerator)
            require_installed(info)
            say_installed(arguments, info, time.monotonic() - began)
        else:
            say_installed(arguments, info)
    return 0


def say_installed(
    arguments: argparse.Namespace, info: VenvInfo, took_s: float | None = None
) -> None:
    if arguments.json:
        say_json(info.to_dict())
        return
    if info.state is VenvState.PRESENT:
        say(f"{info.name}: nothing to install, all of it came with MOSAIC")
        return
    how = "is installed already" if took_s is None else f"installed in {duration(took_s)}"
    say(f"{info.name} {how}: {size(info.disk_bytes)}")
    say(paint(f"  {printable(info.path)}", "dim"))


def pack_bundle(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.install_view import follow_install

    folder = Path(arguments.to).expanduser().absolute()
    if not is_remote(arguments) and folder.exists() and not folder.is_dir():
        raise RequestError(f"--to {folder} is no folder", hint="name one, new or empty")
    with open_client(arguments) as client:
        info = described(client, arguments.name, arguments.accelerator)
        if info.state is VenvState.UNAVAILABLE:
            raise _no_use(info)
        # In the folder it takes what is fetched, not what a venv would.
        agree(arguments, replace(info, disk_bytes=0), "", what=f"Pack it into {folder}?")
        status = follow_install(
            client.pack_bundle(_request(arguments, info, ""), folder),
            info.name,
            arguments.json,
            _canceling(client, info),
        )
    if status:
        return status
    if arguments.json:
        say_json({"name": info.name, "folder": str(folder)})
    else:
        say(f"packed {info.name} into {printable(str(folder))}")
        say(paint(f"  mosaic bundles install {info.name} --from FOLDER", "dim"))
    return 0


def cancel_install(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        was_under_way = client.cancel_install(arguments.name)
    if was_under_way:
        say(f"canceled the install of {arguments.name}; nothing of it is left")
    else:
        say(f"{arguments.name} was not being installed")
    return 0


def described(client: TrainerClient, name: str, accelerator: str | None = None) -> VenvInfo:
    """What there is to say about it; raises with close matches where there is no such bundle."""
    wanted = Accelerator(accelerator) if accelerator else None
    (info,) = client.bundles([name], wanted)
    return info


def agree(
    arguments: argparse.Namespace, info: VenvInfo, source: str, what: str = "Install it?"
) -> None:
    """Says what would be installed and how much is fetched; raises where nobody wants that.

    Without a terminal the command itself is the agreement, to no more than is said here.
    """
    from mosaic.cli.shared.install_agreement import can_ask
    from mosaic.cli.shared.terminal import confirmed
    from mosaic.front.bundle_words import install_words

    if info.state is VenvState.UNAVAILABLE:
        raise _no_use(info)
    if not arguments.json:
        say_to_stderr(printable(install_words(info, source)))
    if info.state is VenvState.INSTALLING or arguments.yes or not can_ask(arguments.json):
        return
    if not confirmed(what, yes_is_usual=True):
        raise ConsentError("Nothing was installed", hint="answer y, or pass --yes")


def _request(arguments: argparse.Namespace, info: VenvInfo, source: str) -> InstallRequest:
    accelerator = Accelerator(arguments.accelerator) if arguments.accelerator else None
    return InstallRequest(info.name, accelerator, source, info.fetch_bytes)


def _canceling(client: TrainerClient, info: VenvInfo) -> Callable[[], bool] | None:
    """What somebody else has begun, a run or a window, is theirs to cancel."""
    if info.state is VenvState.INSTALLING:
        return None
    return lambda: client.cancel_install(info.name)


def wheel_folder(text: str | None, *, is_elsewhere: bool) -> str:
    """The folder of --from, empty without; that of a daemon elsewhere is looked at there."""
    if text is None:
        return ""
    folder = Path(text).expanduser()
    if is_elsewhere:
        return str(folder)
    hint = "name the folder that `mosaic bundles pack NAME --to FOLDER` wrote"
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.is_file() else "does not exist"
        raise RequestError(f"--from {text} {what}", hint=hint)
    if not any(folder.glob("*.whl")):
        raise RequestError(f"--from {text} holds no wheel (*.whl)", hint=hint)
    return str(folder.absolute())


# Removing


def remove(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        removed = client.remove_bundle(arguments.name)
    if arguments.json:
        say_json([info.to_dict() for info in removed])
    elif not removed:
        say(f"{arguments.name} is not installed")
    else:
        say(f"removed {arguments.name}, {_freed(removed)}")
    return 0


def prune_bundles(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.terminal import confirmed

    with open_client(arguments) as client:
        chosen = client.prune_bundles(dry_run=True)
        if not arguments.json:
            say_prunable(chosen)
        if chosen and not arguments.dry_run:
            if not arguments.yes:
                if not sys.stdin.isatty():
                    raise ConsentError("Deleting venvs needs a confirmation", hint="pass --yes")
                if not confirmed(f"Delete {amount(len(chosen), 'venv')}?"):
                    raise ConsentError("Nothing was deleted", hint="answer y, or pass --yes")
            chosen = client.prune_bundles()
            if not arguments.json:
                say(f"deleted {amount(len(chosen), 'venv')}, {_freed(chosen)}")
    if arguments.json:
        removed = [info.to_dict() for info in chosen]
        say_json({"venvs": removed, "freed_bytes": freed(chosen), "dry_run": arguments.dry_run})
    return 0


def say_prunable(chosen: list[VenvInfo]) -> None:
    from mosaic.front.bundle_words import build_words

    if not chosen:
        say("nothing to delete: every venv is current")
        return
    say_table(
        ("BUNDLE", "FOR", "SIZE", "LAST USED", "WHY"),
        [
            (
                *(info.name, build_words(info), size(info.disk_bytes)),
                "never" if info.used_at is None else age(info.used_at),
                info.problem,
            )
            for info in chosen
        ],
        flexible=4,
    )
    say(paint(f"{amount(len(chosen), 'venv')}, {_freed(chosen)}", "dim"))


def freed(infos: list[VenvInfo]) -> int:
    """Files that other venvs hold as well stay."""
    return sum(max(0, info.disk_bytes - info.shared_bytes) for info in infos)


def _freed(infos: list[VenvInfo]) -> str:
    return f"{size(freed(infos))} freed"
