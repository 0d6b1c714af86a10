from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.commands.export import FORMATS, _targets
from mosaic.client import exporting
from mosaic.client.exporting import ExportOptions
from mosaic.errors import RequestError
from tests.unit.export.run_rows_samples import record

FIRST, SECOND = "01JQ0000000000000000000000", "01JQ00000000000000000ABCDE"


class Client:
    def get_run(self, run_id: str) -> Any:
        return record(run_id=run_id, run_name="a/b c")


def targets(*runs: str, out: str | None = None) -> list[tuple[str, Path]]:
    arguments = argparse.Namespace(runs=runs, to="csv", out=Path(out) if out else None)
    client: Any = Client()
    return [(record.run_id, folder) for record, folder in _targets(client, arguments)]


def test_every_run_has_a_folder_of_its_own() -> None:
    here = Path.cwd()
    assert targets(FIRST) == [(FIRST, here / "a_b_c-csv")]
    assert targets(FIRST, FIRST, out="x") == [(FIRST, Path("x"))]
    assert targets(FIRST, SECOND, out="x") == [
        (FIRST, Path("x/a_b_c")),
        (SECOND, Path("x/a_b_c-0ABCDE")),
    ]
    assert targets(FIRST, SECOND)[1] == (SECOND, here / "a_b_c-csv-0ABCDE")


def test_the_formats_are_those_of_the_client() -> None:
    assert FORMATS == exporting.FORMATS


@pytest.mark.parametrize(
    ("options", "to"),
    [
        (ExportOptions(), "xml"),
        (ExportOptions(with_steps=True), "tensorboard"),
        (ExportOptions(is_wide=True), "minari"),
        (ExportOptions(metrics=["a"]), "minari"),
        (ExportOptions(metrics="loss"), "csv"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: ExportOptions, to: str) -> None:
    with pytest.raises(RequestError):
        options.check(to)
