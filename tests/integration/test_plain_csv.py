"""CSV files that are read without a job: the same rows as a job's, or none; SQL before there is a runtime."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from jumpgate.client import read
from jumpgate.client.session import Session
from jumpgate.client.sql import plain_csv

SCHEMA = {"i": "int16", "n": "int64", "f": "float64", "d": "date", "s": "string"}
HEADER = ",".join(SCHEMA)
PLAIN = f"""{HEADER}
1,-123456789012345678,0.1,2024-02-29,a
-0,0,-12.75,1970-01-01,"b, c"
,,,,
32767,7,123456789.123456,1000-01-01,""
5,,3,,"ä" """.rstrip()
ROW = "1,2,0.5,2024-01-01,x"
#: rows below the header that another reader may take otherwise, or that are wrong
UNUSUAL = {
    "exponent": "1e3,2,0.5,2024-01-01,x", "fraction": "1.0,2,0.5,2024-01-01,x", "spaces": " 1,2,0.5,2024-01-01,x",
    "plus": "+1,2,0.5,2024-01-01,x", "wide": "40000,2,0.5,2024-01-01,x", "zeros": "007,2,0.5,2024-01-01,x",
    "nan": "1,2,nan,2024-01-01,x", "long": "1,2,0.12345678901234567,2024-01-01,x", "day": "1,2,0.5,2024-02-30,x",
    "moment": "1,2,0.5,2024-01-01 00:00:00,x", "short": "1,2,0.5", "more": f"{ROW},y",
    "quote": '1,2,0.5,2024-01-01,a"b',
    "doubled": '1,2,0.5,2024-01-01,"a""b"', "line": '1,2,0.5,2024-01-01,"a\nb"', "empty": f"{ROW}\n\n{ROW}",
    "return": f"{ROW}\r\n{ROW}", "quoted": '"",2,0.5,2024-01-01,x', "nothing": f"{ROW}\0",
    "open": '1,2,0.5,2024-01-01,"a',
}  # fmt: skip


def test_rows_are_those_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(PLAIN)
    rows = read(str(tmp_path / "t.csv"), schema=SCHEMA)
    with Session() as session:
        expected = session.run(rows).to_arrow()
    found = plain_csv.table(rows.root, list(SCHEMA))
    assert found is not None and found.to_pylist() == expected.to_pylist()
    assert found.schema.types == expected.schema.types
    some = plain_csv.table(rows.root, ["s", "i"])
    assert some is not None and some.to_pylist() == expected.select(["s", "i"]).to_pylist()
    counted = plain_csv.table(rows.root, [])
    assert counted is not None and counted.num_rows == 5


@pytest.mark.parametrize("text", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_not_plain_is_not_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(f"{HEADER}\n{text}\n".encode())
    rows = read(str(tmp_path / "t.csv"), schema=SCHEMA)
    assert plain_csv.table(rows.root, list(SCHEMA)) is None


def test_other_files_and_options_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(PLAIN)
    (tmp_path / "twice.csv").write_text("i,i\n1,2\n")
    (tmp_path / "mark.csv").write_text("\ufeffi\n1\n")
    for name, schema, options in (
        ("t.csv", {"s": "string"}, {"null": "NA"}), ("t.csv", {"f": "decimal(5, 2)"}, {}),
        ("t.csv", {"gone": "int64"}, {}),
        ("twice.csv", {"i": "int64"}, {}),
        ("mark.csv", {"i": "int64"}, {}),
    ):  # fmt: skip
        rows = read(str(tmp_path / name), schema=schema, **options)
        assert plain_csv.table(rows.root, list(schema)) is None, (name, schema, options)


QUERY = """
import jumpgate
from jumpgate.errors import BuildError
connection = jumpgate.connect()
connection.register("t", "t.csv")
text = "SELECT s, sum(n) AS n FROM t WHERE i > 0 GROUP BY s ORDER BY s"
print(connection.sql(text).to_pylist())
try:
    connection.sql(text, offload="always").to_pylist()
except BuildError as error:
    print(error.message)
"""


def test_without_a_compiler_duckdb_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text(PLAIN)
    monkeypatch.setenv("JUMPGATE_CXX", "none-such")
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    done = subprocess.run([sys.executable, "-c", QUERY], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer, said = done.stdout.splitlines()
    rows = {"": 7, "a": -123456789012345678, "ä": None}
    assert answer == str([{"s": s, "n": None if n is None else Decimal(n)} for s, n in rows.items()])
    assert said.startswith("no C++ compiler: 'none-such' is not on the PATH. Install one")
