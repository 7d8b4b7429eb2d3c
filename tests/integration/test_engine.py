"""The engine NCA: what it refuses, what the engine would compute otherwise, and its instance's streams and failures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate.client
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Frame, Operator, Read, SortKey, Window, WindowFunction, column, window_type
from jumpgate.dataflow.types import DataType, Schema, decimal, float64, int32, int64
from jumpgate.errors import MemoryLimit, Overflow
from jumpgate.nca.interface import Device, Match, Unsupported
from jumpgate.nca.worker import Input
from jumpgate.ncas.engine import ENGINE
from jumpgate.ncas.engine.worker import compute
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.testing import oracle

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_FRAME = Frame()
HOST = Device("here", "host", 2)


@pytest.fixture(scope="module")
def session() -> Iterator[jumpgate.client.Session]:
    with jumpgate.client.connect() as session:
        yield session


def read(tmp_path: Path, columns: dict[str, tuple[DataType, list[Any]]]) -> Read:
    arrays = [pa.array(values, oracle.arrow_type(type)) for type, values in columns.values()]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(arrays, names=[*columns]), path)
    schema = Schema.of(**{name: type for name, (type, _) in columns.items()})
    return Read((str(path),), "parquet", schema, tuple(range(len(schema))))


def window(
    node: Operator,
    function: str,
    argument: Expression | None = None,
    by: tuple[int, ...] = (),
    order: tuple[int, ...] = (),
    frame: Frame = DEFAULT_FRAME,
) -> Window:
    arguments = () if argument is None else (argument,)
    type = window_type(function, tuple(a.type for a in arguments))
    keys = tuple(SortKey(column(node.schema, i)) for i in order)
    return Window(
        node, tuple(column(node.schema, i) for i in by), keys, (WindowFunction(function, arguments, type, "w"),), frame
    )


def test_rank_orders_floats_as_the_dialect_does(tmp_path: Path, session: jumpgate.client.Session) -> None:
    values = [0.0, -0.0, float("nan"), -float("nan"), 1.0, None]
    node = window(read(tmp_path, {"x": (float64, values)}), "rank", order=(0,))
    found = session.run(Dataflow(node)).to_arrow()
    assert sorted(found.column("w").to_pylist()) == [1, 1, 3, 4, 4, 6]


def test_sums_of_integers_do_not_wrap_around(tmp_path: Path, session: jumpgate.client.Session) -> None:
    node = read(tmp_path, {"x": (int64, [1 << 62, 1 << 62])})
    with pytest.raises(Overflow):
        session.run(Dataflow(window(node, "sum", column(node.schema, 0)))).to_arrow()


def test_sums_of_decimals_have_no_more_digits_than_decimals(tmp_path: Path, session: jumpgate.client.Session) -> None:
    node = read(tmp_path, {"x": (decimal(38, 0), [6 * 10**37, 6 * 10**37])})  # together they fit into 128 bits
    with pytest.raises(Overflow):
        session.run(Dataflow(window(node, "sum", column(node.schema, 0)))).to_arrow()


def test_expressions_are_computed_below(tmp_path: Path, session: jumpgate.client.Session) -> None:
    node = read(tmp_path, {"x": (int32, [*range(20)]), "y": (decimal(7, 2), [*range(20)])})
    one = Literal(int32.with_nullable(False), 1)
    key = SortKey(bind("add", (column(node.schema, 0), one)), descending=True)
    function = WindowFunction("sum", (column(node.schema, 1),), decimal(38, 2), "w")
    root = Window(node, (bind("modulo", (column(node.schema, 0), Literal(one.type, 3))),), (key,), (function,))
    oracle.assert_same(session.run(Dataflow(root)).to_arrow(), root)
    explained = session.explain(Dataflow(root))
    assert "engine" in str(explained)


def test_what_the_engine_would_do_otherwise_is_refused(tmp_path: Path) -> None:
    node = read(tmp_path, {"x": (float64, []), "d": (decimal(38, 2), []), "i": (int64, [])})
    x, i = (column(node.schema, n) for n in (0, 2))
    sliding, by_value = Frame("rows", -1, 0), Frame("range", -1, 0)
    cases = [
        (window(node, "sum", x, frame=sliding, order=(2,)), DEFAULT, "sliding_float"),
        (window(node, "sum", i, order=(2,), frame=by_value), DEFAULT, "range_offset"),
        (window(node, "rank", by=(0,), order=(2,)), Dialect(nan="ieee"), "nan"),
        (window(node, "rank"), DEFAULT, "window_order"),
    ]
    for root, dialect, code in cases:
        answer = ENGINE.match_operations(root, HOST, dialect)
        assert isinstance(answer, Unsupported) and answer.code == code
    assert isinstance(ENGINE.match_operations(window(node, "sum", i), HOST), Match)


def configuration(statement: str, memory_bytes: int) -> dict[str, Any]:
    ntf = Descriptor.columnar(Schema.of(c0=int64)).text()
    return {"statement": statement, "memory_bytes": memory_bytes, "threads": 1, "output": {"ntf": ntf}}


def test_the_engine_reads_no_faster_than_it_is_read() -> None:
    produced = 0
    schema = pa.schema([("c0", pa.int64())])

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal produced
        for _ in range(1000):
            produced += 1
            yield pa.record_batch([pa.array(range(8192))], schema=schema)

    results = compute(configuration("SELECT c0 FROM input", 0), (Input(schema, 1, batches()),))
    assert next(results).num_rows > 0
    assert produced < 100


def test_too_little_memory_is_a_typed_error() -> None:
    schema = pa.schema([("c0", pa.int64())])
    batch = pa.record_batch([pa.array(range(8192))], schema=schema)
    with pytest.raises(MemoryLimit):
        [
            *compute(
                configuration("SELECT c0 FROM input ORDER BY c0 DESC", 1 << 10), (Input(schema, 1, iter([batch] * 10)),)
            )
        ]


def test_what_reading_raises_comes_through() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        raise Overflow("a producer's own words")
        yield

    schema = pa.schema([("c0", pa.int64())])
    with pytest.raises(Overflow, match="a producer's own words"):
        [*compute(configuration("SELECT c0 FROM input ORDER BY c0", 0), (Input(schema, 1, broken()),))]


def test_the_guide_quotes_what_is_there() -> None:
    """Each indented block of docs/wrap-an-engine.md stands in the file that the line before names."""
    text = (ROOT / "docs" / "wrap-an-engine.md").read_text()
    blocks = re.findall(r"`(ncas/engine/\w+\.py)`[^\n]*:\n\n((?:    [^\n]*\n|\n)+)", text)
    assert len(blocks) >= 3
    for name, block in blocks:
        lines = [line[4:] for line in block.rstrip().splitlines()]
        assert "\n".join(lines) in (ROOT / name).read_text(), f"{name} does not hold:\n{block}"
    parts = (ROOT / "ncas" / "engine" / f"{name}.py" for name in ("__init__", "sql", "lifecycle", "worker"))
    assert sum(len(part.read_text().splitlines()) for part in parts) < 500
