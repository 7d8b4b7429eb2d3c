"""Rows and bytes of every operator's output, from what is known about files and textbook selectivities.

Join sizes follow Selinger et al. (SIGMOD 1979) with the number of rows of the tables behind the keys in place of the
numbers of distinct values: |L ⋈ R| = |L|·|R| / min(|base(L)|, |base(R)|), which is exact for a foreign key.
"""

from __future__ import annotations

from jumpgate.compiler.plan import Exchange, Mapped, StatisticsFunction
from jumpgate.dataflow.expressions import Call, Case, ColumnRef, Expression, InList, Literal
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Prune,
    Read,
    Sort,
    UnionAll,
)
from jumpgate.dataflow.types import Schema
from jumpgate.nca.interface import Completeness, Statistics
from jumpgate.nca.matching import pruned_leaf

UNKNOWN = Statistics()
STRING_BYTES = 16  #: average length where nothing is known
EQUAL, RANGE, LIKE, NULL = 0.05, 0.3, 0.1, 0.1
GROUPS_PER_ROW = 0.1  #: groups of an aggregate whose keys say nothing
PRUNED = 0.1  #: of the rows that do not matter, how many a pruning accelerator lets pass


def row_bytes(schema: Schema) -> int:
    """Bytes of one row as columns in memory."""
    return sum(STRING_BYTES if f.type.is_text else f.type.width for f in schema) + len(schema) // 8 + 1


def selectivity(predicate: Expression) -> float:
    """The fraction of rows for which `predicate` is TRUE."""
    if isinstance(predicate, Literal):
        return 1.0 if predicate.value else 0.0
    if isinstance(predicate, InList):
        return min(1.0, EQUAL * len(predicate.options))
    if isinstance(predicate, Case) or not isinstance(predicate, Call):
        return 0.5
    parts = [selectivity(a) for a in predicate.args if a.type.kind == "bool"]
    match predicate.function:
        case "and":
            product = 1.0
            for part in parts:
                product *= part
            return product
        case "or":
            missed = 1.0
            for part in parts:
                missed *= 1.0 - part
            return 1.0 - missed
        case "not":
            return 1.0 - parts[0] if parts else 0.5
        case "eq" | "is_not_distinct":
            return EQUAL
        case "ne" | "is_distinct":
            return 1.0 - EQUAL
        case "lt" | "le" | "gt" | "ge":
            return RANGE
        case "like" | "starts_with" | "ends_with" | "contains":
            return LIKE
        case "is_null":
            return NULL
        case "is_not_null":
            return 1.0 - NULL
    return 0.5


class Estimator:
    """Answers for any node of one compilation; remembers by identity, and so keeps the nodes alive."""

    def __init__(self, statistics: StatisticsFunction | None) -> None:
        self._statistics = statistics
        self._files: dict[tuple[object, ...], Statistics] = {}
        self._known: dict[int, tuple[Operator, Statistics]] = {}

    def files(self, read: Read) -> Statistics:
        """What is known about the files themselves: all rows, and their bytes on disk."""
        key = (read.files, read.format, read.options)
        if key not in self._files:
            self._files[key] = self._statistics(*key) if self._statistics else UNKNOWN
        return self._files[key]

    def of(self, node: Operator) -> Statistics:
        """Rows and bytes of `node`'s output; unknown where any file below is."""
        found = self._known.get(id(node))
        if found is None:
            rows = self._rows(node)
            bytes = None if rows is None else rows * row_bytes(node.schema)
            found = self._known[id(node)] = (node, Statistics(rows, bytes))
        return found[1]

    def input_bytes(self, node: Operator) -> float | None:
        """Bytes that `node` itself takes in: of its files, or of its inputs' outputs."""
        if isinstance(node, Read):
            return self.files(node).bytes
        total = 0.0
        for child in node.inputs:
            bytes = self.of(child).bytes
            if bytes is None:
                return None
            total += bytes
        return total

    def base_rows(self, node: Operator, key: Expression) -> float | None:
        """Rows of the unfiltered table (or of the groups) in which the key column originates."""
        while True:
            if not isinstance(key, ColumnRef):
                return self.of(node).rows
            index = key.index
            if isinstance(node, Read):
                return self.files(node).rows
            if isinstance(node, Project):
                key, node = node.expressions[index], node.input
            elif isinstance(node, Join) and index < len(node.left.schema) + len(node.right.schema):
                width = len(node.left.schema)
                if index < width or node.type in ("semi", "anti"):
                    node = node.left
                elif node.type == "mark":
                    return self.of(node).rows
                else:
                    node, key = node.right, ColumnRef(key.type, index - width)
            elif isinstance(node, Filter | Sort | Exchange):
                node = node.input
            else:
                return self.of(node).rows

    def _rows(self, node: Operator) -> float | None:
        if isinstance(node, Read):
            return self.files(node).rows
        if isinstance(node, Mapped):
            return self._mapped(node)
        inputs = [self.of(i).rows for i in node.inputs]
        known = [r for r in inputs if r is not None]
        if not inputs or len(known) < len(inputs):
            return None
        rows = known[0]
        match node:
            case Filter():
                return rows * selectivity(node.predicate)
            case Join():
                return self._join(node, known[0], known[1])
            case Aggregate():
                return self._groups(node.input, node.keys, rows)
            case Distinct():
                return max(1.0, rows * 0.5)
            case Limit():
                return min(rows, float(node.count))
            case Sort() if node.limit is not None:
                return min(rows, float(node.limit))
            case UnionAll():
                return sum(known)
            case Prune():
                return rows
        return rows

    def _join(self, node: Join, left: float, right: float) -> float:
        matched = left * right
        if node.left_keys:
            bases = [
                min(self.base_rows(node.left, lk) or left, self.base_rows(node.right, rk) or right)
                for lk, rk in zip(node.left_keys, node.right_keys, strict=True)
            ]
            matched /= max(1.0, *bases)
        if node.residual is not None:
            matched *= selectivity(node.residual)
        match node.type:
            case "left":
                return max(matched, left)
            case "right":
                return max(matched, right)
            case "full":
                return max(matched, left, right)
            case "semi":
                return min(matched, left)
            case "anti":
                return max(left - matched, left * GROUPS_PER_ROW)
            case "mark":
                return left
        return matched

    def _groups(self, node: Operator, keys: tuple[Expression, ...], rows: float) -> float:
        if not keys:
            return 1.0
        groups = 1.0
        for key in keys:
            base = self.base_rows(node, key)
            groups *= min(base if base is not None else rows, max(1.0, rows * GROUPS_PER_ROW))
            if groups >= rows * 0.5:
                return max(1.0, rows * 0.5)
        return max(1.0, groups)

    def _mapped(self, node: Mapped) -> float | None:
        result = self.of(node.match.operators[0]).rows
        if node.match.completeness is not Completeness.PRUNE or result is None:
            return result
        before = self.of(pruned_leaf(node.match.operators)).rows
        return result if before is None else min(before, result + (before - min(before, result)) * PRUNED)
