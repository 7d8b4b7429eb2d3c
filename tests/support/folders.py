"""Tables whose columns are in the names of folders, for servers that read them through a catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet

ROWS = 1000
#: folder → whether files are in it
FOLDERS = {
    "year=2023/day=2023-12-31/place=x%2Fy": True,
    "year=2023/day=__HIVE_DEFAULT_PARTITION__/place=__HIVE_DEFAULT_PARTITION__": True,
    "year=2024/day=2024-02-29/place=12": True,
    "year=2024/day=2024-02-29/place=ü": True,
    "year=2025/day=2025-01-01/place=z": False,
}
#: query → how many of the files are read
QUERIES = {
    "SELECT n, year, day, place FROM sales": 4,
    "SELECT n, place FROM sales WHERE year = 2024": 2,
    "SELECT sum(n), count(*) FROM sales WHERE day = DATE '2023-12-31'": 1,
    "SELECT count(*), count(day), count(place) FROM sales WHERE place IS NULL": 1,
    "SELECT count(*) FROM sales WHERE place IN ('x/y', 'ü')": 2,
    "SELECT count(*) FROM sales WHERE year > 2024": 0,
    "SELECT year, day, place, count(*), min(n) FROM sales GROUP BY year, day, place": 4,
    "SELECT year + 1, substr(place, 1, 1), n FROM sales WHERE n % 500 = 0 AND place <> '12'": 4,
}
#: of tables with types that the catalog's file says
DECLARED = {
    "SELECT DISTINCT year, place FROM typed": [[2023, "x/y"], [2023, None], [2024, "12"], [2024, "ü"]],
    "SELECT count(*) FROM lines WHERE k = 2": [[2]],
    "SELECT n FROM lines WHERE k = 1": [["a"], [None]],
}
COLUMNS = "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'main'"
COLUMNS_FOUND = [("day", "date"), ("n", "bigint"), ("place", "varchar"), ("year", "bigint")]


def write(folder: Path) -> dict[str, Any]:
    """Write the tables sales, typed, lines and nowhere; return their catalog."""
    for at, (name, has_files) in enumerate(FOLDERS.items()):
        part = folder / "sales" / name
        part.mkdir(parents=True)
        if has_files:
            pyarrow.parquet.write_table(pa.table({"n": range(at * ROWS, (at + 1) * ROWS)}), part / "0.parquet")
    for k, lines in {"1": ["a|1", "|2"], "2": ["b|3", "c|4"], "__HIVE_DEFAULT_PARTITION__": ["d|5"]}.items():
        part = folder / "lines" / f"k={k}"
        part.mkdir(parents=True)
        (part / "0.csv").write_text("".join(f"{line}\n" for line in ["n|m", *lines]))
    (folder / "nowhere").mkdir()
    return {
        "sales": {"path": str(folder / "sales")},
        "typed": {
            "path": str(folder / "sales" / "**" / "*.parquet"),
            "format": "parquet",
            "columns": {"year": "int16?", "n": "int64?", "place": "string?"},
        },
        "lines": {"path": str(folder / "lines"), "options": {"delimiter": "|"}},
        "nowhere": {"path": str(folder / "nowhere")},
    }


def duckdb_rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        files = f"'{folder}/sales/**/*.parquet'"
        connection.execute(f"CREATE VIEW sales AS FROM read_parquet({files}, hive_partitioning = true)")
        return connection.execute(query).fetchall()
