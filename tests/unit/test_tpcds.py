"""TPC-DS data and queries: the schemas are those of the generator, files are complete, comparison finds differences."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from jumpgate.errors import ConfigError, FileUnreadable
from jumpgate.tpcds import compare, data
from jumpgate.tpcds.queries import QUERIES
from jumpgate.tpcds.schemas import TABLES, schema

SCALE = data.SCALE_MIN


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tpcds")
    data.generate(directory, SCALE, tables=("item", "store"))
    return directory


def test_schemas_are_those_of_the_generator() -> None:
    with data.connect() as connection:
        connection.execute("CALL dsdgen(sf = 0)")
        columns = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY 1, ordinal_position"
        ).fetchall()
    ours = [
        (table, field.name, compare._sql(field.type).replace(", ", ",")) for table in TABLES for field in schema(table)
    ]
    assert sorted(TABLES) == list(TABLES)
    assert ours == columns


def test_every_format_holds_the_same_rows(directory: Path) -> None:
    rows = {parquet.read_table(data.path(directory, "item", "parquet")).num_rows}
    rows.add(orc.read_table(data.path(directory, "item", "orc")).num_rows)
    rows.add(len(data.path(directory, "item", "json").read_text().splitlines()))
    rows.add(len(data.path(directory, "item", "csv").read_text().splitlines()) - 1)
    assert len(rows) == 1 and rows.pop() > 0


def test_what_is_complete_is_left_alone(directory: Path) -> None:
    file = data.path(directory, "item", "csv")
    before = file.stat().st_mtime_ns
    assert data.generate(directory, SCALE, tables=("item",)) == []
    file_missing = data.path(directory, "store", "json")
    file_missing.unlink()
    assert data.generate(directory, SCALE, tables=("item", "store")) == [file_missing]
    assert file.stat().st_mtime_ns == before
    assert not list(directory.glob(".generating-*"))


def test_schema_file_describes_the_tables(directory: Path) -> None:
    described = json.loads((directory / data.SCHEMA_FILE).read_text())
    assert described["scale"] == SCALE
    assert described["tables"]["item"]["i_current_price"] == "decimal(7, 2)?"


def test_another_scale_is_refused(directory: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds TPC-DS at scale 0.01, not 1: .* or pass --force"):
        data.generate(directory, 1)


def test_scale_that_the_generator_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="TPC-DS has no scale 0.001; the smallest is 0.01"):
        data.generate(tmp_path, 0.001)


def test_unwritable_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileUnreadable, match="cannot write TPC-DS data to"):
        data.generate(tmp_path / "file" / "below", SCALE, tables=("store",), formats=("csv",))


def test_queries_agree_with_their_sql_about_columns(tmp_path: Path) -> None:
    data.generate(tmp_path, SCALE, ("parquet",), {table for query in QUERIES.values() for table in query.tables})
    for query in QUERIES.values():
        with compare.duckdb_over(tmp_path, "parquet", query.tables) as connection:
            theirs = connection.execute(query.sql).to_arrow_table()
        assert query.dataflow(compare.tables(tmp_path, "parquet")).schema.names == tuple(theirs.column_names)


def test_difference_names_the_place() -> None:
    ours = pa.table({"a": [1, 2], "b": [0.1 + 0.2, None]})
    assert compare.difference(ours, pa.table({"a": [1, 2], "b": [0.3, None]})) is None
    assert compare.difference(ours, pa.table({"a": [1, 3], "b": [0.3, None]})) == "row 1, column a: 2, expected 3"
    assert compare.difference(ours, ours.slice(1)) == "2 rows of 2 columns, expected 1 of 2"
