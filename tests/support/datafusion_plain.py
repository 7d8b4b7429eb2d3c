"""Plain DataFusion, with the settings that `jumpgate.connect(dialect="datafusion")` gives it, as the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import datafusion
import pyarrow as pa

from jumpgate.client.sql import intervals
from tests.support.alike import strange, unlike
from tests.support.tables import reversed_rows

#: NULLs come last whatever the direction, and strings are Arrow's plain ones
SETTINGS = {
    "datafusion.sql_parser.default_null_ordering": "nulls_last",
    "datafusion.sql_parser.map_string_types_to_utf8view": "false",
}
_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """A reference answer. keys: positions of the columns that the result is known to be sorted by. limited: these are
    all keys, or there is no order at all, and a limit leaves open which of several equal rows it takes.

    The types of an answer without rows are those before coercion, and not to be compared.
    """

    text: str
    table: pa.Table
    keys: tuple[int, ...]
    limited: bool = False


class Reference:
    """Answers queries over Arrow tables."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.tables = dict(tables)
        self._context = _context(self.tables)

    def answer(self, text: str) -> Answer:
        """Raises whatever DataFusion raises, of any class."""
        frame = self._context.sql(text)
        plan = frame.logical_plan()
        keys, every = _sorted_by(plan, frame.schema().names)
        return Answer(text, _result(frame), keys, every and plan.display().startswith("Limit"))

    def difference(self, found: pa.Table, answer: Answer) -> str | None:
        """Return the problem of `found`; empty if there is none, None if the query does not determine its answer:
        DataFusion itself gives another one when rows arrive in another order."""
        in_order = bool(_ORDERED.search(answer.text))
        if in_order and answer.table.num_rows and not unlike(found, answer.table, ordered=True):
            return ""
        types, keys = bool(answer.table.num_rows), list(answer.keys)
        wrong = unlike(found, answer.table, types=types)
        if not wrong and keys:
            wrong = unlike(found.select(keys), answer.table.select(keys), ordered=True, types=types)
        if not wrong:
            return ""
        if answer.limited and self._is_other_choice(found, answer):
            return ""
        others = list(self._again(answer.text))
        if all(other is not None and not unlike(other, answer.table) for other in others):
            return wrong
        sizes = {None if other is None else other.num_rows for other in others}
        return wrong if sizes == {answer.table.num_rows} != {found.num_rows} else None

    def _is_other_choice(self, found: pa.Table, answer: Answer) -> bool:
        """Return whether a limit may have taken these rows, some being equal in the order."""
        keys = list(answer.keys)
        if found.num_rows != answer.table.num_rows or unlike(found.slice(0, 0), answer.table.slice(0, 0)):
            return False
        if unlike(found.select(keys), answer.table.select(keys), ordered=True):
            return False
        (all_rows,) = self._context.sql(answer.text).logical_plan().inputs()
        return not strange(found, _result(self._context.create_dataframe_from_logical_plan(all_rows)))

    def _again(self, text: str) -> Iterator[pa.Table | None]:
        """The answers of another moment, and to rows in another order; None for an error."""
        turned = {name: reversed_rows(table) for name, table in self.tables.items()}
        for tables in (self.tables, turned):
            other = _context(tables, partitions=1)
            try:
                yield _result(other.sql(text))
            except Exception:  # of Rust; an answer that depends on luck is none
                yield None


def model() -> datafusion.SessionContext:
    """An empty DataFusion that keeps what statements make, with plain strings."""
    return _context({}, partitions=1)


def _context(tables: Mapping[str, pa.Table], partitions: int = 2) -> datafusion.SessionContext:
    config = datafusion.SessionConfig().with_target_partitions(partitions)
    for name, value in SETTINGS.items():
        config = config.set(name, value)
    context = datafusion.SessionContext(config)
    for name, table in tables.items():
        empty = pa.RecordBatch.from_pylist([], schema=table.schema)
        context.register_record_batches(name, [table.to_batches() or [empty]])
    return context


def _result(frame: datafusion.DataFrame) -> pa.Table:
    table: pa.Table = intervals.written(frame).to_arrow_table()
    return table


def _sorted_by(plan: datafusion.plan.LogicalPlan, names: list[str]) -> tuple[tuple[int, ...], bool]:
    """The leading keys of the plan's last sort that are columns of the result; whether these are all. Nothing sorts a
    plan without a sort."""
    while plan.display().startswith("Limit"):
        plan = plan.inputs()[0]
    if not plan.display().startswith("Sort:"):
        return (), not any(map(_sorts, plan.inputs()))
    found: list[int] = []
    for key in plan.to_variant().sort_exprs():
        name = key.expr().schema_name()
        places = [i for i, n in enumerate(names) if n == name or n == name.rsplit(".", 1)[-1]]
        if len(places) != 1:
            break
        found.append(places[0])
    return tuple(found), len(found) == len(plan.to_variant().sort_exprs())


def _sorts(plan: datafusion.plan.LogicalPlan) -> bool:
    return plan.display().startswith("Sort:") or any(map(_sorts, plan.inputs()))
