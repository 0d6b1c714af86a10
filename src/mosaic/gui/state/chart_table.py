"""The shown curves as a table."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable

from mosaic.export.spreadsheet_text import spreadsheet_text
from mosaic.gui.state.curve import Curve

_COLUMNS = ("curve", "x", "value", "low", "high", "before_smoothing")
MARKER = "evaluation"


def csv_text(curves: Iterable[Curve], x_title: str) -> str:
    """One row per point; evaluations follow the curve they belong to."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([spreadsheet_text(x_title) if column == "x" else column for column in _COLUMNS])
    for curve in curves:
        label = spreadsheet_text(curve.label)
        columns = (curve.xs, curve.ys, curve.lows, curve.highs, curve.faint)
        for row in range(len(curve.xs)):
            values = ("" if part is None else _cell(float(part[row])) for part in columns)
            table.writerow([label, *values])
        for x, y in zip(curve.marker_xs.tolist(), curve.marker_ys.tolist(), strict=True):
            table.writerow([f"{label} ({MARKER})", _cell(x), _cell(y), "", "", ""])
    return text.getvalue()


def file_stem(metric: str) -> str:
    """A name for files that every system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", metric).strip("-.") or "chart"


def _cell(value: float) -> str:
    if not math.isfinite(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
