"""Archives with right hashes and whatever content, for tests of who reads them."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import zipfile
from typing import Any

from mosaic.contracts.run_record import Transition
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.keeping.archive.bundle import COMMENT, ENTRY_NAME, INDEX_NAME
from mosaic.daemon.registry.documents import RunEntry
from mosaic.daemon.registry.rows import columns_of, row_of
from tests.registry_samples import new_run


def entry_of(run_id: str | None = None, **changes: Any) -> RunEntry:
    new = new_run(run_id=run_id)
    row = row_of(new.record, None, "digest")
    over = {"state": RunState.TERM, "outcome": Outcome.SUCCEEDED, "finished_at": 9.0, "attempt": 1}
    row.update(columns_of(over))
    row.update(changes)
    return RunEntry(row, (Transition(RunState.TERM, 9.0, "over", 1),), {"worker_type": "s"})


def forged(members: list[tuple[str | zipfile.ZipInfo, bytes]], **index: Any) -> bytes:
    """An archive with right hashes and whatever content: what somebody with bad intent can make."""
    entry = index.pop("entry", None) or entry_of("01M7GMPJSZ0BRD37XN2WQBJ4W5")
    document = json.dumps(entry.to_dict()).encode()
    listed = [(ENTRY_NAME, document), *members]
    files = [
        {
            "name": name if isinstance(name, str) else name.orig_filename,
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        for name, data in listed
    ]
    data = {"version": 1, "run_id": entry.run_id, "files": files, **index}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [*listed, (INDEX_NAME, json.dumps(data).encode())]:
            archive.writestr(regular(name), content)
        archive.comment = COMMENT + b"0" * 64
    return sealed(buffer.getvalue())


def regular(name: str | zipfile.ZipInfo) -> zipfile.ZipInfo:
    if isinstance(name, zipfile.ZipInfo):
        return name
    info = zipfile.ZipInfo(name)
    info.filename = name  # ZipInfo would cut it at a NUL
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


def sealed(data: bytes) -> bytes:
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()
