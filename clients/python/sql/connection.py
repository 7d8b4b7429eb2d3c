"""`jumpgate.connect`: SQL over files and Arrow tables, as much of it as possible on accelerators."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datafusion
from substrait.algebra_pb2 import Rel
from substrait.plan_pb2 import Plan

from jumpgate.client.session import Session
from jumpgate.client.sql import calibrate, cuts, decide, local
from jumpgate.client.sql.catalog import Catalog, Table, arrow_table, file_table
from jumpgate.client.sql.experience import Experience
from jumpgate.client.sql.frontend import Frontend, Planned
from jumpgate.client.sql.query import Query
from jumpgate.codegen import cache
from jumpgate.converters.prober import prober
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import ConfigError

OFFLOAD = ("auto", "always", "never")
#: texts of which a connection remembers the plan
PLANS_MAX = 256
#: a mode whose time is unknown is tried if it is estimated to take no more than so many times what another one took
WORTH_TRYING = 2.0


class Connection:
    """Tables and queries over them. Thread-safe; a context manager.

    address and options are those of jumpgate.client.session.Session: None starts a service inside this process when
    the first query needs one. offload: `auto` takes to accelerators what is faster there (as estimated or, of a query
    that ran before, as measured), `always` all that they can do, `never` nothing; each query may say otherwise.
    """

    def __init__(self, address: str | None = None, *, offload: str = "auto", **options: Any) -> None:
        self.offload = _offload(offload)
        self.tables = Catalog(self._changed)
        self.local: datafusion.SessionContext = local.context()
        self._frontend = Frontend()
        self._address, self._options = address, options
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._plans: dict[tuple[str, str, str], tuple[Planned, cuts.Split]] = {}  # of these tables
        self._version = 0  # of the tables
        self._experience = Experience()
        if address is not None:
            self.session.jobs()  # that nobody answers there is said at once
        prober.hold()  # its start is no part of the first query's time
        self._holds = True

    @property
    def session(self) -> Session:
        """The session with the service, connected at first use."""
        with self._lock:
            if self._session is None:
                self._session = Session(self._address, **self._options)
            return self._session

    def register(
        self,
        name: str,
        source: Any,
        *,
        format: str | None = None,
        schema: Schema | Mapping[str, DataType | str] | None = None,
        **options: object,
    ) -> Table:
        """Makes `source` a table: a path, glob, directory or list of them, or anything with Arrow's C stream.

        format: json, csv, parquet or orc, by the suffix if not given. schema: that of the files, {name: type}; without
        one it is read from Parquet and ORC, and sampled from JSON and CSV, where decimals look like floats. options:
        those of jumpgate.client.read. Raises FileUnreadable, InvalidDataflow, MalformedData, SchemaMismatch.
        """
        if isinstance(source, str | os.PathLike) or (
            isinstance(source, Sequence) and all(isinstance(s, str | os.PathLike) for s in source)
        ):
            return self.tables.add(file_table(name, source, format, schema, options))
        return self.tables.add(arrow_table(name, source))

    def deregister(self, name: str) -> None:
        """Forgets a table; raises NotFound."""
        self.tables.drop(name)

    def table(self, name: str) -> Query:
        """All rows of a table; raises NotFound."""
        self.tables[name]
        return self.sql('SELECT * FROM "{}"'.format(name.replace('"', '""')))

    def sql(
        self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = (), *, offload: str | None = None
    ) -> Query:
        """Plans a query; nothing runs before its result is asked for.

        parameters: for $1, $2 … in the text, or a mapping for $name: values, typed by Arrow, never text in the query.
        Raises InvalidSql, which says where the text is wrong and what was perhaps meant.
        """
        mode = self.offload if offload is None else _offload(offload)
        start = time.perf_counter()
        if mode == "auto":
            mode = self._advised(text, parameters)
        planned, found = self._planned(text, parameters, mode)
        query = Query(self, text, planned, found)
        query.timings.planning_s = time.perf_counter() - start
        return query

    def spool_folder(self) -> Path:
        return cache.folder("spool")

    def close(self) -> None:
        """Cancels what still runs, and ends the service that this connection started; may be called twice."""
        with self._lock:
            if self._session is not None:
                self._session.close()
            if self._holds:
                prober.release()
            self._holds = False

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _changed(self, name: str, table: Table | None) -> None:
        if table is None:
            if self.local.table_exist(name):
                self.local.deregister_table(name)
        else:
            if table.read is None or local.cannot_read(table.read) is None:
                local.register(self.local, table)
        self._frontend.changed(name, table)
        with self._lock:
            self._version += 1
            self._plans.clear()
        self._experience.forget()

    def _advised(self, text: str, parameters: Sequence[Any] | Mapping[str, Any]) -> str:
        """The mode that was the fastest for a text; `auto`, which estimates, for one of which little is known.

        Once the time of one mode has settled, the other one is tried, too, unless it is estimated to be far slower.
        """
        took = self._experience.settled(text)
        if not took:
            return "auto"
        best = min(took, key=lambda kind: took[kind])
        if len(took) > 1:
            return best
        _, found = self._planned(text, parameters, "always")
        if found.rest is not None:
            return best
        ours, theirs = decide.seconds(found.cuts[0].operator, calibrate.load())
        other, estimate = ("always", ours) if best == "never" else ("never", theirs)
        return other if estimate < WORTH_TRYING * took[best] else best

    def learn(self, query: Query, seconds: float) -> None:
        """Notes how long a query took that was read to its end without a pause; infinity: it failed."""
        kind = "always" if query.split.rest is None else "auto" if query.split.cuts else "never"
        self._experience.note(query.text, kind, seconds)

    def _planned(
        self, text: str, parameters: Sequence[Any] | Mapping[str, Any], mode: str
    ) -> tuple[Planned, cuts.Split]:
        """The plan of a text, and how it is cut. What runs whole at one place is remembered; else the rest names its
        tables anew each time."""
        speeds = calibrate.load() if mode == "auto" else None
        key = (text, mode, repr(speeds))
        with self._lock:
            version, known = self._version, self._plans.get(key)
        if known is not None and not parameters:
            return known
        planned = self._frontend.plan(text, parameters, self.tables.names)
        found = self._split(planned, mode, speeds)
        if not parameters and (found.rest is None or not found.cuts):
            with self._lock:
                if version == self._version:
                    self._plans[key] = planned, found
                if len(self._plans) > PLANS_MAX:
                    del self._plans[next(iter(self._plans))]
        return planned, found

    def _split(self, planned: Planned, mode: str, speeds: calibrate.Speeds | None) -> cuts.Split:
        if mode == "never":
            self._check_readable(planned.plan)
            return cuts.nothing(planned.plan, "offload = never")
        relation = self._reader(planned.plan)
        prefix = f"jumpgate_cut_{next(self._numbers)}_"
        decision = decide.decision(speeds)
        return cuts.split(planned.plan, relation, decision, self._frontend.schema_of, prefix)

    def _check_readable(self, plan: Plan) -> None:
        for rel in (rel for root in cuts.roots(plan) for rel in cuts.below(root)):
            if rel.WhichOneof("rel_type") == "read" and (name := "".join(rel.read.named_table.names)) in self.tables:
                read = self.tables[name].read
                if read is not None and (reason := local.cannot_read(read)):
                    raise ConfigError(f'table {name!r}: {reason}; use offload = "auto" or "always"', table=name)

    def _reader(self, plan: Plan) -> Callable[[Rel], Operator | str]:
        from jumpgate.dataflow.substrait import Kept, Reader

        reader = Reader(plan, {table.name: table.read for table in self.tables if table.read is not None})

        def relation(rel: Rel) -> Operator | str:
            found = reader.relation(rel)
            return found.reason if isinstance(found, Kept) else found

        return relation


def _offload(mode: str) -> str:
    if mode not in OFFLOAD:
        raise ConfigError(f"offload is {mode!r}; it can be {', '.join(OFFLOAD)}")
    return mode
