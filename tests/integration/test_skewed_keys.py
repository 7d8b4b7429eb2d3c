"""Joins of which one side has a few keys in most of its rows, over four hosts: right answers, and nobody gets most."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import count, read, sum_
from jumpgate.client.session import Session
from jumpgate.compiler import CompileOptions
from jumpgate.compiler.mapping import skew
from jumpgate.service import engine

ROWS, KEYS = 100_000, 2_000


@pytest.fixture
def session(four_hosts: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """One whose joins are partitioned, however small."""
    monkeypatch.setattr(engine, "CompileOptions", functools.partial(CompileOptions, broadcast_bytes_max=0.0))
    with Session(four_hosts, parallelism=4) as session:
        yield session


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, str]:
    """facts: half of the rows have one key, a tenth another one, a tenth NULL; dims: a key of these twice, one NULL."""
    for kind, of in (("number", int), ("text", str)):
        keys = [[3, 3, 3, 3, 3, 4, None, *[i % KEYS] * 3][i % 10] for i in range(ROWS)]
        facts = {"k": [None if k is None else of(k) for k in keys], "x": range(ROWS)}
        dims = [*range(0, KEYS, 3), 3, 4, None, KEYS + 5]
        pq.write_table(pa.table(facts), tmp_path / f"facts-{kind}.parquet", row_group_size=20_000)
        found = {"d": [None if k is None else of(k) for k in dims], "y": range(len(dims))}
        pq.write_table(pa.table(found), tmp_path / f"dims-{kind}.parquet")
    return {path.stem: str(path) for path in tmp_path.glob("*.parquet")}


def arrived(session: Session, job: str) -> list[float]:
    """Of each edge by hash: rows at the consumer that got most ÷ the mean."""
    record = session.describe(job).record
    assert record is not None
    found = []
    for edge in record["edges"]:
        if edge["partitioning"] == "hash" and not edge["filter"]:
            came: Counter[str] = Counter(dict.fromkeys(edge["consumers"], 0))
            for consumer in edge["consumers"]:
                for source in record["counters"][consumer]["sources"]:
                    came[consumer] += source["rows"] * (source["name"] == edge["id"])
            if came.total() > ROWS / 2:  # the facts
                found.append(max(came.values()) * len(came) / came.total())
    return found


def asked(session: Session, tables: dict[str, str], kind: str, type: str) -> tuple[list[dict[str, Any]], list[float]]:
    facts, dims = read(tables[f"facts-{kind}"]), read(tables[f"dims-{kind}"])
    joined = facts.join(dims, left_on="k", right_on="d", how=type)
    measures = {"n": count(), "s": sum_("x")}
    result = session.run(joined.aggregate(by="k", **measures).sort("k"))
    return result.to_pylist(), arrived(session, result.job)


SQL = {
    "inner": "SELECT k, count(*) n, sum(x) s FROM f JOIN d ON k = d GROUP BY k",
    "left": "SELECT k, count(*) n, sum(x) s FROM f LEFT JOIN d ON k = d GROUP BY k",
    "full": "SELECT k, count(*) n, sum(x) s FROM f FULL JOIN d ON k = d GROUP BY k",
    "semi": "SELECT k, count(*) n, sum(x) s FROM f WHERE EXISTS (SELECT 1 FROM d WHERE k = d) GROUP BY k",
    "anti": "SELECT k, count(*) n, sum(x) s FROM f WHERE NOT EXISTS (SELECT 1 FROM d WHERE k = d) GROUP BY k",
}


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("kind", ["number", "text"])
@pytest.mark.parametrize("type", [*SQL])
def test_skewed_joins_give_duckdbs_rows(session: Session, tables: dict[str, str], kind: str, type: str) -> None:
    rows, _ = asked(session, tables, kind, type)
    with duckdb.connect() as db:
        for name, stem in (("f", "facts"), ("d", "dims")):
            db.execute(f"CREATE VIEW {name} AS FROM '{tables[f'{stem}-{kind}']}'")
        right = db.execute(f"{SQL[type]} ORDER BY k NULLS LAST").fetchall()
    assert sorted(map(str, (tuple(row.values()) for row in rows))) == sorted(map(str, right))


def test_no_consumer_gets_most(
    session: Session, tables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows at the largest consumer beside the mean, without and with."""
    with monkeypatch.context() as off:
        off.setattr(skew, "HEAVY_SHARE", float("inf"))
        same, (skewed,) = asked(session, tables, "number", "left")
    other = {name: path for name, path in tables.items() if name.startswith("dims")}  # a request that was not seen yet
    Path(tables["facts-number"]).rename(tmp_path / "again.parquet")
    rows, (even,) = asked(session, {**other, "facts-number": str(tmp_path / "again.parquet")}, "number", "left")
    assert rows == same
    assert skewed > 2 and even < 1.1, (skewed, even)
