"""Text to plan: DataFusion parses and optimises over the tables' schemas alone; the plan leaves in its own encoding."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import datafusion
import pyarrow as pa
from datafusion.plan import LogicalPlan

from jumpgate.client.sql import duckdb_text, full_joins, functions, intervals, limits, local, membership, refusals
from jumpgate.client.sql.catalog import Table
from jumpgate.client.sql.cuts import scans
from jumpgate.client.sql.errors import InvalidSql, TooLarge, from_datafusion, invalid_sql
from jumpgate.client.sql.logical import multisets, zeros
from jumpgate.client.sql.logical.nodes import Node
from jumpgate.client.sql.logical.plan_pb2 import Plan, Scan
from jumpgate.client.sql.preparation import prepare
from jumpgate.client.sql.rewriting import Rewritten
from jumpgate.client.sql.tokens import parts_of
from jumpgate.dataflow.substrait import parse_own
from jumpgate.errors import JumpgateError, Overflow

TOO_DEEP = "the query nests too deeply; chains of AND, OR or arithmetic can often be an IN list or a join with a table"
READ_ONLY = datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
#: how DataFusion's display shows the scan of a table
_SCAN = re.compile(r"^ *TableScan: (.*?)(?: projection=\[.*\].*)?$", re.MULTILINE)
#: filters that a scan may apply before the filter above it decides
_HINTS = re.compile(r"(?<=\])(, partial_filters=\[.*\])(?=$|, fetch=)", re.MULTILINE)
#: numbers with a point; what DataFusion makes of a float beside a decimal
_POINT = re.compile(r"[0-9]\.|\.[0-9]")
_MIXED = re.compile(r"Decimal(?:128)?\((?:[^()]*,)?\d+, ?(?:15|7)\)", re.IGNORECASE)
#: in errors about what IN was written as
_OF_MEMBERSHIP = ("in list", "non-executable")
#: in the display of an expression
_SUBQUERY = "<subquery>"
#: in a plan, of a subquery that DataFusion could not make a join of
_CORRELATED = "outer_ref("
_FETCH = re.compile(r"^(TableScan: .*), fetch=\d+( \[.*)?$")

Parameters = Sequence[Any] | Mapping[str, Any]


@dataclass(frozen=True)
class Planned:
    """An optimised query over tables of which only the schemas are known.

    root: its plan; `unencoded` says why DataFusion's encoding does not hold it, else it is empty and the plan is also
    encoded. schema: of the result as SQL has it (names may repeat). tables: names of those that it reads. shown: the
    plan as DataFusion prints it. exact: numbers with a point are decimals, else floats. as_text: DataFusion's plan of
    the text is this one.
    """

    text: str
    root: Node
    schema: pa.Schema
    tables: tuple[str, ...]
    shown: str
    unencoded: str = ""
    exact: bool = False
    as_text: bool = True


class Frontend:
    """Plans queries over tables of which it only knows the schemas. Thread-safe."""

    def __init__(self, context: datafusion.SessionContext, dialect: str) -> None:
        self._context = context
        self._cautious: datafusion.SessionContext | None = None
        self._dialect = dialect
        self._exact: weakref.WeakKeyDictionary[datafusion.SessionContext, bool] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def changed(self, name: str, table: Table | None) -> None:
        """Follows the catalog."""
        with self._lock:
            if self._context.table_exist(quoted(name)):
                self._context.deregister_table(quoted(name))
            if table is not None:
                self._context.register_arrow(quoted(name), "file:///jumpgate", schema=table.schema, file_extension="")

    def plan(self, text: str, parameters: Parameters, tables: Sequence[Table]) -> Planned:
        """Raises InvalidSql. parameters: for $1, $2 … or, as a mapping, for $name; typed values, never text."""
        try:
            planned = limits.with_stack(lambda: self._plan(text, parameters, tables))
        except InvalidSql as error:
            if "Time64" in error.message:
                written = functions.times_in_microseconds(text)
            else:
                written = membership.expand(text, every=True)
            if written != text:  # IN or times may be what DataFusion cannot plan
                with suppress(InvalidSql):
                    return limits.with_stack(lambda: self._plan(written, parameters, tables))
            if any(said in error.message for said in _OF_MEMBERSHIP):
                refusals.check(text, *parts_of(text))
            raise
        if _CORRELATED in planned.shown and (written := membership.expand(text, exists=True)) != text:
            return limits.with_stack(lambda: self._plan(written, parameters, tables))
        return planned

    def frame(
        self, context: datafusion.SessionContext, planned: Planned, parameters: Parameters, tables: Sequence[Table]
    ) -> datafusion.DataFrame:
        """The query over the tables of `context`, which DataFusion runs from its text. Raises InvalidSql."""
        with self._lock:
            return limits.with_stack(lambda: self._frame(context, planned.text, parameters, tables, planned.exact))

    def _plan(self, text: str, parameters: Parameters, tables: Sequence[Table]) -> Planned:
        """With exact numbers, if the text has any that are, unless one meets a float: DataFusion would make a decimal
        of that, which cannot hold every float."""
        with self._lock:
            if self._dialect == "duckdb" and _POINT.search(text):
                try:
                    planned = self._planned(text, parameters, tables, exact=True)
                except (InvalidSql, Overflow) as error:
                    if isinstance(error, Overflow) and not _MIXED.search(error.message):
                        raise
                    try:
                        return self._planned(text, parameters, tables, exact=False)
                    except JumpgateError:
                        raise error from None
                if not _MIXED.search(planned.shown):
                    return planned
            return self._planned(text, parameters, tables, exact=False)

    def _planned(self, text: str, parameters: Parameters, tables: Sequence[Table], exact: bool) -> Planned:
        frame = self._frame(self._context, text, parameters, tables, exact)
        try:
            names = duckdb_text.names(frame.schema().names)
            mended = self._without_odd_zeros(frame.logical_plan())
            if mended is not None:
                frame = self._context.create_dataframe_from_logical_plan(mended)
            logical = frame.optimized_logical_plan()
            # types are only settled in the optimised plan, names are those of the text
            fields = self._context.create_dataframe_from_logical_plan(logical).schema()
            schema = pa.schema([pa.field(n, f.type, f.nullable) for f, n in zip(fields, names, strict=True)])
            shown = str(logical.display_indent())
        except BaseException as error:  # a panic of DataFusion is not an Exception
            raise planning_error(error, Rewritten(text, text), tables) from error
        for field in schema:
            if kind := intervals.kind(field.type):
                raise InvalidSql(
                    f"column '{field.name}' is an interval of {kind}, which pyarrow cannot hold; cast it to text"
                )
        plan, reason = self._encoded(logical, shown)
        scanned = {name.rpartition(".")[2] for name in _SCAN.findall(shown)}
        used = tuple(table.name for table in tables if table.name in scanned)
        return Planned(
            text,
            Node(plan, logical, self._context, _SUBQUERY in shown),
            schema,
            used,
            _HINTS.sub("", shown),
            reason,
            exact=exact,
            as_text=mended is None and not _has_multisets(text),
        )

    def _frame(
        self,
        context: datafusion.SessionContext,
        text: str,
        parameters: Parameters,
        tables: Sequence[Table],
        exact: bool,
    ) -> datafusion.DataFrame:
        """Names are taken as they are written; in another case only if no such name is known."""
        expanded = full_joins.expand(membership.expand(functions.expand(text)))
        prepared = prepare(expanded, self._dialect)
        try:
            return self._parsed(context, prepared, parameters, tables, exact)
        except InvalidSql as error:
            spelled = prepare(expanded, self._dialect, tables)
            if spelled.text == prepared.text:
                raise
            try:
                return self._parsed(context, spelled, parameters, tables, exact)
            except InvalidSql:
                raise error from None

    def _parsed(
        self,
        context: datafusion.SessionContext,
        prepared: Rewritten,
        parameters: Parameters,
        tables: Sequence[Table],
        exact: bool,
    ) -> datafusion.DataFrame:
        values = parameter_values(parameters)
        if self._exact.get(context, False) != exact:
            context.sql(f"SET datafusion.sql_parser.parse_float_as_decimal = {str(exact).lower()}").collect()
            self._exact[context] = exact
        try:
            frame = context.sql(prepared.text, options=READ_ONLY, param_values=values)
            return intervals.written(multisets.counted(frame, context) if _has_multisets(prepared.text) else frame)
        except InvalidSql:
            raise
        except BaseException as error:  # a panic of DataFusion is not an Exception
            raise planning_error(error, prepared, tables) from error

    def write_schema(self, scan: Scan, table: Table) -> None:
        """The schema of a registered table, in the encoding."""
        encoded = self._context.table(quoted(table.name)).logical_plan().to_bytes(self._context)
        scan.schema.CopyFrom(Plan.FromString(encoded).scan.schema)

    def _without_odd_zeros(self, logical: LogicalPlan) -> LogicalPlan | None:
        """The plan, which is not optimised yet, as `zeros` mends it; None where there is nothing to mend."""
        if not zeros.may_have(logical.display_indent_schema()):
            return None
        if self._cautious is None:
            self._cautious = zeros.cautious(local.context())
        analysed = self._cautious.create_dataframe_from_logical_plan(logical).optimized_logical_plan()
        plan, reason = self._encoded(analysed, str(analysed.display_indent()))
        return None if reason else zeros.mended(Node(plan, analysed, self._context))

    def _encoded(self, logical: LogicalPlan, shown: str) -> tuple[Plan, str]:
        """The encoded plan, and why it cannot be trusted: DataFusion's encoding holds nearly all plans, and what comes
        back from it is compared with the plan that it was made from."""
        try:
            encoded = logical.to_bytes(self._context)
            again = LogicalPlan.from_bytes(self._context, encoded)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            return Plan(), "DataFusion does not encode this plan"
        plan = parse_own(encoded, Plan)
        if again != logical and canonical(again.display_indent_schema()) != canonical(logical.display_indent_schema()):
            return Plan(), "DataFusion's encoding of this plan is another plan"
        if sum(1 for _ in scans(plan, _SUBQUERY in shown)) != len(_SCAN.findall(shown)):
            return Plan(), "some tables of this plan are not where they can be found"
        return plan, ""


def quoted(name: str) -> str:
    """A table's name as an identifier that is taken as it is written."""
    return '"' + name.replace('"', '""') + '"'


def _has_multisets(text: str) -> bool:
    words = parts_of(text)[1] if "ALL" in text.upper() else ()
    return any(b == "ALL" and a in ("EXCEPT", "INTERSECT") for a, b in pairwise(words))


def canonical(display: str) -> list[tuple[int, str]]:
    """A plan's display, (depth, line) each, without what the encoding changes and no result depends on: unions of
    unions are one union, a scan does not say how many rows the limit above it takes."""
    found: list[tuple[int, str]] = []
    unions: list[int] = []  # displayed depths of the unions on the path to the line; those below the first are dropped
    dropped: list[int] = []
    for line in display.splitlines():
        text = line.lstrip(" ")
        depth = (len(line) - len(text)) // 2
        dropped = [d for d in dropped if d < depth]
        unions = [d for d in unions if d < depth]
        if text.startswith("Union") and unions and unions[-1] == depth - 1:
            unions.append(depth)
            dropped.append(depth)
            continue
        if text.startswith("Union"):
            unions.append(depth)
        found.append((depth - len(dropped), _FETCH.sub(r"\1\2", text)))
    return found


def parameter_values(parameters: Sequence[Any] | Mapping[str, Any]) -> dict[str, pa.Scalar] | None:
    """Typed literals by name; raises InvalidSql for a value that SQL has no type for."""
    pairs = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters, 1)
    values = {}
    for name, value in pairs:
        try:
            values[str(name)] = value if isinstance(value, pa.Scalar) else pa.scalar(value)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InvalidSql(f"parameter {name}: {type(value).__name__} is not an SQL value: {error}") from None
    return values or None


def planning_error(error: BaseException, prepared: Rewritten, tables: Sequence[Table]) -> BaseException:
    """Return DataFusion's error in planning as a typed one: about the text, or about values that it computed."""
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
        return error
    said = str(error)
    if any(word in said for word in ("recursion", "Recursion", "decode plan")):
        return TooLarge(TOO_DEEP)
    if any(word in said for word in ("Arrow error: Cast error", "Divide by zero error", "Arrow error: Arithmetic")):
        return from_datafusion(error)
    return invalid_sql(error, prepared.original, [table.name for table in tables], prepared.place)
