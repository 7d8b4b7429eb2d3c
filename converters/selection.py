"""How many rows of a table a filter chooses, and which values are left: by trying it on the rows, or on some of them.

A small table is tried whole, so that correlated columns (a year and its days' keys) are exact; of a larger one the rows
that `samples` looks at. Conditions that Arrow has no kernels for are left to whoever asks. For estimates only.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.converters.samples import distinct_of, statistics_of
from jumpgate.converters.statistics import estimate
from jumpgate.dataflow import proto
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, conjuncts
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Filter, Read
from jumpgate.dataflow.types import DataType
from jumpgate.errors import JumpgateError
from jumpgate.nca.interface import ColumnStatistics, Selection

Options = tuple[tuple[str, str], ...]


class _Unknown(Exception):
    """Arrow has no kernel for it, or no such value."""


def selection(
    files: Sequence[str], format: str, options: Options, dataflow: bytes, names: tuple[str, ...] = ()
) -> Selection | None:
    """Of a dataflow that is a Filter over a Read of the files: how many rows it chooses, and what is known of the
    values of the columns `names` together. None where the files cannot be looked at.
    """
    root, _ = proto.from_bytes(dataflow)
    if not isinstance(root, Filter) or not isinstance(root.input, Read):
        return None
    try:
        largest = max(files, key=os.path.getsize)
        status = os.stat(largest)
        total = estimate(tuple(files), format, options).rows or 0.0
        found = _Sample(largest, status.st_mtime_ns, status.st_size, format, options, root.input, total)
        return _selection(found, root, names, len(files) == 1)
    except (OSError, TypeError, ValueError, ArithmeticError, LookupError, pa.ArrowException, JumpgateError):
        return None


def _selection(sample: _Sample, root: Filter, names: tuple[str, ...], alone: bool) -> Selection | None:
    chosen: Any = None
    left: list[int] = []
    for number, term in enumerate(conjuncts(root.predicate)):
        try:
            found = sample.evaluate(term)
        except (_Unknown, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            left.append(number)
            continue
        chosen = found if chosen is None else pc.and_kleene(chosen, found)
    if chosen is None:
        return None
    columns = [sample.column(name) for name in names]
    if isinstance(chosen, pa.Scalar):  # of literals alone
        chosen = pa.array([chosen.as_py()] * sample.rows, pa.bool_())
    count = pc.sum(chosen).as_py() or 0
    all_of_them = sample.whole and alone
    if sample.whole and not left:
        columns = [column.filter(pc.fill_null(chosen, False)) for column in columns]
    column = ColumnStatistics()
    if len(columns) == 1:
        column = statistics_of(
            columns[0].to_pylist(), sample.type_of(names[0]), float(count) if sample.whole else sample.total
        )
    elif columns:
        tuples = [*zip(*(c.to_pylist() for c in columns), strict=True)]
        column = ColumnStatistics(distinct_of(tuples, float(len(tuples)) if sample.whole else sample.total))
    return Selection(sample.rows, count, all_of_them, tuple(left), column)


class _Sample:
    """Rows of one file, column by column; the same rows of each."""

    def __init__(
        self, file: str, modified_ns: int, size: int, format: str, options: Options, read: Read, total: float
    ) -> None:
        self._of = (file, modified_ns, size, format, options)
        self._read = read
        self.rows, self.whole = 0, False
        self.total = total  # rows of all files

    def type_of(self, name: str) -> DataType:
        return self._read.schema[self._read.schema.names.index(name)].type

    def column(self, name: str) -> Any:
        found, self.whole = _column(*self._of, name, self.type_of(name))
        self.rows = len(found)
        if not self.rows:
            raise LookupError(name)
        return found

    def evaluate(self, e: Expression) -> Any:
        """An Arrow array or scalar. Raises _Unknown, and Arrow's errors."""
        match e:
            case ColumnRef():
                return self.column(self._read.schema.names[e.index])
            case Literal():
                return pa.scalar(e.value)
            case Cast():
                return pc.cast(self.evaluate(e.input), _arrow(e.type), safe=False)
            case InList():
                values = self.evaluate(e.input)
                options = pa.array([o.value for o in e.options if o.value is not None])
                return pc.is_in(values, value_set=options.cast(values.type))
            case Case():
                result = self.evaluate(e.otherwise)
                for condition, value in reversed([*zip(e.branches[::2], e.branches[1::2], strict=True)]):
                    test = pc.fill_null(self.evaluate(condition), False)
                    result = pc.if_else(test, self.evaluate(value), result)
                return result
            case Call(function=function, args=args) if function in KERNELS:
                return KERNELS[function](*map(self.evaluate, args))
        raise _Unknown(str(e))


@functools.lru_cache(maxsize=256)
def _column(
    file: str, _modified_ns: int, _size: int, format: str, options: Options, name: str, type: DataType
) -> tuple[Any, bool]:
    """Values of a column as Arrow has them, and whether these are all."""
    sample = formats()[format].sample(file, dict(options), name, type)
    if any(isinstance(v, str) for v in sample.values) and not type.is_text:  # as the file says them
        return pc.cast(pa.array(sample.values, pa.string()), _arrow(type), safe=False), sample.whole
    return pa.array(sample.values, _arrow(type), safe=False), sample.whole


def _arrow(type: DataType) -> pa.DataType:
    match type.kind:
        case "decimal":
            return pa.decimal128(type.precision, type.scale)
        case "date":
            return pa.date32()
        case "timestamp":
            return pa.timestamp("us")
    return pa.type_for_alias(type.kind)


def _pattern(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def call(values: Any, pattern: pa.Scalar) -> Any:
        if not isinstance(pattern, pa.Scalar) or pattern.as_py() is None:
            raise _Unknown("a pattern that is no literal")
        return kernel(values, pattern=pattern.as_py())

    return call


def _substring(values: Any, start: pa.Scalar, length: pa.Scalar | None = None) -> Any:
    if not isinstance(start, pa.Scalar) or start.as_py() < 1 or isinstance(length, pa.Array | pa.ChunkedArray):
        raise _Unknown("a part that is not at a certain place")
    first = start.as_py() - 1
    return pc.utf8_slice_codeunits(values, first, None if length is None else first + length.as_py())


def _all_of(kernel: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: functools.reduce(kernel, args)


#: functions of which Arrow has a kernel that means the same, or nearly
KERNELS: dict[str, Callable[..., Any]] = {
    "eq": pc.equal, "ne": pc.not_equal, "lt": pc.less, "le": pc.less_equal, "gt": pc.greater, "ge": pc.greater_equal,
    "and": _all_of(pc.and_kleene), "or": _all_of(pc.or_kleene), "not": pc.invert,
    "is_null": pc.is_null, "is_not_null": pc.is_valid, "coalesce": pc.coalesce,
    "add": pc.add, "subtract": pc.subtract, "multiply": pc.multiply, "negate": pc.negate, "abs": pc.abs,
    "divide": lambda a, b: pc.divide(pc.cast(a, pa.float64()), pc.cast(b, pa.float64())),
    "like": _pattern(pc.match_like), "contains": _pattern(pc.match_substring),
    "starts_with": _pattern(pc.starts_with), "ends_with": _pattern(pc.ends_with),
    "substring": _substring, "upper": pc.utf8_upper, "lower": pc.utf8_lower, "trim": pc.utf8_trim_whitespace,
    "char_length": pc.utf8_length,
    "year": pc.year, "quarter": pc.quarter, "month": pc.month, "day": pc.day,
}  # fmt: skip
