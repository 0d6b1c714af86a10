"""Algorithms from elsewhere, such as scripts in a folder: where a form says they are. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mosaic.gui.forms.model.form_state import FormState

SOURCE, PATH, PYTHON = "source", "upstream_path", "env_python"
SOURCE_FIELDS = (SOURCE, PATH, PYTHON)


class AlgorithmSource(NamedTuple):
    """As `mosaic.front.catalogue.source_algorithms` takes it."""

    name: str
    path: str | None
    python: str | None

    @property
    def problem(self) -> str:
        """Why it need not be read; empty where it can be."""
        is_told = self.path or self.python
        return "" if is_told else "Choose the folder that the scripts are in"


def source_of(form: FormState) -> AlgorithmSource | None:
    """None where the algorithms are the worker's own."""
    if SOURCE not in form or not form.is_changed(SOURCE):
        return None
    return AlgorithmSource(str(form.value(SOURCE)), _absolute(form, PATH), _absolute(form, PYTHON))


def _absolute(form: FormState, name: str) -> str | None:
    text = str(form.value(name) or "").strip() if name in form else ""
    return str(Path(text).expanduser().absolute()) if text else None
