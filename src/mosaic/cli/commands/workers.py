"""`mosaic workers`: which workers there are, and adding those of other environments."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.clients import home_of, open_client
from mosaic.cli.shared.terminal import paint, printable, say, say_json, say_table
from mosaic.errors import DependencyError

if TYPE_CHECKING:
    from mosaic.contracts.worker_info import WorkerInfo


def add(commands: Any) -> None:
    workers = commands.add_parser(
        "workers",
        help="list, add or remove workers",
        description="Lists the workers and what keeps them from being ready.",
    )
    workers.add_argument("--refresh", action="store_true", help="look again, not in the cache")
    workers.add_argument("--json", action="store_true", help="machine-readable output")
    workers.set_defaults(handler=list_workers)
    actions = workers.add_subparsers(metavar="add | remove")
    adding = actions.add_parser(
        "add",
        help="add the worker of a folder with a worker.toml",
        description="Adds the worker that the folder's `worker.toml` describes.",
    )
    adding.add_argument("folder", metavar="FOLDER", type=Path, help="the one with the worker.toml")
    adding.set_defaults(handler=add_worker)
    removing = actions.add_parser("remove", help="forget a worker that was added")
    removing.add_argument("name", metavar="NAME", help="as `mosaic workers` lists it")
    removing.set_defaults(handler=remove_worker)


def list_workers(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        workers = client.workers(refresh=arguments.refresh)
    if arguments.json:
        say_json([worker.to_dict() for worker in workers])
        return 0
    if not workers:
        say("no workers; add one with `mosaic workers add FOLDER`, or install a package with one")
        return 0
    rows = [
        (worker.name, _status(worker), _description(worker), worker.source) for worker in workers
    ]
    colours = ["" if worker.is_ready else "red" for worker in workers]
    say_table(("WORKER", "STATUS", "WHAT IT DOES", "FOUND"), rows, colours, flexible=2)
    for worker in workers:
        say_problems(worker)
    return 0


def add_worker(arguments: argparse.Namespace) -> int:
    from mosaic.front.worker_manifests import add_manifest

    name = add_manifest(home_of(arguments), arguments.folder.expanduser().absolute()).name
    with open_client(arguments) as client:
        found = [worker for worker in client.workers(refresh=True) if worker.name == name]
    if not found:
        raise DependencyError(
            f"The worker {name} was added, but the daemon does not see it",
            hint="is the daemon one of another home? see `mosaic daemon status`",
        )
    say(f"added {name}: {_status(found[0])}")
    say_problems(found[0])
    return 0 if found[0].is_ready else DependencyError.exit_status


def remove_worker(arguments: argparse.Namespace) -> int:
    from mosaic.front.worker_manifests import remove_manifest

    remove_manifest(home_of(arguments), arguments.name)
    with open_client(arguments) as client:
        client.workers(refresh=True)
    say(f"removed {arguments.name}")
    return 0


def say_problems(worker: WorkerInfo) -> None:
    if worker.error:
        say(f"{paint(printable(worker.name), 'red')}: {printable(worker.error)}")
    for result in worker.readiness:
        if not result.ok:
            sentence = printable(f"{result.check}: {result.message}")
            say(f"{paint(printable(worker.name), 'yellow')}: {sentence}")
            if result.fix:
                say(f"  fix: {printable(result.fix)}")


def _status(worker: WorkerInfo) -> str:
    if worker.error:
        return "broken"
    return "ready" if worker.is_ready else "not ready"


def _description(worker: WorkerInfo) -> str:
    return worker.capabilities.metadata.description if worker.capabilities else ""
