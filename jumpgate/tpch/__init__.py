"""TPC-H: the tables' schemas; data and queries are DuckDB's (jumpgate.tpcds.data)."""

from __future__ import annotations

import functools

from jumpgate.dataflow.types import Field, Schema, parse_type
from jumpgate.tpcds.suite import Suite

#: for each table its columns in file order, as jumpgate.tpcds.schemas has them
_TABLES = {
    "customer": """
        c_custkey int64; c_name string; c_address string; c_nationkey int32; c_phone string; c_acctbal decimal(15,2);
        c_mktsegment string; c_comment string
    """,
    "lineitem": """
        l_orderkey int64; l_partkey int64; l_suppkey int64; l_linenumber int64; l_quantity decimal(15,2);
        l_extendedprice decimal(15,2); l_discount decimal(15,2); l_tax decimal(15,2); l_returnflag string;
        l_linestatus string; l_shipdate date; l_commitdate date; l_receiptdate date; l_shipinstruct string;
        l_shipmode string; l_comment string
    """,
    "nation": "n_nationkey int32; n_name string; n_regionkey int32; n_comment string",
    "orders": """
        o_orderkey int64; o_custkey int64; o_orderstatus string; o_totalprice decimal(15,2); o_orderdate date;
        o_orderpriority string; o_clerk string; o_shippriority int32; o_comment string
    """,
    "part": """
        p_partkey int64; p_name string; p_mfgr string; p_brand string; p_type string; p_size int32; p_container string;
        p_retailprice decimal(15,2); p_comment string
    """,
    "partsupp": "ps_partkey int64; ps_suppkey int64; ps_availqty int64; ps_supplycost decimal(15,2); ps_comment string",
    "region": "r_regionkey int32; r_name string; r_comment string",
    "supplier": """
        s_suppkey int64; s_name string; s_address string; s_nationkey int32; s_phone string; s_acctbal decimal(15,2);
        s_comment string
    """,
}

#: rows of the tables that grow, at scale 1 (specification 3.0, section 4.2.5)
_ROWS = {
    "customer": 150_000,
    "lineitem": 6_001_215,
    "orders": 1_500_000,
    "part": 200_000,
    "partsupp": 800_000,
    "supplier": 10_000,
}
#: ends of columns' names, and the table whose rows their values number
_NUMBERED = {
    "_custkey": "customer",
    "_orderkey": "orders",
    "_partkey": "part",
    "_suppkey": "supplier",
    "c_name": "customer",
    "s_name": "supplier",
}


@functools.cache
def schema(table: str) -> Schema:
    """The schema of a TPC-H table, e.g. "lineitem"."""
    columns = (column.split() for column in _TABLES[table].split(";"))
    return Schema(tuple(Field(name, parse_type(type + "?")) for name, type in columns))


def rows(table: str, scale: float) -> float | None:
    """Return the rows of a table at a scale factor; None for one that does not grow."""
    return _ROWS[table] * scale if table in _ROWS else None


def numbered(column: str) -> str:
    """Return the table whose rows the values of a column number, or nothing.

    >>> numbered("l_orderkey"), numbered("n_nationkey")
    ('orders', '')
    """
    return next((table for end, table in _NUMBERED.items() if column.endswith(end)), "")


TPCH = Suite("tpch", "TPC-H", "tpch", "CALL dbgen(sf = {})", tuple(_TABLES), schema, rows, numbered)
