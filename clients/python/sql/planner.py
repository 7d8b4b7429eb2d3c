"""Plans texts: DuckDB binds them over a connection's tables, and the mode, the service's estimates and earlier runs say
what of them runs as jobs."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from jumpgate.client.duckdb.decide import SMALL, small
from jumpgate.client.duckdb.reasons import Kept, Stays
from jumpgate.client.sql.errors import InvalidSql, typed
from jumpgate.client.sql.parsing import kinds_of, named
from jumpgate.client.sql.plan import Cut, Parameters, Plan, Split, cut_of, left
from jumpgate.client.sql.tables import FILES_MAX, Scan, as_read
from jumpgate.dataflow import located
from jumpgate.stores.names import is_remote

if TYPE_CHECKING:
    from jumpgate.client.duckdb.planning import Offloaded
    from jumpgate.client.sql.catalog import Table
    from jumpgate.client.sql.workspace import Known, Opened, Workspace

#: of a table, from which on each text is planned over the columns that it names
WIDE_COLUMNS = 1000
#: the place of an error in a text below one line more
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)

Values = list[Any] | dict[str, Any]


class Planner:
    """Plans the queries of one workspace, which remembers what a text is. Thread-safe."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._types: dict[str, pa.DataType] = {}  # Arrow's, by DuckDB's

    def plan(self, text: str, parameters: Parameters, mode: str) -> tuple[Plan, Opened]:
        """Plan a query; return the tables, too, as the plan found them. Raises InvalidSql."""
        values = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)
        with self._workspace.rights():  # of tables in stores, it asks how many rows they have
            return self._planned(text, values, mode)

    def _planned(self, text: str, values: Values, mode: str) -> tuple[Plan, Opened]:
        opened = self._workspace.open(text)
        known = opened.known
        if values or not known.lasts:
            known = replace(known, description=None, whole=None, parts=None)
        reason = self._early(opened, known, mode)
        if known.description is None:
            known.description = self._described(opened, known, values, is_planned=not reason)
        types, schema = known.description
        split = left(reason) if reason else self._split(opened, known, values, mode)
        return Plan(text, values, mode, types, schema, tuple(scan.table for scan in opened.scans), split), opened

    def _early(self, opened: Opened, known: Known, mode: str) -> str:
        """Why DuckDB answers, without a look at the plan; empty if that is worth it."""
        if mode == "never":
            return "offload = never"
        if mode == "always" or self._may_be_large(known):
            return ""
        has_jobs = self._workspace.is_started or any(scan.needs_job for scan in opened.scans)
        return self._workspace.auto.early(known.text, _bytes(opened.scans), has_jobs)

    def _described(self, opened: Opened, known: Known, values: Values, is_planned: bool) -> tuple[list[str], pa.Schema]:
        """DuckDB's types of the result, which is not computed, and its schema. A text that is planned is bound over
        stand-ins, which are there already, unless something is wrong with it. Raises InvalidSql."""
        if is_planned and not known.is_own and not values and self._workspace.has_stand_ins:
            with (
                suppress(Stays, InvalidSql, duckdb.Error),
                self._workspace.stand_ins.seeing(_read(opened.scans)) as seen,
            ):
                return self._describe(seen, known.text, values)
        with opened.seeing() as database:
            return self._describe(database, known.text, values)

    def _describe(self, database: duckdb.DuckDBPyConnection, text: str, values: Values) -> tuple[list[str], pa.Schema]:
        try:
            if values and len(kinds_of(text)) == 1:  # with parameters, `sql` would run the text
                described = database.execute(f"DESCRIBE {text}", values).fetchall()
                names, types = [name for name, *_ in described], [type for _, type, *_ in described]
            else:
                found = database.sql(text, params=values or None)
                names, types = found.columns, [str(type) for type in found.types]
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            raise (self._mistake(text, values) or error) from None
        try:
            return types, self._schema(database, names, types)
        except duckdb.Error as error:  # structs without names, as of row(1, 2), have types that nobody can write
            if not isinstance(typed(error), InvalidSql):
                raise
            nothing = database.execute(f"FROM (\n{text}\n) LIMIT 0", values or None).to_arrow_table()
            return types, pa.schema(list(zip(names, nothing.schema.types, strict=True)))

    def _schema(self, database: duckdb.DuckDBPyConnection, names: Sequence[str], types: Sequence[str]) -> pa.Schema:
        """The schema of a result with these names and DuckDB's types."""
        if unknown := sorted({type for type in types if type not in self._types}):
            shown = ", ".join(f"CAST(NULL AS {type})" for type in unknown)
            found = database.execute(f"SELECT {shown} LIMIT 0").to_arrow_table().schema
            self._types.update(zip(unknown, found.types, strict=True))
        return pa.schema([(name, self._types[type]) for name, type in zip(names, types, strict=True)])

    def _mistake(self, text: str, values: Values) -> duckdb.Error | None:
        """DuckDB's error for a text that it does not bind, where it sees all tables, empty, with all their columns."""
        if self._workspace.database.is_pinned:
            return None  # there may be tables that only `main` sees
        found = self._workspace.database.cursor()
        for table in self._workspace.tables:
            found.register(table.name, table.schema.empty_table())
        try:
            found.execute(f"EXPLAIN\n{text}", values)  # which shows the place, too, and does not run it
        except duckdb.Error as error:
            return type(error)(_LINE.sub(_line_above, str(error)))
        return None

    def _split(self, opened: Opened, known: Known, values: Values, mode: str) -> Split:
        workspace, scans = self._workspace, opened.scans
        if known.whole is None:
            known.whole = self._whole(opened, known, values)
        whole = known.whole
        if mode == "always":
            if not isinstance(whole, str):
                return Split((whole,))
            if known.parts is None:
                known.parts = self._parts(scans, known, values, whole)
            return known.parts
        if isinstance(whole, str):
            return left(whole)
        if self._may_be_large(known) and small(whole.files.files):
            return left(SMALL)
        whole.files.fill()
        files = sum(len(scan.table.files) for scan in scans if scan.needs_job)  # DuckDB has no look at statistics
        reason = workspace.auto.reason(known.text, whole.operator, workspace.session, files)
        return left(reason) if reason else Split((whole,))

    def _may_be_large(self, known: Known) -> bool:
        """Return whether a text may read files that no table of the connection stands for."""
        names = named(known.text)
        return names is not None and known.is_own and (names.files or bool(self._workspace.database.words()))

    def _whole(self, opened: Opened, known: Known, values: Values) -> Cut | str:
        """The text as one job, or why it is none."""
        assert known.description is not None
        try:
            if known.is_own:
                found = _by_database(opened, known.text, values)
            else:
                found = self._workspace.stand_ins.offload(known.text, values, _read(opened.scans))
        except Stays as stays:
            return str(stays)
        same = [str(type) for type in found.types] == known.description[0]
        return cut_of(found) if same else "the result has other types"

    def _parts(self, scans: Sequence[Scan], known: Known, values: Values, why: str) -> Split:
        """Offload parts of a text that is no job as a whole, where that can be done; why: it is none."""
        try:
            if known.is_own:
                raise Stays("it reads more than the tables of the connection")
            found = self._workspace.stand_ins.cut(known.text, values, _read(scans))
        except Stays as stays:
            return left(why if str(stays) == why else f"{why}; of its parts: {stays}")
        root, *rest = found.kept
        return Split(tuple(map(cut_of, found.cuts)), (Kept(root.kind, why), *rest), found.text)


def _by_database(opened: Opened, text: str, values: Values) -> Offloaded:
    """The dataflow of a text as the database plans it. Raises Stays."""
    from jumpgate.client.duckdb import planning
    from jumpgate.client.duckdb.parameters import with_values

    with opened.seeing() as database:
        return planning.offload(database, with_values(database, text, values) if values else text)


def _read(scans: Sequence[Scan]) -> list[tuple[Table, pa.Schema]]:
    """The tables that a query reads, with the columns that DuckDB has of them; of wide tables those that the text may
    name, as DuckDB's time to bind columns grows with their square."""
    return [(scan.table, pa.schema(map(as_read, _planned(scan)))) for scan in scans]


def _planned(scan: Scan) -> Iterable[pa.Field]:
    schema = scan.table.schema
    if len(schema) <= WIDE_COLUMNS:
        return [*schema]  # one stand-in serves all texts
    return map(schema.field, scan.columns or schema.names[:1])


def _bytes(scans: Sequence[Scan]) -> float:
    """Bytes of the columns that a text may read here, as files have them; infinity of files that are elsewhere, or
    many."""
    total = 0.0
    for scan in scans:
        table, share = scan.table, max(1, len(scan.columns)) / max(1, len(scan.table.schema))
        if table.data is not None:
            total += table.data.nbytes * share
        elif len(table.files) > FILES_MAX or any(is_remote(f) or located.split(f)[0] for f in table.files):
            return math.inf
        else:
            size = sum(os.path.getsize(file) for file in table.files if os.path.exists(file))
            total += size if table.is_converted else size * share
    return total


def _line_above(match: re.Match[str]) -> str:
    return f"LINE {int(match[1]) - 1}:".ljust(len(match[0]))
