"""The queries of TPC-DS and TPC-H for Presto and Trino: types that DuckDB infers are written out."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from jumpgate.tpcds.suite import Suite
from jumpgate.tpch import TPCH

COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)


def queries(suite: Suite) -> dict[int, str]:
    if suite is TPCH:  # columns' new names cannot be grouped by
        return {n: re.sub(r"GROUP BY\s+supplier_no", "GROUP BY l_suppkey", t) for n, t in suite.queries().items()}
    dates = {f.name for table in suite.tables for f in suite.schema(table).fields if str(f.type) in ("date", "date?")}
    return {number: translated(text, dates) for number, text in suite.queries().items()}


def translated(text: str, dates: set[str]) -> str:
    """`dates` are the columns of this type: text that is compared with them is one, a number added to them is days."""
    tree = sqlglot.parse_one(text, read="duckdb")

    def is_date(node: object) -> bool:
        return (
            isinstance(node, exp.Column) and node.name in dates or isinstance(node, exp.Cast) and node.is_type("date")
        )

    for node in list(tree.find_all(*COMPARISONS)):
        operands = list(node.iter_expressions())
        if any(map(is_date, operands)):
            for literal in operands:
                if isinstance(literal, exp.Literal) and literal.is_string:
                    literal.replace(exp.cast(literal.copy(), "date"))
    for node in list(tree.find_all(exp.Add)):
        if is_date(node.this) and node.expression.is_int:
            days = {"this": node.this.copy(), "expression": node.expression.copy(), "unit": exp.var("DAY")}
            node.replace(exp.DateAdd(**days))
    _name_groupings(tree)
    return tree.sql("presto")


def for_duckdb(suite: Suite, number: int) -> str:
    """DuckDB's text with the servers' quotients of decimals where what follows depends on them: DuckDB's is a float,
    theirs is rounded, half away from zero, to the digits of the operands."""
    tree = sqlglot.parse_one(suite.queries()[number], read="duckdb")
    for node in list(tree.find_all(exp.Div)):
        if all(
            isinstance(operand, exp.Cast) and operand.is_type("decimal") for operand in (node.this, node.expression)
        ):
            _round(node, max(int(operand.to.expressions[1].name) for operand in (node.this, node.expression)))
    for window in list(tree.find_all(exp.Window)):
        if isinstance(window.this, exp.Avg) and isinstance(window.this.this, exp.Sum):
            _round(window, digits=2)  # as all of money has
    return tree.sql("duckdb")


def _round(node: exp.Expr, digits: int) -> None:
    """Twice, as a float just below a half is one; `exp.cast` would make one of two casts."""
    near = exp.Cast(this=node.copy(), to=exp.DataType.build("decimal(38, 10)"))
    node.replace(exp.Cast(this=near, to=exp.DataType.build(f"decimal(38, {digits})")))


def _name_groupings(tree: exp.Expr) -> None:
    """ORDER BY says grouping(…) by the name that SELECT gives it: Presto takes the columns there for SELECT's."""
    for select in tree.find_all(exp.Select):
        order = select.args.get("order")
        for alias in select.expressions:
            if order and isinstance(alias, exp.Alias) and alias.this.find(exp.Grouping):
                for node in list(order.find_all(type(alias.this))):
                    if node == alias.this:
                        node.replace(exp.column(alias.alias))
