"""Uploads an offline run with W&B's own program, in a process that cannot hang on or leak a key."""

from __future__ import annotations

import contextlib
import importlib.util
import netrc
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from mosaic.contracts.secret_text import secret_spellings
from mosaic.errors import DependencyError, ProgramError, RequestError
from mosaic.logs import MASK

DEFAULT_SERVER = "https://api.wandb.ai"
CONNECT_TIMEOUT_S = 10.0
SYNC_TIMEOUT_S = 900.0
_LINES_KEPT = 20
_LINK = re.compile(r"https?://\S+/runs/[^\s/]+")
_PROXIES = ("https_proxy", "http_proxy", "all_proxy")


class SyncedRun(NamedTuple):
    url: str  # empty where W&B did not say
    output: str


def sync_offline_run(
    folder: Path,
    environ: Mapping[str, str] = os.environ,
    *,
    command: Sequence[str] | None = None,
    timeout_s: float = SYNC_TIMEOUT_S,
) -> SyncedRun:
    """Raises an error that says what is missing: the package, a key, the network, or time."""
    if command is None:
        require_wandb()
        command = (sys.executable, "-m", "wandb", "sync")
    server = environ.get("WANDB_BASE_URL") or DEFAULT_SERVER
    require_key(server, environ)
    require_network(server, environ)
    status, output = _run([*command, str(folder)], environ, timeout_s)
    output = without_secrets(output, environ)
    last = output.strip().splitlines()[-_LINES_KEPT:]
    if status is None:
        raise ProgramError(
            f"wandb sync did not end within {timeout_s:.0f} s and was stopped",
            hint="the offline run is unharmed; try again, or run `wandb sync` yourself",
            stderr_tail=last,
        )
    if status != 0:
        raise ProgramError(
            f"wandb sync failed with status {status}", exit_code=status, stderr_tail=last
        )
    link = _LINK.search(output)
    return SyncedRun(link[0] if link else "", output)


def _run(argv: list[str], environ: Mapping[str, str], timeout_s: float) -> tuple[int | None, str]:
    """Status and output; the status is None when it had to be ended. Its helpers end with it."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**environ, "WANDB_ERROR_REPORTING": "false"},
        start_new_session=True,
    )
    status: int | None = None
    try:
        output, _ = process.communicate(timeout=timeout_s)
        status = process.returncode
    except subprocess.TimeoutExpired:
        _kill_group(process.pid)
        output, _ = process.communicate()
    finally:
        _kill_group(process.pid)
        process.wait()
    return status, output.decode(errors="replace")


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def require_wandb() -> None:
    spec = importlib.util.find_spec("wandb")
    # A folder `wandb` that a run left in the working directory is not a package.
    if spec is None or spec.origin is None:
        raise DependencyError(
            "To sync, the package wandb is needed, which is not installed",
            hint='pip install "mosaic-rl[wandb]"; reading the run needs nothing',
        )


def require_key(server: str, environ: Mapping[str, str]) -> None:
    if environ.get("WANDB_API_KEY"):
        return
    host = urlsplit(server).hostname or ""
    chosen = environ.get("NETRC")
    home = Path(environ.get("HOME") or "~").expanduser()
    for path in [Path(chosen)] if chosen else [home / ".netrc", home / "_netrc"]:
        with contextlib.suppress(OSError, netrc.NetrcParseError):
            if host in netrc.netrc(path).hosts:
                return
    raise RequestError(
        f"There is no W&B key for {host}",
        hint="`wandb login` stores one, or set WANDB_API_KEY for this command",
    )


def require_network(server: str, environ: Mapping[str, str]) -> None:
    """W&B itself would try for a long time. Behind a proxy only W&B can tell."""
    if any(environ.get(name) or environ.get(name.upper()) for name in _PROXIES):
        return
    address = urlsplit(server)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise RequestError(
            f"{server} cannot be reached: {error.strerror or error}",
            hint="the run is complete on this disk; sync it when there is a network",
        ) from error


def without_secrets(text: str, environ: Mapping[str, str]) -> str:
    spellings = secret_spellings(environ.get("WANDB_API_KEY", ""))
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, MASK)
    return text
