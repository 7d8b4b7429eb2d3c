"""Estimates how many rows of a table a filter selects, and which values are left, by evaluating it on all rows or a
sample.

A small table is evaluated whole, so that correlated columns (a year and its days' keys) are exact; for a larger one the
sample of `samples` is used. Conditions without Arrow kernels are left to the caller. For estimates only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.converters.samples import distinct_of, sample, statistics_of
from jumpgate.converters.statistics import estimate
from jumpgate.converters.value_counts import array_of, together
from jumpgate.dataflow import proto
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, conjuncts
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.opening import size_of, version
from jumpgate.dataflow.operators import Filter, Read
from jumpgate.dataflow.types import DataType, Field
from jumpgate.errors import JumpgateError
from jumpgate.nca.interface import ColumnStatistics, Selection
from jumpgate.stores.names import is_remote

Options = tuple[tuple[str, str], ...]


class _Unknown(Exception):
    """Arrow has no such kernel or value."""


def selection(
    files: Sequence[str], format: str, options: Options, dataflow: bytes, fields: tuple[Field, ...] = ()
) -> Selection | None:
    """Return how many rows a dataflow, a Filter over a Read of such files, selects, and the statistics of the columns
    `fields` together. None if the files cannot be read."""
    try:
        largest = max(files, key=size_of)
        if is_remote(largest) and formats()[format].columnar:  # values are data, which would be paid for twice
            return None
        changed, size = version(largest)
        total = estimate(tuple(files), format, options).rows or 0.0
        sample = _Sample((largest, changed, size, format, options))
        return _selection(sample, dataflow, fields, total, len(files) == 1)
    except (OSError, TypeError, ValueError, ArithmeticError, LookupError, pa.ArrowException, JumpgateError):
        return None


def _selection(
    sample: _Sample, dataflow: bytes, fields: tuple[Field, ...], total: float, alone: bool
) -> Selection | None:
    chosen, left, rows, whole = _chosen(sample, dataflow)
    columns = []
    for field in fields:
        values, whole = sample.column(field)
        rows = len(values)
        columns.append(values)
    if chosen is None:
        return None
    if isinstance(chosen, pa.Scalar):  # of literals alone
        chosen = pa.array([chosen.as_py()] * rows, pa.bool_())
    count = pc.sum(chosen).as_py() or 0
    if whole and not left:
        columns = [column.filter(pc.fill_null(chosen, False)) for column in columns]
    column = ColumnStatistics()
    if len(columns) == 1:
        column = statistics_of(columns[0], fields[0].type, float(count) if whole else total)
    elif columns:
        column = ColumnStatistics(distinct_of(together(columns), float(len(columns[0])) if whole else total))
    return Selection(rows, count, whole and alone, left, column)


@functools.lru_cache(maxsize=64)
def _chosen(sample: _Sample, dataflow: bytes) -> tuple[Any, tuple[int, ...], int, bool]:
    """Return the mask of the conditions that can be evaluated on the sample (None: none), the numbers of the others,
    how many rows were evaluated, and whether these are all."""
    read, predicate = _filter(dataflow)
    trial = _Trial(sample, read)
    chosen: Any = None
    left: list[int] = []
    for number, term in enumerate(conjuncts(predicate)):
        try:
            found = trial.evaluate(term)
        except (_Unknown, pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            left.append(number)
            continue
        chosen = found if chosen is None else pc.and_kleene(chosen, found)
    return chosen, tuple(left), trial.rows, trial.whole


@functools.lru_cache(maxsize=64)
def _filter(dataflow: bytes) -> tuple[Read, Expression]:
    root, _ = proto.from_bytes(dataflow)
    if not isinstance(root, Filter) or not isinstance(root.input, Read):
        raise ValueError("not a Filter over a Read")
    return root.input, root.predicate


class _Sample(NamedTuple):
    """Sampled rows of one file, column by column; the same rows for each column. `file` is a file, its time of change,
    its size, format and options."""

    file: tuple[str, int, int, str, Options]

    def column(self, field: Field) -> tuple[Any, bool]:
        """Return the values, and whether these are all. Raises LookupError if there are none."""
        found, whole = _column(self.file, field.name, field.type)
        if not len(found):
            raise LookupError(field.name)
        return found, whole


class _Trial:
    """Evaluates expressions over a sample."""

    def __init__(self, sample: _Sample, read: Read) -> None:
        self._sample = sample
        self._read = read
        self.rows, self.whole = 0, False

    def evaluate(self, e: Expression) -> Any:
        """Return an Arrow array or scalar. Raises _Unknown, and Arrow's errors."""
        match e:
            case ColumnRef():
                found, self.whole = self._sample.column(self._read.schema[e.index])
                self.rows = len(found)
                return found
            case Literal():
                return pa.scalar(e.value)
            case Cast() if e.type.is_nested:  # other names
                return self.evaluate(e.input)
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


def _column(file: tuple[str, int, int, str, Options], name: str, type: DataType) -> tuple[Any, bool]:
    """Return the values of a column in Arrow, and whether these are all."""
    found = sample(*file, name, type)
    if isinstance(found.values, pa.Array | pa.ChunkedArray):
        return array_of(found.values).cast(_arrow(type), safe=False), found.whole
    if any(isinstance(v, str) for v in found.values) and not type.is_text:  # in the file's notation
        return pc.cast(pa.array(found.values, pa.string()), _arrow(type), safe=False), found.whole
    return pa.array(found.values, _arrow(type), safe=False), found.whole


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
            raise _Unknown("a pattern that is not a literal")
        return kernel(values, pattern=pattern.as_py())

    return call


def _substring(values: Any, start: pa.Scalar, length: pa.Scalar | None = None) -> Any:
    if not isinstance(start, pa.Scalar) or start.as_py() < 1 or isinstance(length, pa.Array | pa.ChunkedArray):
        raise _Unknown("a part that is not at a certain place")
    first = start.as_py() - 1
    return pc.utf8_slice_codeunits(values, first, None if length is None else first + length.as_py())


def _all_of(kernel: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: functools.reduce(kernel, args)


#: functions with an equivalent, or nearly equivalent, Arrow kernel
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
