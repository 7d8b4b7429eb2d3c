"""Plans for compiler tests: tables with made-up statistics, hosts, and TPC-DS query 3 and 65 as operators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from jumpgate.compiler.plan import StatisticsFunction
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Measure,
    Operator,
    Project,
    Read,
    Sort,
    SortKey,
)
from jumpgate.dataflow.types import DataType, Schema, decimal, int32, string
from jumpgate.nca.interface import Device, Statistics

#: rows of TPC-DS tables at scale 1
ROWS = {"store_sales": 2_880_404, "date_dim": 73_049, "item": 18_000, "store": 12}
ROW_BYTES = 200


def host(name: str, cores: int = 2) -> Device:
    return Device(name, "host", cores, 8 << 30)


def statistics(rows: Mapping[str, float]) -> StatisticsFunction:
    """A statistics function that knows tables by the names of their files."""

    def estimate(files: tuple[str, ...], format: str, options: tuple[tuple[str, str], ...]) -> Statistics:
        found = rows.get(PurePosixPath(files[0]).stem)
        return Statistics() if found is None else Statistics(found, found * ROW_BYTES)

    return estimate


def table(name: str, format: str = "json", **types: DataType) -> Read:
    schema = Schema.of(**types)
    return Read((f"/data/{name}.{format}",), format, schema, tuple(range(len(schema))))


def ref(node: Operator, name: str) -> ColumnRef:
    """The only column of that name."""
    (index,) = (i for i, n in enumerate(node.schema.names) if n == name)
    return ColumnRef(node.schema[index].type, index, name)


def equals(node: Operator, name: str, value: int) -> Expression:
    column = ref(node, name)
    return bind("eq", (column, Literal(column.type.with_nullable(False), value)))


def joined(left: Operator, right: Operator, left_key: str, right_key: str, type: JoinType = JoinType.INNER) -> Join:
    return Join(left, right, type, (ref(left, left_key),), (ref(right, right_key),))


def measured(node: Operator, function: str, column: str | None, name: str) -> Measure:
    return Measure.of(function, *(() if column is None else (ref(node, column),)), name=name)


def grouped(node: Operator, by: tuple[str, ...], *measures: Measure) -> Aggregate:
    return Aggregate(node, tuple(ref(node, k) for k in by), by, measures)


def query3() -> Operator:
    """Sales of one manufacturer's brands in one month, by year: eight operators above three reads."""
    sales = table(
        "store_sales", ss_sold_date_sk=int32, ss_item_sk=int32, ss_ext_sales_price=decimal(7, 2), ss_store_sk=int32
    )
    dates = table("date_dim", d_date_sk=int32, d_year=int32, d_moy=int32, d_day_name=string)
    items = table("item", i_item_sk=int32, i_brand_id=int32, i_brand=string, i_manufact_id=int32)
    node: Operator = joined(joined(sales, dates, "ss_sold_date_sk", "d_date_sk"), items, "ss_item_sk", "i_item_sk")
    node = Filter(node, bind("and", (equals(node, "i_manufact_id", 128), equals(node, "d_moy", 11))))
    node = grouped(node, ("d_year", "i_brand", "i_brand_id"), measured(node, "sum", "ss_ext_sales_price", "sum_agg"))
    keys = (SortKey(ref(node, "d_year")), SortKey(ref(node, "sum_agg"), True), SortKey(ref(node, "i_brand_id")))
    return Sort(node, keys, 100)


def query65() -> Operator:
    """Items that sell badly in a store: one aggregate is used twice, by itself and for the store's average."""
    sales = table(
        "store_sales", ss_sold_date_sk=int32, ss_item_sk=int32, ss_store_sk=int32, ss_sales_price=decimal(7, 2)
    )
    dates = table("date_dim", d_date_sk=int32, d_month_seq=int32)
    year = Filter(dates, equals(dates, "d_month_seq", 1176))
    sold = joined(sales, year, "ss_sold_date_sk", "d_date_sk")
    revenue = grouped(sold, ("ss_store_sk", "ss_item_sk"), measured(sold, "sum", "ss_sales_price", "revenue"))
    average = grouped(revenue, ("ss_store_sk",), measured(revenue, "avg", "revenue", "ave"))
    renamed = Project(average, (ref(average, "ss_store_sk"), ref(average, "ave")), ("sb_store_sk", "ave"))
    pair = joined(revenue, renamed, "ss_store_sk", "sb_store_sk")
    stores = table("store", s_store_sk=int32, s_store_name=string)
    items = table("item", i_item_sk=int32, i_item_desc=string, i_current_price=decimal(7, 2))
    node: Operator = joined(joined(pair, stores, "ss_store_sk", "s_store_sk"), items, "ss_item_sk", "i_item_sk")
    low = bind(
        "le",
        (ref(node, "revenue"), bind("multiply", (ref(node, "ave"), Literal(DataType("float64", nullable=False), 0.1)))),
    )
    node = Filter(node, low)
    names = ("s_store_name", "i_item_desc", "revenue", "i_current_price")
    node = Project(node, tuple(ref(node, n) for n in names), names)
    return Sort(node, (SortKey(ref(node, "s_store_name")), SortKey(ref(node, "i_item_desc"))), 100)
