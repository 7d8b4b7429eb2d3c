"""Patterns over texts of all lengths, beside DuckDB."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate

#: of texts that are searched, some of which nearly contain them, or contain them across what is compared at once
PARTS = ["a", "ab", "ba", "aab", "é", "éa", "bé", "special", "requests", "%", "_", "a" * 70]


def test_patterns_match_what_duckdb_matches(tmp_path: Path) -> None:
    chance = random.Random(5)
    texts: list[str | None] = [None, "", "a", "é"]
    for length in (*range(1, 12), *range(58, 72), *range(120, 135), 300):
        for _ in range(12):
            text = "".join(chance.choice("aabbbé") for _ in range(length))
            for part in chance.sample(PARTS, chance.randrange(3)):
                at = chance.choice([0, len(text), chance.randrange(len(text) + 1)])
                text = text[:at] + part + text[at:]
            texts.append(text)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"i": range(len(texts)), "s": texts}), path)
    patterns = [f"%{part}%" for part in PARTS[:9]] + [f"%{part}" for part in PARTS[:6]]
    patterns += ["%special%requests%", "%a_b%", "%é%a_", "a%b%", "%ab%ba%ab%", f"%{'a' * 65}%", "_%é"]
    tests = [f"s LIKE '{p}'" for p in patterns] + [f"s LIKE '{p}' ESCAPE '\\'" for p in (r"%\%a%", r"%a\_%", r"%\_\%%")]
    tests += [f"contains(s, '{part}')" for part in (*PARTS, "")]
    query = f"SELECT i, {', '.join(f'{test} AS t{n}' for n, test in enumerate(tests))} FROM t ORDER BY i"
    with jumpgate.connect(offload="always") as connection:
        connection.register("t", path)
        found = connection.sql(query).to_arrow()
    duck = duckdb.connect()
    duck.execute(f"CREATE VIEW t AS FROM '{path}'")
    expected = duck.execute(query).to_arrow_table()
    for n, test in enumerate(tests):
        assert found[f"t{n}"].to_pylist() == expected[f"t{n}"].to_pylist(), test
