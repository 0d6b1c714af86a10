"""What was trained last, so that it can be trained again without the form."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.contracts.variable_secrecy import SecrecyRules, secret_values
from mosaic.errors import StoreError
from mosaic.files import atomic_write_json, read_json
from mosaic.paths import Home

Document = dict[str, Any]


class LastTraining(NamedTuple):
    documents: tuple[Document, ...]
    # Names of variables that were left out of the file, because their values may be secret.
    left_out: tuple[str, ...] = ()


class LaunchMemory:
    """Values stay in this process; the file is read when the process knows nothing."""

    def __init__(self, home: Home) -> None:
        self.path: Path = home.root / "gui" / "last_training.json"
        self._last: LastTraining | None = None

    def remember(self, documents: Sequence[Document]) -> None:
        """Blocking only with `save`: this one can be called anywhere."""
        self._last = LastTraining(tuple(copy.deepcopy(list(documents))))

    def save(self) -> None:
        if self._last is None:
            return
        kept, left_out = without_secrets(self._last.documents)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic_write_json(self.path, {"documents": kept, "left_out": left_out})
        except OSError as error:
            raise StoreError(
                f"What was trained last could not be kept: {error.strerror}",
                hint=f"look at {self.path}",
            ) from error

    def recall(self) -> LastTraining | None:
        """None when nothing was trained yet."""
        if self._last is None:
            self._last = self._read()
        return self._last

    def _read(self) -> LastTraining | None:
        try:
            found = read_json(self.path)
            if found is None:
                return None
            documents = found["documents"]
            if not documents or not all(isinstance(item, dict) for item in documents):
                raise ValueError("it holds no trainings")
            kept, left_out = without_secrets(documents)
            names = sorted({*map(str, found.get("left_out", ())), *left_out})
            if left_out:  # written by a version that kept more
                atomic_write_json(self.path, {"documents": kept, "left_out": names})
            return LastTraining(tuple(kept), tuple(names))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(
                "What was trained last cannot be read",
                hint=f"start it from the form, or look at {self.path}",
            ) from error


def without_secrets(documents: Sequence[Document]) -> tuple[list[Document], list[str]]:
    """The documents, and the names of the variables that they lost."""
    kept: list[Document] = []
    left_out: set[str] = set()
    for document in documents:
        variables = document.get("environment") or {}
        secret = secret_values(variables, SecrecyRules.here().for_config(document)).keys()
        left_out |= secret
        rest = {name: value for name, value in variables.items() if name not in secret}
        kept.append({**document, "environment": rest})
    return kept, sorted(left_out)
