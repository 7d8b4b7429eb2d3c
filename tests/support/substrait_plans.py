"""Substrait plans as another engine makes them: DataFusion's, of SQL over tables that have schemas only."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from substrait.plan_pb2 import Plan

from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.types import DataType, Field, Schema, date, decimal, int32, string
from jumpgate.testing.oracle import arrow_schema

_NUMBER, _MONEY = int32.with_nullable(True), decimal(7, 2, True)
_TABLES: dict[str, tuple[tuple[str, DataType], ...]] = {
    "store_sales": (
        ("ss_sold_date_sk", _NUMBER),
        ("ss_item_sk", _NUMBER),
        ("ss_ext_sales_price", _MONEY),
        ("ss_quantity", _NUMBER),
    ),
    "item": (
        ("i_item_sk", _NUMBER),
        ("i_brand", string),
        ("i_manufact_id", _NUMBER),
        ("i_category", string),
        ("i_rec_start_date", date),
    ),
}
#: inputs of a reader: joins of all kinds, grouping sets, sets, subqueries, functions
QUERIES = (
    "select i_brand, sum(ss_ext_sales_price) from store_sales, item where ss_item_sk = i_item_sk "
    "and i_manufact_id = 128 group by i_brand order by 2 desc limit 10",
    "select i_category, i_brand, sum(ss_quantity), grouping(i_brand) from store_sales join item "
    "on ss_item_sk = i_item_sk group by rollup(i_category, i_brand)",
    "select * from store_sales left join item on ss_item_sk = i_item_sk and ss_quantity > i_manufact_id",
    "select i_brand from item where exists (select 1 from store_sales where ss_item_sk = i_item_sk) or i_item_sk = 1",
    "select i_brand from item where i_item_sk not in (select ss_item_sk from store_sales where ss_item_sk is not null)",
    "select ss_item_sk from store_sales intersect select i_item_sk from item",
    "select ss_item_sk from store_sales except select i_item_sk from item",
    "select ss_item_sk from store_sales union select i_item_sk from item union all select ss_quantity from store_sales",
    "select count(*), count(distinct ss_quantity), max(ss_ext_sales_price) from store_sales",
    "select case when i_category in ('a', 'b') then upper(i_brand) else substring(i_brand, 1, 3) || 'x' end, "
    "coalesce(i_manufact_id, 0) + 1 from item where i_brand like 'a%' and i_rec_start_date > date '2000-01-01'",
    "select i_brand from item where i_manufact_id > (select max(ss_quantity) from store_sales) "
    "order by i_brand nulls first",
)


def tables(format: str = "parquet") -> dict[str, Operator]:
    """The tables that QUERIES read, as files that need not exist."""
    found: dict[str, Operator] = {}
    for name, columns in _TABLES.items():
        schema = Schema(tuple(Field(*c) for c in columns))
        found[name] = Read((f"/data/{name}.{format}",), format, schema, tuple(range(len(columns))))
    return found


def plan(sql: str, tables: Mapping[str, Operator]) -> Plan:
    """DataFusion's optimised plan of `sql`."""
    from datafusion import SessionContext
    from datafusion.substrait import Producer

    context = SessionContext()
    for name, table in tables.items():
        empty = pa.RecordBatch.from_pylist([], arrow_schema(table.schema))
        context.register_record_batches(name, [[empty]])
    optimised = context.sql(sql).optimized_logical_plan()
    return Plan.FromString(Producer.to_substrait_plan(optimised, context).encode())
