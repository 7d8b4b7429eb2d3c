"""Merges reads of the same text files into one read of all their columns: each pass parses the whole text anyway.

Conditions stay next to the read, so that their estimates stay the same, and equal ones merge. keep_rows decides later
whether the rows are kept for all consumers; if not, more columns cost little.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.tree import project, references, unique
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.formats import PARTITIONS, formats
from jumpgate.dataflow.operators import Filter, Operator, Project, Read, rewrite


def share_scans(plan: Plan) -> Plan:
    """Share reads of the same text. Partitioned files are excluded, as conditions choose among them; so are reads that
    skip malformed rows: the columns read decide which rows those are."""
    wide = _wide_reads(plan.root)
    if not wide:
        return plan
    shared_reads = {id(read) for read in wide.values()}
    filters: dict[tuple[int, str], Filter] = {}  # by text: -0.0 equals 0.0

    def narrow(node: Operator) -> tuple[Read, tuple[Expression, ...]] | None:
        """Return a shared read and the columns of it that are visible."""
        if isinstance(node, Project) and id(node.input) in shared_reads:
            assert isinstance(node.input, Read)
            return (node.input, node.expressions) if all(isinstance(e, ColumnRef) for e in node.expressions) else None
        if isinstance(node, Read) and id(node) in shared_reads:
            return node, references(node.schema)
        return None

    def change(node: Operator) -> Operator:
        if isinstance(node, Read) and id(node) in wide:
            read = wide[id(node)]
            positions = [read.columns.index(c) for c in node.columns]
            return project(read, references(read.schema, positions), node.schema.names)
        if isinstance(node, Filter) and (below := narrow(node.input)) is not None:
            read, shown = below
            predicate = node.predicate.remap(lambda i: shown[i])
            shared = filters.setdefault((id(read), repr(predicate)), Filter(read, predicate))
            return project(shared, shown, node.schema.names)
        return node

    root = rewrite(plan.root, change)
    return plan.over(root)


def _wide_reads(root: Operator) -> dict[int, Read]:
    """Return the replacement of each read that is not alone, by identity."""
    same: defaultdict[tuple[object, ...], list[Read]] = defaultdict(list)
    for node in unique(root):
        if isinstance(node, Read) and _is_whole(node):
            same[node.files, node.format, node.options, node.file_schema].append(node)
    wide: dict[int, Read] = {}
    for reads in same.values():
        if len(reads) > 1:
            columns = tuple(sorted({c for read in reads for c in read.columns}))
            read = replace(reads[0], columns=columns, predicate=None)
            wide |= {id(r): read for r in reads}
    return wide


def _is_whole(read: Read) -> bool:
    """Return whether each pass parses all rows, and the same ones whatever the columns."""
    format, options = formats()[read.format], dict(read.options)
    return not format.columnar and format.has_same_rows(options) and not options.get(PARTITIONS.name)
