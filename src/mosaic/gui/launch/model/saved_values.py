"""What is kept of forms between sessions: named presets, and what was trained last."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.contracts.secrets import SecrecyRules, secret_values
from mosaic.errors import StoreError
from mosaic.files import atomic_write_json, read_json
from mosaic.gui.state.targets import Operation
from mosaic.paths import Home

_LONGEST_NAME = 80
VARIABLES = "variables"  # the field of a form with lines NAME=value
Presets = dict[str, dict[str, Any]]


class PresetFile:
    """Blocking: used in a thread. A file that cannot be understood is left as it is."""

    def __init__(self, home: Home, operation: Operation) -> None:
        self.path: Path = home.root / "gui" / "presets" / f"{operation.value}.json"

    def read(self) -> Presets:
        try:
            found = read_json(self.path)
        except (OSError, ValueError) as error:
            raise self._damaged(str(error)) from error
        if found is None:
            return {}
        if not isinstance(found, dict) or not all(
            isinstance(values, dict) for values in found.values()
        ):
            raise self._damaged("it is no list of presets")
        kept = {name: _without_values(values) for name, values in found.items()}
        return found if kept == found else self._write(kept)  # of a version that kept them

    def save(self, name: str, values: Mapping[str, Any]) -> Presets:
        return self._write({**self.read(), name: dict(values)})

    def delete(self, name: str) -> Presets:
        return self._write({key: value for key, value in self.read().items() if key != name})

    def _write(self, presets: Presets) -> Presets:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic_write_json(self.path, presets)
        except OSError as error:
            raise StoreError(
                f"The presets could not be saved: {error.strerror}", hint=f"look at {self.path}"
            ) from error
        return presets

    def _damaged(self, why: str) -> StoreError:
        return StoreError(
            f"The presets in {self.path} cannot be read: {why[:120]}",
            hint="mend the file or move it away; until then it is left as it is",
        )


def storable_lines(lines: Sequence[str]) -> list[str]:
    """Of the form NAME=value; without the value unless it is harmless, and the form asks for it."""
    rules = SecrecyRules.here()
    parts = [line.partition("=") for line in lines]
    return [
        f"{name}{equals}{value}" if rules.is_plain(name, value) else name
        for name, equals, value in parts
    ]


def _without_values(preset: dict[str, Any]) -> dict[str, Any]:
    lines = preset.get(VARIABLES)
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return preset
    return {**preset, VARIABLES: storable_lines(lines)}


def name_problem(name: str) -> str:
    """Why a preset cannot be called so; empty when it can."""
    if not name.strip():
        return "Give it a name"
    if len(name) > _LONGEST_NAME:
        return f"At most {_LONGEST_NAME} characters"
    return "" if name.isprintable() else "Control characters cannot be used here"


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
