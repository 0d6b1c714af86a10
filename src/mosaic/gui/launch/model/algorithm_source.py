"""Algorithms from elsewhere, such as scripts in a folder: where a form says they are. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.gui.forms.model.form_state import FormState

SOURCE, PATH, PYTHON = "source", "upstream_path", "env_python"
SOURCE_FIELDS = (SOURCE, PATH, PYTHON)


class AlgorithmSource(NamedTuple):
    """As `mosaic.front.catalogue.source_algorithms` takes it."""

    name: str
    path: str | None
    python: str | None

    @property
    def is_told(self) -> bool:
        """Otherwise it could only be looked for where the window runs, and is not there."""
        return bool(self.path or self.python)


class SourcedAlgorithms:
    """What was read of the place that a form names. Reading it takes time: somebody else does."""

    def __init__(self, form: FormState) -> None:
        self._form = form
        self._read: AlgorithmSource | None = None
        self._found: list[AlgorithmInfo] = []
        self._problem = ""

    @property
    def source(self) -> AlgorithmSource | None:
        """None where the algorithms are the worker's own."""
        form = self._form
        if SOURCE not in form or not form.is_changed(SOURCE):
            return None
        return AlgorithmSource(
            str(form.value(SOURCE)), _absolute(form, PATH), _absolute(form, PYTHON)
        )

    @property
    def unread(self) -> AlgorithmSource | None:
        source = self.source
        is_wanted = source is not None and source.is_told and source != self._read
        return source if is_wanted else None

    @property
    def algorithms(self) -> list[AlgorithmInfo]:
        """Empty where nothing is known of the place, and where there is none."""
        source = self.source
        return self._found if source is not None and source == self._read else []

    @property
    def problem(self) -> str:
        """Why nothing can be started; empty where there is nothing to say."""
        source = self.source
        if source is None:
            return ""
        if not source.is_told:
            return "Choose the folder that the scripts are in"
        return self._problem if source == self._read else "Reading the scripts …"

    def show(self, source: AlgorithmSource, found: list[AlgorithmInfo], problem: str) -> None:
        if not problem and not found:
            problem = f"There is no script to train with in {source.path or source.python}"
        self._read, self._found, self._problem = source, found, problem


def _absolute(form: FormState, name: str) -> str | None:
    text = str(form.value(name) or "").strip() if name in form else ""
    return str(Path(text).expanduser().absolute()) if text else None
