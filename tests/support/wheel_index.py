"""A package index of this machine, for wheels made by a test; it can hold a download up."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from tests.support.tiny_wheels import TinyWheel
from tests.waiting import PATIENCE_S

_BLOCK = 65_536


class WheelIndex:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Cleared: of each wheel only the first half is sent until it is set.
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.has_sent_half = threading.Event()
        self.asked: list[str] = []
        self.says_missing = 404
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/simple"

    def __enter__(self) -> WheelIndex:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.goes_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def links_of(self, project: str) -> Iterator[str]:
        for wheel in sorted(self.folder.glob("*.whl")):
            if wheel.name.partition("-")[0].replace("_", "-") == project:
                digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
                yield f'<a href="/wheels/{quote(wheel.name)}#sha256={digest}">{wheel.name}</a>'


def write_index(folder: Path, wheels: Iterable[TinyWheel]) -> str:
    """The address of an index of files, which needs no server."""
    for wheel in wheels:
        place = folder / wheel.name
        place.mkdir(parents=True, exist_ok=True)
        link = f'<a href="{wheel.path.as_uri()}#sha256={wheel.sha256}">{wheel.path.name}</a>\n'
        with (place / "index.html").open("a") as page:
            page.write(link)
    return folder.as_uri()


def closed_port_url() -> str:
    """Of an index that was there a moment ago."""
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        return f"http://127.0.0.1:{server.server_port}/simple"


def _handler(index: WheelIndex) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with contextlib.suppress(ConnectionError):  # whoever asked was killed
                self._answer()

        def _answer(self) -> None:
            index.asked.append(self.path)
            place, _, name = unquote(self.path).strip("/").partition("/")
            if place == "simple" and (links := "\n".join(index.links_of(name))):
                self._begin("text/html", len(links.encode()))
                self.wfile.write(links.encode())
            elif place == "wheels" and (index.folder / name).is_file():
                data = (index.folder / name).read_bytes()
                self._begin("application/octet-stream", len(data))
                half = len(data) // 2
                self.wfile.write(data[:half])
                self.wfile.flush()
                index.has_sent_half.set()
                index.goes_on.wait(PATIENCE_S)
                self.wfile.write(data[half:])
            else:
                self.send_error(index.says_missing)

        def _begin(self, kind: str, length: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """The tools say enough."""

    return Handler
