"""Partial offload of a plan: the largest parts that can be dataflows are cut out; the operators above them become a
text for DuckDB over the parts' results. DuckDB binds that text again; a plan that is not the same stays whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

from jumpgate.client.duckdb import planning
from jumpgate.client.duckdb.above import CUT, Writer, cut_name
from jumpgate.client.duckdb.canonical import Canonical, same
from jumpgate.client.duckdb.plan import read_plan
from jumpgate.client.duckdb.planning import Offloaded
from jumpgate.client.duckdb.reasons import Kept, Parts, Stays
from jumpgate.client.duckdb.scanned import conditions_of
from jumpgate.client.duckdb.sources import Files, quoted
from jumpgate.client.duckdb.translate import is_sorted, translate
from jumpgate.client.duckdb.types import BOOLEAN

#: cuts of one plan, each of which is a job
CUTS_MAX = 8
_SCANS = ("LOGICAL_GET", "LOGICAL_CHUNK_GET", "LOGICAL_EXPRESSION_GET", "LOGICAL_DUMMY_SCAN", "LOGICAL_EMPTY_RESULT")
#: operators whose rows are in the order of their inputs
_KEEPING = (
    "LOGICAL_PROJECTION", "LOGICAL_FILTER", "LOGICAL_UNION", "LOGICAL_UNNEST", "LOGICAL_MATERIALIZED_CTE",
    "LOGICAL_CTE_REF",
)  # fmt: skip
#: operators whose rows are in no order that DuckDB promises
_UNSORTED = (
    "LOGICAL_AGGREGATE_AND_GROUP_BY", "LOGICAL_COMPARISON_JOIN", "LOGICAL_ANY_JOIN", "LOGICAL_DELIM_JOIN",
    "LOGICAL_CROSS_PRODUCT", "LOGICAL_DISTINCT", "LOGICAL_EXCEPT", "LOGICAL_INTERSECT",
)  # fmt: skip
#: aggregates that do not depend on the order of rows
_UNORDERED = frozenset((
    "count", "count_star", "sum", "sum_no_overflow", "avg", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or",
    "bit_xor", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "median", "quantile_cont",
    "quantile_disc", "approx_count_distinct", "product", "histogram",
))  # fmt: skip
_WHOLE = ("UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING", "CURRENT_ROW_RANGE")


def cut(
    connection: duckdb.DuckDBPyConnection, text: str, files: Callable[[], Files], tables: Mapping[str, str]
) -> Parts:
    """The parts of a text. files: how the leaves of a cut are read; tables: names of those that the connection reads
    from files, by the files. Raises Stays."""
    if reason := planning.supported():
        raise Stays(reason)
    data = planning.bound_plan(connection, text)
    require_plan(data)
    try:
        cutter = _Cutter(files)
        try:
            above = cutter.below(data["plans"][0], False, "the plan is no dataflow as a whole")
            if not cutter.cuts:
                raise Stays(next((k.reason for k in reversed(cutter.kept) if k.reason), "no part is a dataflow"))
            written = Writer(tables).write(above).sql
            _require_same(connection, written, above, cutter.cuts, tables)
        except BaseException:
            for found in cutter.cuts:
                found.files.close()
            raise
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise Stays(f"the plan is written in a way that is not known: {error!r}") from None
    return Parts(tuple(cutter.cuts), written, tuple(cutter.kept))


def require_plan(data: Any) -> None:
    """Raises Stays, with DuckDB's reason, where the plan is none of one statement."""
    if not isinstance(data, dict) or data.get("error") is not False or len(data.get("plans", ())) != 1:
        raise Stays("DuckDB does not hand out the plan of one statement")


@dataclass
class _Cutter:
    files: Callable[[], Files]
    cuts: list[Offloaded] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)

    def below(self, data: Any, ordered: bool, why: str) -> Any:
        """Return a node that is kept, with cuts in the place of what is offloaded below it; ordered: the order of its
        rows bears on the answer."""
        self.kept.append(Kept(data["type"].removeprefix("LOGICAL_").replace("_", " ").lower(), why))
        inner = [_needs_order(data, ordered)] * len(data["children"])
        if data["type"] == "LOGICAL_MATERIALIZED_CTE":
            inner[0] = any(_needs_order(node, ordered) for node in _nodes(data["children"][1]))
        children = [self._cut(child, needs) for child, needs in zip(data["children"], inner, strict=True)]
        return {**data, "children": children}

    def _cut(self, data: Any, ordered: bool) -> Any:
        """Return the node, or the cut that it is."""
        try:
            found = self._translated(data, ordered)
        except Stays as stays:
            return self.below(data, ordered, str(stays))
        self.cuts.append(found)
        if len(self.cuts) > CUTS_MAX:
            raise Stays(f"it has more than {CUTS_MAX} parts that are dataflows")
        return {"type": CUT, "number": len(self.cuts) - 1, "width": len(found.types), "children": []}

    def _translated(self, data: Any, ordered: bool) -> Offloaded:
        nodes = list(_nodes(data))
        if not any(node["type"] == "LOGICAL_GET" for node in nodes):
            is_of_cte = any(node["type"] == "LOGICAL_CTE_REF" for node in nodes)  # whose rows are where it is computed
            raise Stays("" if is_of_cte else "it reads no table")
        if not any(map(_computes, nodes)):
            raise Stays("a table that is only read is read by DuckDB")
        node = read_plan({"error": False, "plans": [data]})
        files = self.files()
        try:
            part = translate(node, files)
            if ordered and not is_sorted(part.operator) and _has_order(data):
                raise Stays("the order of its rows counts, which is that of a file")
        except BaseException:
            files.close()
            raise
        return Offloaded(part.operator, tuple(type or BOOLEAN for type in part.types), files)


def _nodes(data: Any) -> Iterator[Any]:
    yield data
    for child in data["children"]:
        yield from _nodes(child)


def _computes(data: Any) -> bool:
    """Return whether a node does more than read."""
    if data["type"] == "LOGICAL_GET":
        return bool(conditions_of(data))
    return data["type"] not in ("LOGICAL_PROJECTION", *_SCANS)


def _has_order(data: Any) -> bool:
    """Return whether DuckDB gives the rows of a node in an order, as in that of files."""
    return data["type"] not in _UNSORTED and (not data["children"] or any(map(_has_order, data["children"])))


def _needs_order(data: Any, ordered: bool) -> bool:
    """Return whether the order of a node's input bears on the answer; ordered: that of its own rows does."""
    kind = data["type"]
    if kind in _KEEPING:
        return ordered
    if kind == "LOGICAL_WINDOW":
        return ordered or any(map(_is_sensitive, data["expressions"]))
    if kind == "LOGICAL_AGGREGATE_AND_GROUP_BY":
        return any(e["order_bys"] is None and e["name"] not in _UNORDERED for e in data["expressions"])
    return bool(kind == "LOGICAL_LIMIT")


def _is_sensitive(data: Any) -> bool:
    if data["orders"]:
        return False
    whole = data["start"] in _WHOLE and data["end"] in _WHOLE
    return not (data["type"] == "WINDOW_AGGREGATE" and data["name"] in _UNORDERED and whole)


def _require_same(
    connection: duckdb.DuckDBPyConnection, text: str, above: Any, cuts: list[Offloaded], tables: Mapping[str, str]
) -> None:
    """Bind the text, and compare its plan with the operators above the cuts. Raises Stays."""
    names = [cut_name(number) for number in range(len(cuts))]
    try:
        for name, found in zip(names, cuts, strict=True):
            columns = ", ".join(f"c{i} {type}" for i, type in enumerate(found.types))
            connection.execute(f"CREATE OR REPLACE TEMP TABLE {quoted(name)} ({columns})")
        bound = planning.bound_plan(connection, text, planning.WRITTEN)
    except duckdb.Error as error:
        raise Stays(f"DuckDB: {error}") from None
    finally:
        for name in names:
            connection.execute(f"DROP TABLE IF EXISTS temp.{quoted(name)}")
    require_plan(bound)
    numbers = {name: number for number, name in enumerate(names)}
    ours, theirs = (Canonical(tables, numbers).form(plan) for plan in (above, bound["plans"][0]))
    if not same(ours, theirs):
        raise Stays("the operators above what can be offloaded mean something else as a text")
