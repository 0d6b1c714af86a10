"""`python -m mosaic.daemon`: the trainer daemon in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

# gRPC's fork handlers would stop its threads for every run host we start; we only ever exec.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from mosaic.daemon.rpc.server import DaemonOptions, serve
from mosaic.errors import HomeError, MosaicError, RequestError
from mosaic.logs import log_to_file
from mosaic.paths import Home
from mosaic.wire.server_address import TlsFiles, parse_tcp_address

DEFAULT_MIN_FREE_MB = 200


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    home = Home(arguments.home.absolute()) if arguments.home else Home.current()
    try:
        options = _options(home, arguments)
        home.create()
        _open_log(home)
        asyncio.run(serve(options))
    except MosaicError as error:
        print(f"mosaic daemon: {error}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return error.exit_status
    return 0


def _open_log(home: Home) -> None:
    try:
        log_to_file(home.daemon_log)
    except OSError as error:
        raise HomeError(
            f"The daemon's log {home.daemon_log} cannot be written: {error.strerror}",
            hint="make the home directory writable, or set MOSAIC_HOME to another one",
        ) from error


def _options(home: Home, arguments: argparse.Namespace) -> DaemonOptions:
    files = (arguments.tls_cert, arguments.tls_key, arguments.tls_client_ca)
    if any(files) and not all(files):
        raise RequestError(
            "TLS needs all of --tls-cert, --tls-key and --tls-client-ca",
            hint="clients must show a certificate signed by that CA",
        )
    tls = TlsFiles(*files) if all(files) else None
    tcp = parse_tcp_address(arguments.tcp, tls) if arguments.tcp else None
    text = os.environ.get("MOSAIC_MIN_FREE_MB", str(DEFAULT_MIN_FREE_MB))
    if not text.isdigit():
        raise RequestError(
            f"MOSAIC_MIN_FREE_MB is {text!r}", hint="give a whole number of megabytes"
        )
    return DaemonOptions(home, tcp, int(text))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mosaic.daemon", description=__doc__)
    parser.add_argument("--home", type=Path, help="default: $MOSAIC_HOME or the user's data dir")
    parser.add_argument("--tcp", metavar="HOST:PORT", help="listen here too; needs the token")
    parser.add_argument("--tls-cert", type=Path)
    parser.add_argument("--tls-key", type=Path)
    parser.add_argument("--tls-client-ca", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
