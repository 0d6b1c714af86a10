"""Optuna studies are read as Optuna reads them, and its writers never notice."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mosaic.analytics.optuna.reader import JournalStudies, SqliteStudies, open_studies
from mosaic.analytics.optuna.readonly_sqlite import read_undisturbed
from mosaic.analytics.optuna.study import Distribution, Study
from mosaic.errors import CorruptStoreError, StoreError
from tests.unit.analytics import optuna_samples as samples

FIXTURES = Path(__file__).parents[1] / "fixtures"
EXPECTED = json.loads((FIXTURES / samples.EXPECTED).read_text())


@pytest.fixture(autouse=True)
def utc() -> Iterator[None]:
    """Optuna hands out local times; the stored ones were local to Greenwich."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A folder with the journal and the database that Optuna 5.0.0 wrote."""
    shutil.copy(FIXTURES / samples.JOURNAL, tmp_path)
    with closing(sqlite3.connect(tmp_path / samples.DATABASE)) as database:
        database.executescript((FIXTURES / samples.DATABASE_AS_TEXT).read_text())
    return tmp_path


def as_plain(studies: list[Study]) -> Any:
    """In the form of `as_optuna_reads_it`; as text, because nan differs from itself."""
    plain = [
        {
            "name": study.name,
            "directions": study.directions,
            "user_attrs": study.user_attrs,
            "trials": [
                {
                    **vars(trial),
                    "started_at": str(trial.started_at),
                    "ended_at": str(trial.ended_at),
                }
                for trial in study.trials
            ],
        }
        for study in studies
    ]
    return json.dumps(plain, indent=1, sort_keys=True)


def wanted(expected: Any) -> str:
    return json.dumps(expected, indent=1, sort_keys=True)


@pytest.mark.parametrize("name", [samples.DATABASE, samples.JOURNAL])
def test_stored_studies_are_read_as_optuna_reads_them(stored: Path, name: str) -> None:
    reader = open_studies(stored / name)
    assert as_plain(reader.read()) == wanted(EXPECTED[name])
    # A second look, which uses what is known of finished trials, sees the same.
    assert as_plain(reader.read()) == wanted(EXPECTED[name])


@pytest.mark.parametrize("name", [samples.DATABASE, samples.JOURNAL])
def test_studies_of_the_installed_optuna_are_read_as_it_reads_them(
    tmp_path: Path, name: str
) -> None:
    pytest.importorskip("optuna")
    storage = samples.open_storage(tmp_path / name)
    samples.fill(storage)
    reader = open_studies(tmp_path / name)
    assert as_plain(reader.read()) == wanted(samples.as_optuna_reads_it(storage))


def test_a_trial_that_finishes_later_is_seen_finished(stored: Path) -> None:
    reader = SqliteStudies(stored / samples.DATABASE)
    (running, *_) = [t for t in reader.read()[0].trials if t.state == "RUNNING"]
    with closing(sqlite3.connect(stored / samples.DATABASE)) as database, database:
        database.execute(
            "UPDATE trials SET state = 'COMPLETE' WHERE number = ? AND study_id = 1",
            (running.number,),
        )
    assert reader.read()[0].trials[running.number].state == "COMPLETE"


def test_a_study_whose_ids_are_used_again_is_read_anew(stored: Path) -> None:
    path = stored / samples.DATABASE
    reader = SqliteStudies(path)
    reader.read()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE trials SET datetime_complete = '2030-01-01 00:00:00'")
        database.execute("UPDATE trial_params SET param_value = 0.125 WHERE param_name = 'x'")
    assert reader.read()[0].trials[0].params["x"] == 0.125


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_writer_in_the_middle_of_a_transaction_is_not_disturbed(stored: Path, mode: str) -> None:
    path = stored / samples.DATABASE
    with closing(sqlite3.connect(path, timeout=0)) as writer:
        writer.execute(f"PRAGMA journal_mode = {mode}")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE trials SET state = 'FAIL'")
        assert as_plain(SqliteStudies(path).read()) == wanted(EXPECTED[samples.DATABASE])
        writer.commit()
        assert {trial.state for trial in SqliteStudies(path).read()[0].trials} == {"FAIL"}


def test_reading_leaves_no_file_beside_an_idle_database(stored: Path) -> None:
    path = stored / samples.DATABASE
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = wal")
    before = sorted(stored.iterdir())
    assert as_plain(SqliteStudies(path).read()) == wanted(EXPECTED[samples.DATABASE])
    assert sorted(stored.iterdir()) == before


def test_a_writer_that_comes_while_an_idle_database_is_read_is_seen(stored: Path) -> None:
    path = stored / samples.DATABASE
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = wal")
    looks: list[list[str]] = []
    with closing(sqlite3.connect(path)) as writer:

        def look(database: sqlite3.Connection) -> list[str]:
            if not looks:
                with writer:
                    writer.execute("UPDATE studies SET study_name = 'renamed' WHERE study_id = 1")
            looks.append([name for (name,) in database.execute("SELECT study_name FROM studies")])
            return looks[-1]

        assert "renamed" in read_undisturbed(path, look)
    assert len(looks) == 2


def test_reading_leaves_no_lock_between_reads(stored: Path) -> None:
    path = stored / samples.DATABASE
    reader = SqliteStudies(path)
    reader.read()
    with closing(sqlite3.connect(path, timeout=0)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="cannot be read now"):
            reader.read()
        writer.rollback()
    assert len(reader.read()) == 2


def test_an_unknown_schema_is_refused_with_its_version(stored: Path) -> None:
    path = stored / samples.DATABASE
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'v9.9.9.a'")
    with pytest.raises(StoreError, match=r"optuna\.db has a schema.*v9\.9\.9\.a"):
        SqliteStudies(path).read()


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="holds no Optuna studies"):
        open_studies(path).read()
    with pytest.raises(StoreError, match="There is no file"):
        open_studies(tmp_path / "missing.db")


def test_a_damaged_parameter_is_an_error_that_names_the_file(stored: Path) -> None:
    path = stored / samples.DATABASE
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE trial_params SET distribution_json = '{}'")
    with pytest.raises(CorruptStoreError, match=r"optuna\.db"):
        SqliteStudies(path).read()


def test_a_journal_grows_line_by_line_and_half_a_line_waits(tmp_path: Path) -> None:
    data = (FIXTURES / samples.JOURNAL).read_bytes()
    path = tmp_path / "growing.journal"
    path.write_bytes(b"")
    reader = JournalStudies(path)
    for end in range(0, len(data), 700):
        path.write_bytes(data[:end])
        reader.read()
    path.write_bytes(data)
    assert as_plain(reader.read()) == wanted(EXPECTED[samples.JOURNAL])
    assert reader.problems == []


def test_a_journal_that_was_replaced_is_read_anew(stored: Path) -> None:
    path = stored / samples.JOURNAL
    reader = JournalStudies(path)
    assert len(reader.read()) == 2
    path.write_text('{"op_code":0,"worker_id":"w","study_name":"new","directions":[2]}\n')
    assert reader.read() == [Study("new", ["MAXIMIZE"])]


def test_a_damaged_line_is_said_and_left_out(tmp_path: Path) -> None:
    lines = (FIXTURES / samples.JOURNAL).read_bytes().splitlines(keepends=True)
    path = tmp_path / "damaged.journal"
    path.write_bytes(b"".join([*lines[:30], b"{broken\n", *lines[30:]]))
    reader = JournalStudies(path)
    assert as_plain(reader.read()) == wanted(EXPECTED[samples.JOURNAL])
    assert [str(path) in problem.message for problem in reader.problems] == [True]


def test_a_parameter_drawn_from_something_else_is_not_taken(tmp_path: Path) -> None:
    """Optuna writes such a line, then refuses it."""
    path = tmp_path / "incompatible.journal"
    said: list[dict[str, Any]] = [
        {"op_code": 0, "study_name": "s", "directions": [1]},
        {"op_code": 4, "study_id": 0, "datetime_start": None},
        {"op_code": 4, "study_id": 0, "datetime_start": None},
    ]
    for trial_id, kind in enumerate(["float", "int"]):
        drawn = json.dumps({"type": kind, "low": 0, "high": 9})
        said.append(
            {
                "op_code": 5,
                "trial_id": trial_id,
                "param_name": "x",
                "param_value_internal": 3,
                "distribution": drawn,
            }
        )
    path.write_text("".join(json.dumps(line) + "\n" for line in said))
    (study,) = JournalStudies(path).read()
    assert [trial.params for trial in study.trials] == [{"x": 3.0}, {}]


def test_distributions_of_old_versions_are_understood() -> None:
    old = Distribution.from_json('{"name": "IntLogUniformDistribution", "attributes": {"low": 1}}')
    assert repr(old.decode(4.0)) == "4"
    old = Distribution.from_json('{"name": "UniformDistribution", "attributes": {"low": 1}}')
    assert repr(old.decode(4)) == "4.0"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400), at=st.integers(0, 15_000))
def test_a_hostile_journal_raises_nothing(tmp_path: Path, data: bytes, at: int) -> None:
    path = tmp_path / "hostile.journal"
    good = (FIXTURES / samples.JOURNAL).read_bytes()
    path.write_bytes(good[:at] + data + good[at + len(data) :])
    reader = JournalStudies(path)
    reader.read()
    assert len(reader.problems) <= 20


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=1, max_size=4000), at=st.integers(0, 114_000))
def test_a_hostile_database_raises_store_errors_only(stored: Path, data: bytes, at: int) -> None:
    good = (stored / samples.DATABASE).read_bytes()
    path = stored / "hostile.db"
    path.write_bytes(good[:at] + data + good[at + len(data) :])
    try:
        SqliteStudies(path).read()
    except StoreError as error:
        assert str(path) in error.message
