"""Tables as CSV: one header line, floats in full precision, `nan` and `inf` spelled out.

Text is written so that no spreadsheet takes it for a formula.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Sequence
from pathlib import Path

from mosaic.export.spreadsheet_text import spreadsheet_text
from mosaic.export.tables import Column, Columns, Kind


class CsvTable:
    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        # A lone surrogate cannot be written as UTF-8; everything else can.
        self._file = path.open("x", encoding="utf-8", errors="replace", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._is_text = [column.kind is Kind.TEXT for column in columns]
        self._writer.writerow([spreadsheet_text(column.name) for column in columns])

    def add(self, columns: Columns) -> None:
        cells = [
            map(spreadsheet_text, values) if is_text else values
            for values, is_text in zip(columns, self._is_text, strict=True)
        ]
        self._writer.writerows(zip(*cells, strict=True))

    def close(self) -> None:
        self._file.close()

    def abandon(self) -> None:
        with contextlib.suppress(OSError):  # what is still buffered may not fit either
            self._file.close()


class CsvFormat:
    suffix = ".csv"

    def create(self, path: Path, columns: Sequence[Column]) -> CsvTable:
        return CsvTable(path, columns)
