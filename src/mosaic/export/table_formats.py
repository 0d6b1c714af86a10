"""Tables as CSV and as Parquet.

CSV has one header line, floats in full precision, `nan` and `inf` spelled out, and text that no
spreadsheet takes for a formula. Parquet is written a row group at a time, so that memory does not
grow with the run.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.errors import DependencyError
from mosaic.export.tables import Column, ColumnKind, Columns

ROWS_PER_GROUP = 100_000


class ParquetFormat:
    suffix = ".parquet"

    def __init__(self) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise DependencyError(
                f"Parquet needs pyarrow, which cannot be imported: {error}",
                hint="pip install 'mosaic-rl[parquet]'; CSV needs nothing",
                module="pyarrow",
            ) from error
        self._pyarrow = pyarrow

    def create(self, path: Path, columns: Sequence[Column]) -> ParquetTable:
        return ParquetTable(self._pyarrow, path, columns)


class ParquetTable:
    def __init__(self, pyarrow: Any, path: Path, columns: Sequence[Column]) -> None:
        types = {
            ColumnKind.TEXT: pyarrow.string(),
            ColumnKind.INTEGER: pyarrow.int64(),
            ColumnKind.REAL: pyarrow.float64(),
            ColumnKind.FLAG: pyarrow.bool_(),
        }
        fields = [pyarrow.field(_whole_text(column.name), types[column.kind]) for column in columns]
        self._pyarrow = pyarrow
        self._schema = pyarrow.schema(fields)
        self._file = path.open("xb")
        try:
            self._writer = pyarrow.parquet.ParquetWriter(
                self._file, self._schema, compression="zstd"
            )
        except BaseException:
            self._file.close()
            raise
        self._waiting: list[Any] = []
        self._rows_waiting = 0

    def add(self, columns: Columns) -> None:
        arrays = [
            self._array(values, field.type)
            for values, field in zip(columns, self._schema, strict=True)
        ]
        batch = self._pyarrow.record_batch(arrays, schema=self._schema)
        self._waiting.append(batch)
        self._rows_waiting += batch.num_rows
        if self._rows_waiting >= ROWS_PER_GROUP:
            self._write_group()

    def close(self) -> None:
        try:
            if self._rows_waiting:
                self._write_group()
            self._writer.close()
        finally:
            self._file.close()

    def abandon(self) -> None:
        self._writer.is_open = False  # or its destructor would complete the file after all
        self._file.close()

    def _array(self, values: Sequence[Any], kind: Any) -> Any:
        # NaN stays NaN: only what is missing is null.
        try:
            return self._pyarrow.array(values, kind, from_pandas=False)
        except UnicodeEncodeError:
            return self._pyarrow.array(map(_whole_text, values), kind, from_pandas=False)

    def _write_group(self) -> None:
        table = self._pyarrow.Table.from_batches(self._waiting, self._schema)
        self._waiting, self._rows_waiting = [], 0
        self._writer.write_table(table, row_group_size=2 * ROWS_PER_GROUP)


def _whole_text(text: str) -> str:
    """A lone surrogate cannot be written as UTF-8; everything else can."""
    return text.encode("utf-8", "replace").decode()


# The full-width ones count as the others where people type them.
_FORMULA = re.compile(r"['\s]*[=+\-@＝＋－＠]|'*[\t\r\n]")
_PLAIN_NUMBER = re.compile(r"[+-]?(\d[\d,]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def spreadsheet_text(text: str) -> str:
    """Numbers stay as they are, negative ones too."""
    if _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text):
        return f"'{text}"
    return text


class CsvTable:
    def __init__(self, path: Path, columns: Sequence[Column]) -> None:
        # A lone surrogate cannot be written as UTF-8; everything else can.
        self._file = path.open("x", encoding="utf-8", errors="replace", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._is_text = [column.kind is ColumnKind.TEXT for column in columns]
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
