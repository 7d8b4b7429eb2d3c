"""Lists that queries make: aggregates and split, and functions that look into lists, beside DuckDB."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.client import array_agg, col, collect_list, count, f, read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.unresolved import Aggregation
from jumpgate.errors import InvalidDataflow, JumpgateError
from jumpgate.testing.lab import Lab
from tests.integration.test_group_values import VALUES, table_of


def lists() -> dict[str, Aggregation]:
    """Lists of every type, with and without NULL, in orders of their own and of other columns."""
    measures: dict[str, Aggregation] = {"n": count()}
    for i in range(len(VALUES)):
        c = f"c{i}"
        measures |= {f"all{i}": array_agg(c), f"known{i}": collect_list(c)}
        measures |= {f"by{i}": array_agg(c, order_by=[col("c1").desc(), "id"]), f"last{i}": collect_list(c, "id")}
        measures |= {f"some{i}": array_agg(c, distinct=True), f"set{i}": collect_list(c, distinct=True)}
    return measures


@pytest.mark.parametrize(("rows", "nulls"), [(0, 0.0), (1, 1.0), (200, 1.0), (1500, 0.2)])
def test_lists_of_all_types(lab: Lab, rows: int, nulls: float) -> None:
    """Global and grouped: no row, one, only NULLs, many."""
    table = lab.table(*table_of(rows, nulls), files=3 if rows > 200 else 1)
    lab.check(table.aggregate(**lists()))
    lab.check(table.aggregate(by=["g"], **lists()))


def test_lists_of_several_hosts(cluster: Session, tmp_path: Path) -> None:
    lab = Lab(cluster, tmp_path)
    table = lab.table(*table_of(4000, 0.2), files=8)
    for by in ([], ["g"], ["g", "c8"]):
        lab.check(table.aggregate(by=by, **lists()))


def test_many_lists_and_operators_above_them(any_lab: Lab) -> None:
    """Lists pass filters, joins and groups above them, and their elements become rows again."""
    r = random.Random(5)
    rows = [(r.randrange(3000), i, None if r.random() < 0.1 else f"t{i % 700}") for i in range(20_000)]
    table = any_lab.table({"k": "int64", "x": "int64", "s": "string"}, rows, files=4)
    grouped = table.aggregate(by=["k"], x=collect_list("x"), s=array_agg("s", order_by=col("x").desc()))
    any_lab.check(grouped.top(50, "k"))
    looked = grouped.with_columns(n=f.cardinality(col("x")), first=f.element_at(col("x"), 1),
                                  last=f.element_at(col("s"), -1), has=f.list_contains(col("s"), "t7"))  # fmt: skip
    found = any_lab.run(looked.select("k", "n", "first", "last", "has").sort("k")).to_pylist()
    groups: dict[int, list[tuple[int, str | None]]] = {}
    for k, x, s in rows:
        groups.setdefault(k, []).append((x, s))
    assert found == [{"k": k, "n": len(v), "first": v[0][0], "last": v[0][1], "has": contains([s for _, s in v], "t7")}
                     for k, v in sorted(groups.items())]  # fmt: skip
    again = grouped.unnest("x", name="e").aggregate(n=count(), total=sum_("e"))
    assert any_lab.run(again).to_pylist() == [{"n": len(rows), "total": sum(x for _, x, _ in rows)}]
    other = grouped.select(j=col("k"), l=col("s"))
    joined = any_lab.run(table.join(other, left_on="k", right_on="j").select("x", "l")).to_pylist()
    wanted = {x: [s for _, s in sorted(groups[k], reverse=True)] for k, x, _ in rows}
    assert {row["x"]: row["l"] for row in joined} == wanted


def contains(values: list[Any], value: Any) -> bool | None:
    return True if value in values else None if None in values else False


def test_lists_beyond_the_memory_limit_go_on_on_disk(one_host: str, tmp_path: Path) -> None:
    with Session(one_host, memory_limit_bytes=24 << 20) as session:
        lab = Lab(session, tmp_path)
        n = 1_500_000
        whole = pa.table(
            {"k": pa.array([i % 50_000 for i in range(n)], pa.int64()), "x": pa.array(range(n), pa.int64())}
        )
        table = lab.table({"k": "int64", "x": "int64"}, whole)
        grouped = table.aggregate(by=["k"], l=collect_list("x"))
        flow = grouped.unnest("l", name="e").aggregate(n=count(), total=sum_("e"), keys=sum_("k"))
        assert lab.run(flow).to_pylist() == [
            {"n": n, "total": n * (n - 1) // 2, "keys": n // 50_000 * 50_000 * 49_999 // 2}]  # fmt: skip
        record = session.describe().record
        assert record is not None
        assert sum(c["spilled_bytes"] for c in record["counters"].values()) > 8 << 20


def test_a_list_that_is_too_long_is_an_error(lab: Lab) -> None:
    table = lab.table({"s": "string"}, [("x" * (1 << 20),) for _ in range(300)])
    with pytest.raises(JumpgateError, match="an aggregate would make a text or a list of more than 256 MiB"):
        lab.run(table.aggregate(s=array_agg("s")))


TEXTS = ["a,b", "", ",", ",,", "a,,b,", ",a", None, "é,日本,😀", "ab", "x" * 300 + "," + "y" * 9000]


def test_texts_are_split(lab: Lab) -> None:
    table = lab.table({"id": "int64", "s": "string"}, list(enumerate(TEXTS)), files=2)
    for separator, most in ((",", 0), (",", 1), (",", 2), ("b,", 0), ("日", -1), ("ab", 0), (",,", 0)):
        parts = f.split(col("s"), separator, most) if most else f.split(col("s"), separator)
        columns = {"l": parts, "n": f.cardinality(parts), "second": f.element_at(parts, 2),
                   "b": f.list_contains(parts, "b"), "last": f.element_at(parts, -1),
                   "none": f.element_at(parts, 0)}  # fmt: skip
        found = lab.run(table.select("id", **columns).sort("id")).to_pylist()
        wanted = [None if s is None else s.split(separator, most - 1 if most > 0 else -1) for s in TEXTS]
        assert [row["l"] for row in found] == wanted
        assert [row["n"] for row in found] == [w and len(w) for w in wanted]
        assert [row["second"] for row in found] == [w[1] if w and len(w) > 1 else None for w in wanted]
        assert [row["last"] for row in found] == [w and w[-1] for w in wanted]
        assert [row["none"] for row in found] == [None] * len(TEXTS)
        assert [row["b"] for row in found] == [None if w is None else "b" in w for w in wanted]
        rows = lab.run(table.with_columns(l=parts).unnest("l", name="e").select("id", "e")).to_pylist()
        assert sorted((r["id"], r["e"]) for r in rows) == sorted((i, e) for i, w in enumerate(wanted) for e in w or ())


def test_lists_of_files_are_looked_into(local: Session, tmp_path: Path) -> None:
    values: dict[str, list[Any]] = {
        "i": [[1, None, 3], [], None, [2], [None]],
        "s": [["a", None, ""], [], None, ["b"], [None]],
        "f": [[0.5, None, float("nan")], [], None, [-0.0], [None]],
        "m": [[("k", 1)], [], None, [("k", None), ("j", 2)], []],
        "n": [[[1], None], [], None, [[]], [None]],
    }
    kinds = {"i": pa.list_(pa.int32()), "s": pa.list_(pa.string()), "f": pa.list_(pa.float64()),
             "m": pa.map_(pa.string(), pa.int64()), "n": pa.list_(pa.list_(pa.int64()))}  # fmt: skip
    data = pa.table({"id": list(range(5)), **{k: pa.array(v, kinds[k]) for k, v in values.items()}})
    pq.write_table(data, tmp_path / "t.parquet")
    table = read(str(tmp_path / "t.parquet"))
    sizes = local.run(table.select(**{k: f.cardinality(col(k)) for k in values})).to_arrow().to_pydict()
    assert sizes == {k: [None if x is None else len(x) for x in v] for k, v in values.items()}
    for place in (1, 3, -1, -2, 0, 2**40):
        found = local.run(table.select(**{k: f.element_at(col(k), place) for k in "isn"})).to_arrow().to_pydict()
        index = place - 1 if place > 0 else place
        assert found == {k: [v[index] if v and place and -len(v) <= index < len(v) else None for v in values[k]]
                         for k in "isn"}  # fmt: skip
    by_row = local.run(table.select(e=f.element_at(col("i"), col("id")))).to_arrow().to_pydict()["e"]
    assert by_row == [None, None, None, None, None]
    wanted = {"i": f.list_contains(col("i"), 3), "s": f.list_contains(col("s"), col("id").cast("string")),
              "f": f.list_contains(col("f"), float("nan")), "z": f.list_contains(col("f"), 0.0)}  # fmt: skip
    has = local.run(table.select(**wanted))
    assert has.to_arrow().to_pydict() == {"i": [True, False, None, False, None], "s": [None, False, None, False, None],
                               "f": [True, False, None, False, None], "z": [None, False, None, True, None]}  # fmt: skip


def test_places_and_extremes_of_elements(local: Session, tmp_path: Path) -> None:
    values: dict[str, list[Any]] = {
        "i": [[3, None, 1, 1], [], None, [-(2**31), 2**31 - 1], [None]],
        "s": [["b", None, "", "b"], [], None, ["é", "z"], [None]],
        "f": [[0.5, None, float("nan")], [], None, [-1.0, -2.0], [None]],
        "d": [[Decimal("1.50"), None], [], None, [Decimal("-9.99"), Decimal("0.00")], [None]],
        "b": [[True, False], [], None, [False], [None]],
    }
    kinds = {"i": pa.int32(), "s": pa.string(), "f": pa.float64(), "d": pa.decimal128(9, 2), "b": pa.bool_()}
    data = pa.table({"id": range(5), **{k: pa.array(v, pa.list_(kinds[k])) for k, v in values.items()}})
    pq.write_table(data, tmp_path / "t.parquet")
    table = read(str(tmp_path / "t.parquet"))
    least = local.run(table.select(**{k: f.list_min(col(k)) for k in values})).to_arrow().to_pydict()
    greatest = local.run(table.select(**{k: f.list_max(col(k)) for k in values})).to_arrow().to_pydict()
    known = {k: [[e for e in v or () if e is not None] for v in of] for k, of in values.items()}
    assert least == {k: [min(v, default=None) for v in of] for k, of in known.items()}
    last = greatest.pop("f")
    assert math.isnan(last[0]) and last[1:] == [None, None, -1.0, None]
    assert greatest == {k: [max(v, default=None) for v in known[k]] for k in "isdb"}
    looked = {"i": 1, "s": "b", "f": float("nan"), "d": Decimal("0.00"), "b": False}
    found = local.run(table.select(**{k: f.list_position(col(k), v) for k, v in looked.items()}))
    assert found.to_arrow().to_pydict() == {
        "i": [3, 0, None, 0, 0], "s": [1, 0, None, 0, 0], "f": [3, 0, None, 0, 0], "d": [0, 0, None, 2, 0],
        "b": [2, 0, None, 1, 0],
    }  # fmt: skip


def test_values_of_keys(local: Session, tmp_path: Path) -> None:
    values: dict[str, list[Any]] = {
        "s": [[("a", 1), ("b", None)], [], None, [("bb", 2), ("b", 3)]],
        "i": [[(1, "x"), (2, None)], [], None, [(2, "yy"), (1, "")]],
        "t": [[("a", "x"), ("b", "yy")], [], None, [("b", None), ("a", "")]],
        "n": [[("b", [1, 2])], [], None, [("a", [3]), ("b", None)]],
    }
    kinds = {"s": (pa.string(), pa.int64()), "i": (pa.int32(), pa.string()), "t": (pa.string(), pa.string()),
             "n": (pa.string(), pa.list_(pa.int64()))}  # fmt: skip
    keys = {"s": "b", "i": 2, "t": "b", "n": "b"}
    data = pa.table({"k": ["b", "a", "b", None], **{c: pa.array(v, pa.map_(*kinds[c])) for c, v in values.items()}})
    pq.write_table(data, tmp_path / "t.parquet")
    table = read(str(tmp_path / "t.parquet"))
    wanted = {c: [dict(v or ()).get(keys[c]) for v in of] for c, of in values.items()}
    found = local.run(table.select(**{c: f.map_value(col(c), keys[c]) for c in values}))
    assert found.to_arrow().to_pydict() == wanted
    by_row = local.run(table.select(v=f.map_value(col("s"), col("k")))).to_arrow().to_pydict()["v"]
    assert by_row == [None, None, None, None]
    assert local.run(table.filter(f.map_value(col("i"), 1) == "x").aggregate(n=count())).to_pylist() == [{"n": 1}]
    with jumpgate.connect() as connection:
        connection.register("t", str(tmp_path / "t.parquet"))
        text = "select s['b'] s, i[2] i, t[k] t, list_min(n['b']) n, list_position(n['b'], 2) p from t"
        ours, theirs = (connection.sql(text, offload=o).to_arrow().to_pylist() for o in ("always", "never"))
        assert ours == theirs and ours[0] == {"s": None, "i": None, "t": "yy", "n": 1, "p": 2}


def test_lists_of_structs_and_what_is_made_of_them(local: Session, tmp_path: Path) -> None:
    """Elements that tie come in an order of their own, equal ones beside each other."""
    structs = [None if i % 7 == 0 else {"a": i % 5, "b": None if i % 4 == 0 else f"t{i % 6}"} for i in range(200)]
    rows = [{"k": i % 3, "s": s, "l": [i % 2]} for i, s in enumerate(structs)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    table = read(str(tmp_path / "t.parquet"))
    grouped = table.aggregate(by=["k"], s=array_agg("s"), known=collect_list("s"), l=collect_list("l"),
                              by_n=array_agg("s", order_by=col("k")))  # fmt: skip
    for row in local.run(grouped).to_pylist():
        group = [r for r in rows if r["k"] == row["k"]]
        assert sorted(map(str, row["s"])) == sorted(str(r["s"]) for r in group) == sorted(map(str, row["by_n"]))
        assert sorted(map(str, row["known"])) == sorted(str(r["s"]) for r in group if r["s"])
        assert sorted(row["l"]) == sorted(r["l"] for r in group)
    made = table.aggregate(by=["k"], m=array_agg(f.struct_of(col("s"), col("k"))), n=count())
    found = local.run(made.unnest("m", name="e").aggregate(n=count())).to_pylist()
    assert found == [{"n": len(rows)}]


SQL = """select l[1:2] a, l[2:9] b, l[9:10] c, l[1:0] d, list_sort(l, 'ASC', 'NULLS LAST') e,
    list_sort(t, 'DESC', 'NULLS FIRST') f, flatten(n) h, map_keys(k) i, map_values(k) j,
    [i, i + 1, null] p, {'x': i, 'y': t[1], 'z': l} q, list_count(l) r, len(map_keys(k)) s,
    list_value(t, t) u, [t[1]] v from t order by i"""
#: a table's name is a struct of its columns
WHOLE_ROWS = "select w, w.i // 2 as h from (select i, l, t[1] as u from t) as w order by w.i"


def test_sql_makes_lists_as_duckdb_does(tmp_path: Path) -> None:
    extremes = [-(2**31), 2**31 - 1, None, 0]
    data = pa.table({
        "i": range(5),
        "l": pa.array([[3, 1, None, 2], [], None, [None], extremes], pa.list_(pa.int32())),
        "t": pa.array([["b", None, "", "é"], [], None, [None], ["x" * 300]], pa.list_(pa.string())),
        "n": pa.array([[[1, None], None, []], [], None, [None], [[2], [3]]], pa.list_(pa.list_(pa.int64()))),
        "k": pa.array([[("a", 1), ("b", None)], [], None, [("", -1)], [("z", 2**62)]],
                      pa.map_(pa.string(), pa.int64())),
    })  # fmt: skip
    pq.write_table(data, tmp_path / "t.parquet")
    with jumpgate.connect() as connection:
        connection.register("t", str(tmp_path / "t.parquet"))
        for text in (SQL, WHOLE_ROWS):
            ours, theirs = (connection.sql(text, offload=o).to_arrow() for o in ("always", "never"))
            assert ours.schema == theirs.schema and ours.to_pylist() == theirs.to_pylist()
            assert connection.sql(text, offload="always").explain().startswith("Offloaded")


def test_what_makes_no_sense_is_refused(lab: Lab, tmp_path: Path) -> None:
    pq.write_table(pa.table({"l": [[1]], "x": [1], "n": [[[1]]]}), tmp_path / "t.parquet")
    table = read(str(tmp_path / "t.parquet"))
    wrong = {
        "a key or measure is of 'l', a list<int64>": lambda: table.aggregate(m=array_agg("l", distinct=True)),
        "split: the separator is some text": lambda: table.select(x=f.split(col("x").cast("string"), "")),
        "takes a list and a int64, not": lambda: table.select(x=f.list_contains(col("l"), 0.5)),
        "nested values are not compared": lambda: table.select(x=f.list_contains(col("n"), col("l"))),
        "takes a list or a map, not int64": lambda: table.select(x=f.cardinality(col("x"))),
    }
    for message, made in wrong.items():
        with pytest.raises(InvalidDataflow) as caught:
            made()
        assert message in str(caught.value)
