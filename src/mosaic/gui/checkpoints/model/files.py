"""Files of checkpoints, also those imported from elsewhere. Blocking: for threads that may wait."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import stat
import tempfile
import time
import zipfile
from pathlib import Path

from mosaic.contracts.manifest import AnalyticsManifest, CheckpointEntry, read_manifest
from mosaic.errors import CorruptStoreError, RequestError
from mosaic.files import atomic_write_json, read_json
from mosaic.foreign.files import open_regular
from mosaic.front.human import size
from mosaic.gui.checkpoints.model.cards import Card, FileFacts, HashStatus
from mosaic.paths import Home

# Checked without being asked: that takes only a moment.
SMALL_BYTES = 32 * 2**20
_CHUNK = 1 << 20


def file_facts(card: Card) -> FileFacts:
    try:
        found = card.path.stat()
    except OSError:
        # Where not even the folder of the run is here, the run is another machine's.
        is_here = card.folder is None or card.folder.is_dir()
        return FileFacts(HashStatus.MISSING if is_here else HashStatus.ELSEWHERE)
    if stat.S_ISDIR(found.st_mode):
        return FileFacts(HashStatus.NO_HASH, None, found.st_mtime)
    status = HashStatus.UNCHECKED if card.sha256 else HashStatus.NO_HASH
    return FileFacts(status, found.st_size, found.st_mtime)


def is_checked_automatically(card: Card, facts: FileFacts) -> bool:
    """A run that continues may save the next one at this very moment."""
    is_over = card.run is None or card.run.is_over
    is_small = facts.size_bytes is not None and facts.size_bytes <= SMALL_BYTES
    return facts.status is HashStatus.UNCHECKED and is_small and is_over


def check_hash(path: Path, sha256: str) -> HashStatus:
    """Reads the whole file."""
    try:
        found = sha256_of(path)
    except FileNotFoundError:
        return HashStatus.MISSING
    except OSError:
        return HashStatus.DAMAGED
    return HashStatus.VERIFIED if found == sha256 else HashStatus.DAMAGED


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with os.fdopen(open_regular(path), "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


# Nothing in an imported file is run: a pickle could do anything. Whether it is a checkpoint is
# decided by its outer form; loading it is left to a worker's process.
_NOTE = "checkpoint.json"
# The folder of a run is found this far above its checkpoints.
_MOST_PARENTS = 4
_MOST_COMPANION_BYTES = 2_000_000_000
_LONGEST_HEADER = 100_000_000


def imports_folder(home: Home) -> Path:
    return home.root / "gui" / "checkpoints"


def problem_with(path: Path) -> str:
    """Why this is not a checkpoint; empty when it looks like one."""
    try:
        with path.open("rb") as file:
            start = file.read(9)
        length = path.stat().st_size
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror}"
    if start.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError):
            return f"{path.name} is damaged: only its beginning is that of a PyTorch file"
        if any(name.endswith("data.pkl") for name in names):
            return ""
        return f"{path.name} is an archive, but not one that PyTorch wrote"
    header = int.from_bytes(start[:8], "little")
    if start[8:9] == b"{" and 0 < header <= min(length - 8, _LONGEST_HEADER):
        return "" if _has_json_header(path, header) else f"{path.name} has a damaged header"
    return f"{path.name} is no checkpoint: neither a PyTorch file nor safetensors"


def import_checkpoint(source: Path, home: Home) -> Card:
    """Raises RequestError with a sentence for whatever is not a checkpoint or cannot be copied."""
    if problem := problem_with(source):
        raise RequestError(problem, hint="choose the file that a training has saved")
    try:
        digest = sha256_of(source)
        place = imports_folder(home) / f"{source.stem}-{digest[:8]}"
        if (place / _NOTE).exists():
            raise RequestError(f"{source.name} is imported already")
        return _copied(source, place, digest)
    except OSError as error:
        raise RequestError(f"{source.name} cannot be imported: {error.strerror}") from error


def imported_cards(home: Home) -> list[Card]:
    """The newest first; what is damaged in the folder is left out."""
    try:
        places = [place for place in imports_folder(home).iterdir() if (place / _NOTE).is_file()]
    except OSError:
        return []
    notes = [(place, _note(place)) for place in places]
    found = [(place, note) for place, note in notes if note]
    found.sort(key=lambda item: _number(item[1].get("imported_at")), reverse=True)
    return [card for place, note in found if (card := _card(place, note)) is not None]


def _copied(source: Path, place: Path, digest: str) -> Card:
    manifest, entry = _known_of(source, digest)
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Under another name until all of it is there.
    with tempfile.TemporaryDirectory(prefix=".import-", dir=place.parent) as unfinished:
        inner = Path(unfinished) / "checkpoint"
        # Workers read names of folders: the one it lay in is kept.
        target = inner / (source.absolute().parent.name or "files")
        target.mkdir(parents=True)
        shutil.copy2(source, target / source.name)
        for companion in _companions(source):
            copy = target / companion.name
            if companion.is_dir():
                shutil.copytree(companion, copy, symlinks=True)
            else:
                shutil.copy2(companion, copy)
        metadata = manifest.metadata if manifest else {}
        note = {
            "name": source.stem,
            "file": f"{target.name}/{source.name}",
            "source": str(source.absolute()),
            "sha256": digest,
            "imported_at": time.time(),
            "worker": manifest.worker_type if manifest else "",
            "env_id": str(metadata.get("env_id") or ""),
            "algo": str(metadata.get("algo") or ""),
            "step": entry.step if entry else None,
            "metric": _finite(entry.metric) if entry else None,
        }
        atomic_write_json(inner / _NOTE, note)
        inner.rename(place)
    card = _card(place, note)
    assert card is not None
    return card


def _companions(source: Path) -> list[Path]:
    """What belongs to it by its name: `ppo.state` beside `ppo.model`."""
    beside = [
        path
        for path in source.absolute().parent.iterdir()
        if path.name.startswith(f"{source.stem}.") and path.name != source.name
    ]
    total = sum(
        item.stat().st_size
        for path in beside
        for item in ([path] if path.is_file() else path.rglob("*"))
        if item.is_file() and not item.is_symlink()
    )
    if total > _MOST_COMPANION_BYTES:
        raise RequestError(
            f"{source.name} has {size(total)} of files beside it, which is too much to copy",
            hint="evaluate it where it is: `mosaic eval` takes a path",
        )
    return beside


def _known_of(source: Path, digest: str) -> tuple[AnalyticsManifest | None, CheckpointEntry | None]:
    """What the run that saved it says, where it lies in the folder of one."""
    for parent in list(source.absolute().parents)[:_MOST_PARENTS]:
        try:
            manifest = read_manifest(parent / "analytics.json")
        except CorruptStoreError:
            continue
        if manifest is not None:
            entries = manifest.checkpoints
            return manifest, next((item for item in entries if item.sha256 == digest), None)
    return None, None


def _note(place: Path) -> dict[str, object]:
    try:
        found = read_json(place / _NOTE)
    except (OSError, ValueError):
        return {}
    return dict(found) if isinstance(found, dict) else {}


def _card(place: Path, note: dict[str, object]) -> Card | None:
    file = Path(str(note.get("file", "")))
    if file.is_absolute() or ".." in file.parts or not file.name:
        return None
    step, metric = note.get("step"), note.get("metric")
    return Card(
        path=place / file,
        title=str(note.get("name") or file.stem),
        worker=str(note.get("worker") or ""),
        env_id=str(note.get("env_id") or ""),
        algo=str(note.get("algo") or ""),
        step=step if isinstance(step, int) else None,
        metric=float(metric) if isinstance(metric, int | float) else None,
        sha256=str(note.get("sha256") or ""),
        folder=place,
    )


def _has_json_header(path: Path, length: int) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(8)
            return isinstance(json.loads(file.read(length)), dict)
    except (OSError, ValueError, RecursionError):
        return False


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
