"""Tables as Parquet, written a row group at a time, so that memory does not grow with the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.errors import DependencyError
from mosaic.export.tables import Column, Columns, Kind

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
            Kind.TEXT: pyarrow.string(),
            Kind.INTEGER: pyarrow.int64(),
            Kind.REAL: pyarrow.float64(),
            Kind.FLAG: pyarrow.bool_(),
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
