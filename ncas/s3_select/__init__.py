"""S3 Select as an accelerator: the store reads objects, filters, aggregates, and sends what is asked for.

`__init__` declares what it takes, `shapes` finds such parts of plans, `dialects` says what stores compute, `sql` writes
their SQL, `keys` that of keys of joins, `lifecycle` starts and configures instances, `worker` is the instance. That
does its tasks (`totals`, `groups`, `tops`) on each object by `source`, which asks the store (`asking`, whose `texts`
become values, as far as `pushback` lets it) or reads by ranges (`ranged`). Of CSV and JSON Lines, `forms` says how
records are written, and `supersets` what the store may leave out; `fields` and `letters` read the fields of the rest.
By index tables, which `indexing` makes, `seeking` finds the rows whose values a condition has as `intervals`. `placing`
puts the conformance kit's data into a store. A store takes part where `select = true` in its `[[store]]` says so, or an
index has its rows (docs/object-stores.md).
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Aggregate, Join, Operator, Read, Sort
from jumpgate.nca.interface import Answer, Completeness, Device, Estimates, LifeCycle, Match, Place, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.storage import Asked
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ncas.s3_select import dialects, intervals
from jumpgate.ncas.s3_select.intervals import Seek
from jumpgate.ncas.s3_select.keys import shape_of
from jumpgate.ncas.s3_select.shapes import Part, part_of
from jumpgate.ncas.s3_select.sql import EXPRESSION_MAX, refusal, unread, where
from jumpgate.ncas.s3_select.terms import inexact
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.stores import indexes, settings
from jumpgate.stores.indexes import Index, Interval
from jumpgate.stores.names import scheme
from jumpgate.words import counted

#: the time to start a Python process; the operators' work is the store's (asked)
SPEEDS = Speeds(setup_s=0.5, factor=0.0)
#: core seconds of a byte of an answer, and bytes of a value as text beside those that it has in memory
TEXT_S, TEXT_BYTES = 1e-8, 8
#: core seconds in which an instance asks for a range, in Python
RANGE_S = 1e-3
#: rows of a sample for a threshold
SAMPLED_MIN, SAMPLED_MAX = 100, 100_000
#: groups that an object's store computes, the most (PushdownDB, section VI: 6 to 8 are best)
GROUPS_MAX = 8
_NO_DUCKDB = Unsupported("DuckDB is not installed", "not_installed", "pip install 'jumpgate-nca[sql]'")


class S3Select:
    """Filters, aggregates, first rows and what joins may match of objects, computed by their store."""

    name = "s3_select"

    @property
    def operators(self) -> S3Select:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        from jumpgate.ncas.s3_select.lifecycle import SelectLifecycle

        return SelectLifecycle()

    def placing(self, folder: Path) -> AbstractContextManager[Place]:
        from jumpgate.ncas.s3_select.placing import placing

        return placing(folder)

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        return Unsupported("S3 Select reads objects, and nothing from other accelerators", "edge")

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        return self.match_estimated(node, device, dialect, None)

    def match_estimated(self, node: Operator, device: Device, dialect: Dialect, estimates: Estimates | None) -> Answer:
        part = part_of(node) if device.kind == "host" else None
        if part is None or part.filters or not all(map(scheme, part.read.files)):
            return None
        selected = _refused(part) or _selected(self.name, part, node, estimates)
        sought = _sought(self.name, part, node)
        return selected if sought is None else (selected, sought)

    def match_filtered(
        self, node: Operator, device: Device, dialect: Dialect, estimates: Estimates
    ) -> Match | Unsupported:
        part = part_of(node)
        if part is None or not isinstance(node, Join):
            return Unsupported("S3 Select looks for keys in columns of objects", "shape")
        return _refused(part) or _filtered(self.name, part, node, estimates)

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.of(match.schema, layout), TCP

    def speeds(self, device: Device) -> Speeds:
        return SPEEDS


def _refused(part: Part) -> Unsupported | None:
    if not all(settings.store_of(file).select for file in part.read.files):
        return Unsupported("a store computes only where select = true in its [[store]]", "store", "Set it there.")
    dialect = dialects.of(part.read.files)
    if no := refusal(part, dialect) or inexact(part, dialect):
        return no
    return None if _has_duckdb() else _NO_DUCKDB  # it computes what the store is not asked


def _selected(name: str, part: Part, node: Operator, estimates: Estimates | None) -> Match:
    """Return the match of a part that the store computes."""
    if isinstance(node, Aggregate | Sort):
        return _first(name, part, estimates)
    asked = None if estimates is None else _for_rows(part, node, estimates)
    operators, is_whole = (*part.operators, part.read), part.where is None and not _has_fewer(part)
    return Match(
        name, operators, Completeness.FULL, node.schema, asked=asked, needs_filter=is_whole
    )  # Select saves nothing of a whole table


def _sought(name: str, part: Part, node: Operator) -> Match | Unsupported | None:
    """Return the match of a filter whose rows an index has, by the index with the fewest; None if there is none."""
    read, where = part.read, part.where
    if where is None or read.format == "parquet" or isinstance(node, Aggregate | Sort):
        return None
    reasons, found = [], []
    for number, field in enumerate(read.schema):
        wanted = intervals.intervals(where, number, field.type)
        if wanted is None:
            continue
        index = indexes.usable(read.files, field.name, field.type.name, intervals.reading_of(read, field.name))
        if isinstance(index, str):
            reasons += [index] if index else []
            continue
        found.append((_for_ranges(index, read, wanted), index, number))
    if not found:
        return Unsupported(reasons[0], "index", "Make it anew: jumpgate index create.") if reasons else None
    if no := unread(part):
        return no
    if not _has_duckdb():
        return _NO_DUCKDB
    (asked, rows), index, number = min(found, key=lambda of: of[0][1])
    note = f"about {counted(round(rows), 'row')} by the index over {index.column}"
    operators = (*part.operators, read)
    settings = Seek(index.id, number)
    return Match(name, operators, Completeness.FULL, node.schema, note=note, asked=asked, settings=settings)


def _for_ranges(index: Index, read: Read, wanted: Sequence[Interval]) -> tuple[Asked, float]:
    """Return what the store is asked for the rows in the intervals, and about how many these are."""
    found, total = Asked(0.0, 0.0), 0.0
    for file in read.files:
        table = index.tables[file]
        rows = table.estimate(wanted)
        total += rows
        found += _ranged(*intervals.demand(rows, table.size, table.records))
        if table.place_tag:  # it is an object, too
            found += _ranged(intervals.TABLE_REQUESTS, min(intervals.TABLE_BYTES, table.place_size))
    return found, total


def _ranged(requests: float, bytes: float) -> Asked:
    return Asked(requests, bytes, core_s=bytes * TEXT_S + requests * RANGE_S)


def _has_fewer(part: Part) -> bool:
    """Return whether the part has some columns of text objects alone, which are read whole otherwise."""
    return part.read.format != "parquet" and len(part.columns) < len(part.read.file_schema)


def _filtered(name: str, part: Part, join: Join, estimates: Estimates) -> Match | Unsupported:
    """Return the match of a semi join with keys that arrive."""
    if None in part.filters[-1].columns:
        return Unsupported("S3 Select looks for keys in columns; one of these is computed", "key")
    if odd := next((key for key in join.right_keys if not (key.type.is_integer or key.type.is_text)), None):
        return Unsupported(f"S3 Select looks for keys that are integers or text; '{odd}' is {odd.type}", "key")
    room, has_hashes = EXPRESSION_MAX - len(where(part).encode()), dialects.of(part.read.files).substring
    shapes = [
        shape_of(estimates.column(join.right, key).distinct or 1.0, key.type.is_text, has_hashes, room)
        for key in join.right_keys
    ]
    found = [shape for shape in shapes if shape is not None]
    if not found:
        return Unsupported("there are more keys than the expressions of S3 Select hold", "keys")
    best = min(found, key=lambda shape: (shape.rate, shape.requests))
    asked, every, kept = _for_rows(part, join, estimates), estimates.of(join.left).rows, estimates.of(join).rows
    if asked is not None and every is not None and kept is not None:
        passing = kept + max(0.0, every - kept) * best.rate
        returned = asked.returned_bytes * passing / max(1.0, kept)
        asked = _demand(asked.requests * best.requests, returned, asked.scanned_bytes * best.requests)
    operators = (*part.operators, part.read)
    return Match(name, operators, Completeness.PRUNE, join.schema, note=str(best), asked=asked)


def _first(name: str, part: Part, estimates: Estimates | None) -> Match:
    """Return the match of an aggregate or a top-n."""
    operators, root = (*part.operators, part.read), part.root
    if isinstance(root, Aggregate):
        partial, is_half = root.partial_phase, root.phase == "partial"
        asked = None if estimates is None else _for_groups(part, root, estimates)
        completeness = Completeness.FULL if is_half else Completeness.PARTIAL  # of a hybrid plan
        return Match(name, operators, completeness, partial.schema, asked=asked)
    assert isinstance(root, Sort) and root.limit is not None
    rows = None if estimates is None else estimates.of(root.input).rows
    each = (rows or 0.0) / len(part.read.files)
    wanted = root.offset + root.limit
    # PushdownDB, section VII: the bytes that both requests return are fewest at √(K·N/α); α: a key's part of a row
    sampled = math.sqrt(wanted * each * len(part.read.schema))
    sampled = int(min(max(sampled, SAMPLED_MIN, 4 * wanted), SAMPLED_MAX))
    asked = None
    scanned, known = (None, None) if estimates is None else (estimates.stored(part.read), rows)
    if scanned is not None and known is not None:
        files = len(part.read.files)
        left = min(known, files * (sampled + wanted * max(1.0, each / sampled)))
        returned = left * (8.0 + TEXT_BYTES) * len(part.read.schema)
        asked = _demand(4.0 * files, returned, scanned)
    return Match(name, operators, Completeness.PRUNE, part.read.schema, settings=sampled, asked=asked)


def _for_rows(part: Part, node: Operator, estimates: Estimates) -> Asked | None:
    """Return what the store is asked for the rows of `node`; None if their number is unknown."""
    scanned, known = estimates.stored(part.read), estimates.of(node)
    if scanned is None or known.bytes is None or known.rows is None:
        return None
    returned = known.bytes + known.rows * len(node.schema) * TEXT_BYTES
    if part.read.format != "parquet":  # of a text, the same part as of its rows
        whole = replace(part.read, columns=tuple(range(len(part.read.file_schema))))
        returned = scanned * known.bytes / max(1.0, estimates.of(whole).bytes or known.bytes)
    return _demand(2.0 * len(part.read.files), returned, scanned)  # each is asked for its version afterwards


def _for_groups(part: Part, root: Aggregate, estimates: Estimates) -> Asked | None:
    """Return what the store is asked for an aggregate: its large groups, and the rows of the others."""
    files, scanned = float(len(part.read.files)), estimates.stored(part.read)
    checks = 0.0 if part.read.format == "parquet" else 1.0  # of the notation of integers
    rows, groups = estimates.of(root.input).rows, estimates.of(root).rows
    if scanned is None or rows is None or groups is None:
        return None
    if not root.keys:
        return _demand(2 * files * (1 + checks), files * 100 * len(root.measures), scanned * (1 + checks))
    passes = 1.0 if dialects.of(part.read.files).cases else min(groups, GROUPS_MAX)
    left = rows * max(0.0, 1.0 - GROUPS_MAX / max(1.0, groups))
    returned = left * (8.0 + TEXT_BYTES) * (len(root.keys) + len(root.measures))
    return _demand(2 * files * (2 + checks + passes), returned, scanned * (1 + checks + passes))


def _demand(requests: float, returned: float, scanned: float) -> Asked:
    return Asked(requests, returned, scanned, returned, returned * TEXT_S)


@cache
def _has_duckdb() -> bool:
    return importlib.util.find_spec("duckdb") is not None


S3_SELECT = S3Select()
