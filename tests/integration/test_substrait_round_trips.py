"""What is written as Substrait reads back as the same dataflow, and DataFusion computes the same from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from datafusion import SessionContext
from datafusion.substrait import Consumer, Serde
from substrait.plan_pb2 import Plan

from jumpgate.client.sql import local
from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.frontend import Frontend
from jumpgate.client.sql.logical import relations as logical
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.substrait import Kept, Reader, from_plan, to_plan
from jumpgate.study.suites import SUITES
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import SAID_BY_SUBSTRAIT, Generator
from jumpgate.testing.shapes import shape

SAID = (*SAID_BY_SUBSTRAIT, "window")

SEEDS = range(40)
#: of which DataFusion takes the plans: no extract (of a word), no NULL marks, no names that repeat in one relation
DATAFUSION_SEEDS = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 15, 16, 17, 18, 19, 20)


@pytest.mark.parametrize("name", ["tpcds", "tpch"])
def test_every_query_reads_back_as_it_was(name: str) -> None:
    """Read back it may hold an operator as others; written once more it stays as it is, but for the names of columns
    below the root, which Substrait does not have."""
    suite, frontend = SUITES[name], Frontend(local.context(), "duckdb")
    tables: dict[str, Read] = {}
    known: list[Table] = []
    for table in suite.tables:
        schema = suite.schema(table)
        read = Read((f"/data/{table}.parquet",), "parquet", schema, tuple(range(len(schema))))
        tables[table] = read
        known.append(Table(table, oracle.arrow_schema(schema), read))
        frontend.changed(table, known[-1])
    queries = suite.queries()
    for number, text in queries.items():
        root = logical.Reader(tables).relation(frontend.plan(text, (), known).root)
        assert isinstance(root, Operator), str(root)
        written = to_plan(root, tables)
        again = _read(written, tables)
        assert shape(_read(to_plan(again, tables), tables)) == shape(again), f"query {number}"
        assert from_plan(written, tables).schema == root.schema, f"query {number}"
    assert len(queries) == {"tpcds": 99, "tpch": 22}[name]


def _read(plan: Plan, tables: Mapping[str, Operator]) -> Operator:
    """Without the root's names."""
    root = Reader(plan, tables).relation(plan.relations[0].root.input)
    assert not isinstance(root, Kept), str(root)
    return root


@pytest.mark.parametrize("seed", SEEDS)
def test_random_dataflows_read_back_and_compute_the_same(seed: int, tmp_path: Path) -> None:
    """What is read back may hold one operator as others (a condition of an inner join as a filter): it gives the same
    rows, and written once more it stays as it is."""
    root = Generator(seed, tmp_path, ("parquet", "orc", "csv"), SAID).dataflow(1 + seed % 5)
    once = from_plan(to_plan(root), {})
    assert once.schema.names == root.schema.names
    assert shape(from_plan(to_plan(once), {})) == shape(once)
    assert not oracle.difference(oracle.run(once), root)


@pytest.mark.parametrize("seed", DATAFUSION_SEEDS)
def test_datafusion_computes_the_same_from_the_plan(seed: int, tmp_path: Path) -> None:
    root = Generator(seed, tmp_path, ("parquet",), SAID_BY_SUBSTRAIT).dataflow(1 + seed % 5)
    reads = {node.files: node for node in root.walk() if isinstance(node, Read)}
    tables = {f"t{i}": read for i, read in enumerate(reads.values())}
    context = SessionContext()
    for name, read in tables.items():
        context.register_parquet(name, read.files[0])
    plan = Serde.deserialize_bytes(to_plan(root, tables).SerializeToString())
    logical = Consumer.from_substrait_plan(context, plan)
    found = context.create_dataframe_from_logical_plan(logical).to_arrow_table()
    assert not oracle.difference(_typed(found, root), root)


def _typed(found: pa.Table, root: Operator) -> pa.Table:
    """With the dataflow's names and types: DataFusion has narrower sums and wider years."""
    schema = oracle.arrow_schema(root.schema)
    columns = [found.column(i).cast(field.type) for i, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)
