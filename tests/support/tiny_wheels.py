"""Wheels of a few bytes, made in a moment, and the locks that name them."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class TinyWheel:
    path: Path
    name: str
    version: str
    sha256: str
    size: int


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    code: str = "",
    ballast: int = 0,
    command: str = "",
    files: int = 0,
) -> TinyWheel:
    """A pure Python wheel with one package of its name.

    `ballast`: bytes that do not pack, so that there is something to fetch. `command`: the name of
    a console script that prints where it runs. `files`: so many further small modules.
    """
    folder.mkdir(parents=True, exist_ok=True)
    dist = f"{name}-{version}.dist-info"
    contents: dict[str, bytes] = {
        f"{name}/__init__.py": f"VERSION = {version!r}\n{code}\n".encode(),
        f"{name}/shown.py": b"import sys\n\n\ndef main():\n    print(sys.prefix)\n",
        f"{dist}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{dist}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    for number in range(files):
        contents[f"{name}/part_{number}.py"] = f"NUMBER = {number}\n".encode() * 20
    if ballast:
        contents[f"{name}/ballast.bin"] = os.urandom(ballast)
    if command:
        text = f"[console_scripts]\n{command} = {name}.shown:main\n"
        contents[f"{dist}/entry_points.txt"] = text.encode()
    contents[f"{dist}/RECORD"] = _record(contents, dist)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for inner, data in contents.items():
            archive.writestr(inner, data)
    data = path.read_bytes()
    return TinyWheel(path, name, version, hashlib.sha256(data).hexdigest(), len(data))


def requirement_lines(
    wheels: Iterable[TinyWheel],
    hashes: Mapping[str, str] | None = None,
    versions: Mapping[str, str] | None = None,
) -> str:
    """What a lock says of them; `hashes` and `versions` by name, where it says something else."""
    lines = []
    for wheel in wheels:
        digest = (hashes or {}).get(wheel.name, wheel.sha256)
        version = (versions or {}).get(wheel.name, wheel.version)
        lines += [
            f"# size: {wheel.size}",
            f"{wheel.name}=={version} \\",
            f"    --hash=sha256:{digest}",
        ]
    return "\n".join(lines) + "\n"


def lock_text(
    wheels: Iterable[TinyWheel],
    bundle: str = "learner",
    python: str = PYTHON,
    hashes: Mapping[str, str] | None = None,
    versions: Mapping[str, str] | None = None,
    accelerator: str = "cpu",
) -> str:
    body = requirement_lines(wheels, hashes, versions)
    digest = hashlib.sha256(body.encode()).hexdigest()
    return (
        f"# bundle: {bundle}\n# python: {python}\n# accelerator: {accelerator}\n"
        f"# content: {digest}\n{body}"
    )


def _record(contents: Mapping[str, bytes], dist: str) -> bytes:
    lines = []
    for inner, data in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{inner},sha256={digest},{len(data)}")
    lines.append(f"{dist}/RECORD,,")
    return ("\n".join(lines) + "\n").encode()
