"""Every aggregate function, each declared once beside a plain reference body.

`rows` of a body hold the values of the arguments that are computed for each row, and after them those of the order;
rows are in that order. What C++ holds for each is in codegen/measures, which is complete against AGGREGATES.
"""

from __future__ import annotations

import functools
import math
import operator
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.types import DataType, bool_, decimal, float64, int64, string

Types = tuple[DataType, ...]
Row = tuple[Any, ...]
Rows = list[Row]

_COUNT = int64.with_nullable(False)
_NUMBER = float64.with_nullable(False)
#: steps in which DataFusion interpolates between two values
STEPS = 1_000_000


@dataclass(frozen=True)
class States:
    """The partial states of an aggregate. types: (arguments, order) → the columns that a partial aggregate emits. of:
    rows → a state. merged: states, ordered as rows are, → a state. value: a state → the result."""

    types: Callable[[Types, Types], Types]
    of: Callable[[Rows], Row]
    merged: Callable[[Rows], Row]
    value: Callable[[Row], Any]


@dataclass(frozen=True)
class AggregateFunction:
    """A declaration. `result`: argument types → result type; raises TypeMismatch. `arity`: arguments that are computed
    for each row; literals of the types `options` follow, which `option_rule` checks, raising TypeMismatch.

    A row with a NULL argument does not count, unless the aggregate `keeps_nulls`. `ordered`: an order determines the
    first rows; rows that tie come in the order of the argument, NULL last. Without `states` it needs all rows of a
    group in one place, and is computed by `body(rows, *options)`. `distinct_of`: it is this aggregate over distinct
    values. `expanded`: compilers rewrite it in terms of others (sketches.py), and nothing else computes it. substrait,
    datafusion: names there.
    """

    name: str
    doc: str
    result: Callable[[Types], DataType]
    arity: int = 1
    options: Types = ()
    option_rule: Callable[..., None] | None = None
    states: States | None = None
    body: Callable[..., Any] | None = None
    keeps_nulls: bool = False
    ordered: bool = False
    numeric: bool = False
    distinct_of: str = ""
    expanded: bool = False
    substrait: tuple[str, ...] = ()
    datafusion: tuple[str, ...] = ()

    @property
    def has_parts(self) -> bool:
        """Return whether partial aggregates can be combined; otherwise all rows of a group must come to one place."""
        return self.states is not None and not self.distinct_of

    @property
    def plain(self) -> str:
        """Return the aggregate that is computed after equal values are dropped."""
        return self.distinct_of or self.name

    def type_of(self, types: Types, options: Sequence[Any] = ()) -> DataType:
        """Return the result's type for the values of a row. Raises TypeMismatch."""
        if len(types) != self.arity or len(options) != len(self.options):
            takes = f"{self.arity + len(self.options)} arguments" if self.arity else "no argument"
            raise TypeMismatch(f"{self.name} takes {takes}")
        if self.numeric and not all(t.is_numeric for t in types):
            raise TypeMismatch(f"{self.name} of {', '.join(t.name for t in types)}")
        if self.option_rule is not None:
            self.option_rule(*options)
        return self.result(types)

    def value(self, rows: Rows, *options: Any) -> Any:
        """Return the result for rows that count, by the reference body."""
        if self.states is not None:
            return self.states.value(self.states.of(rows))
        assert self.body is not None
        return self.body(rows, *options)


AGGREGATES: dict[str, AggregateFunction] = {}


def _declare(name: str, doc: str, result: Callable[[Types], DataType], **properties: Any) -> None:
    """Declare an aggregate. `distinct`: it has a form over distinct values."""
    distinct = properties.pop("distinct", False)
    assert name not in AGGREGATES
    AGGREGATES[name] = found = AggregateFunction(name, doc, result, **properties)
    if distinct:
        form = f"{name}_distinct"
        AGGREGATES[form] = replace(
            found, name=form, doc=f"{name} of the values that differ", distinct_of=name, substrait=(), datafusion=()
        )


# ---- types ----------------------------------------------------------------------------------------------------------


def _constant(type: DataType) -> Callable[[Types], DataType]:
    return lambda types: type


def _same(types: Types) -> DataType:
    return types[0].with_nullable(True)


def _summed(types: Types) -> DataType:
    if types[0].kind == "decimal":
        return decimal(38, types[0].scale)
    return int64 if types[0].is_integer else float64


def _middle(types: Types) -> DataType:
    return types[0].with_nullable(True) if types[0].kind == "decimal" else float64


def _comparable(types: Types) -> DataType:
    if types[0].is_nested or types[0].is_opaque:
        raise TypeMismatch(f"approx_distinct of {types[0].name}")
    return _COUNT


def _text(types: Types) -> DataType:
    if types[0].kind != "string":
        raise TypeMismatch(f"string_agg of {types[0].name}; cast it to string")
    return string


# ---- counts, sums and extremes --------------------------------------------------------------------------------------


def _total(values: Iterable[Any]) -> Any:
    known = [v for v in values if v is not None]
    if not known:
        return None
    return _float_sum(known) if isinstance(known[0], float) else sum(known)


def _float_sum(values: list[float]) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # infinities of both signs
        return sum(values)


def _added(rows: Rows) -> Row:
    return tuple(map(_total, zip(*rows, strict=True)))


def _extreme(best: Callable[[Iterable[Any]], Any]) -> States:
    def of(rows: Rows) -> Row:
        known = [r[0] for r in rows if r[0] is not None]
        return (best(known) if known else None,)

    return States(lambda types, order: (_same(types),), of, of, lambda s: s[0])


def _least(values: Iterable[Any]) -> Any:
    return min(values, key=ordinal)


def _greatest(values: Iterable[Any]) -> Any:
    return max(values, key=ordinal)


def ordinal(value: Any) -> Any:
    """Return a key that orders values; NaN is the largest number."""
    return (value != value, 0.0 if value != value else value) if isinstance(value, float) else value


_COUNTED = States(
    lambda types, order: (_COUNT,),
    lambda rows: (len(rows),),
    lambda states: (sum(s[0] for s in states),),
    lambda s: s[0],
)
_declare("sum", "exact in 128 bits; int64, decimal(38, s) or float64: what does not fit is an error", _summed,
         numeric=True, distinct=True, substrait=("sum",), datafusion=("sum",),
         states=States(lambda types, order: (_summed(types),), lambda rows: (_total(r[0] for r in rows),),
                       lambda states: (_total(s[0] for s in states),), lambda s: s[0]))  # fmt: skip
_declare("count", "how many values are not NULL", _constant(_COUNT), distinct=True,
         substrait=("count",), datafusion=("count",), states=_COUNTED)  # fmt: skip
_declare("approx_distinct", "about how many values there are that differ and are not NULL: seldom wrong by more than "
         "2 %, exact or nearly so for few; from the set of values follows the result", _comparable, expanded=True,
         substrait=("approx_count_distinct",), datafusion=("approx_distinct",))  # fmt: skip
_declare("count_star", "how many rows there are", _constant(_COUNT), arity=0, states=_COUNTED)
_declare("min", "of any type; NaN is the largest number; of booleans AND", _same,
         substrait=("min", "bool_and"), datafusion=("min", "bool_and", "any_value"),
         states=_extreme(_least))  # fmt: skip
_declare("max", "of any type; NaN is the largest number; of booleans OR", _same,
         substrait=("max", "bool_or"), datafusion=("max", "bool_or"), states=_extreme(_greatest))  # fmt: skip
_declare("avg", "float64", _constant(float64), numeric=True, distinct=True,
         substrait=("avg",), datafusion=("avg",),
         states=States(lambda types, order: (_summed(types), _COUNT),
                       lambda rows: (_total(r[0] for r in rows), len(rows)),
                       lambda states: (_total(s[0] for s in states), sum(s[1] for s in states)),
                       lambda s: float(s[0]) / s[1] if s[1] else None))  # fmt: skip


def _integral(types: Types) -> DataType:
    if not types[0].is_integer:
        raise TypeMismatch(f"bits of {types[0].name}")
    return types[0].with_nullable(True)


#: measure → (description, operation on two values)
BITS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "bit_and": ("bits that all have", operator.and_),
    "bit_or": ("bits that any has", operator.or_),
    "bit_xor": ("bits that an odd number of them has", operator.xor),
}


def _joined_bits(on: Callable[[int, int], int]) -> States:
    def joined(rows: Rows) -> Row:
        return (functools.reduce(on, (r[0] for r in rows if r[0] is not None)) if rows else None,)

    return States(lambda types, order: (_integral(types),), joined, joined, lambda s: s[0])


for _name, (_doc, _on) in BITS.items():
    _declare(
        _name, f"{_doc}, of integers", _integral, substrait=(_name,), datafusion=(_name,), states=_joined_bits(_on)
    )


# ---- moments of one value: (count, mean, sum of squared differences from it) ----------------------------------------


def _moments(rows: Rows) -> Row:
    numbers = [float(r[0]) for r in rows]
    mean = statistics.fmean(numbers) if numbers else 0.0
    return (len(numbers), mean, _float_sum([(v - mean) ** 2 for v in numbers]))


def _merged_moments(states: Rows) -> Row:
    count = sum(s[0] for s in states)
    mean = sum(s[0] * s[1] for s in states) / count if count else 0.0
    return count, mean, _float_sum([s[2] + s[0] * (s[1] - mean) ** 2 for s in states if s[0]])


def _spread(missing: int, root: bool) -> States:
    def value(s: Row) -> float | None:
        if s[0] <= missing:
            return None
        variance = s[2] / (s[0] - missing)
        return math.sqrt(variance) if root else float(variance)

    return States(lambda types, order: (_COUNT, _NUMBER, _NUMBER), _moments, _merged_moments, value)


#: measure → (count minus degrees of freedom, whether it is a square root)
MOMENTS = {"stddev": (1, True), "stddev_pop": (0, True), "variance": (1, False), "variance_pop": (0, False)}
_MOMENT_NAMES = {
    "stddev": (("stddev", "stddev_samp", "std_dev"), ("stddev",)),
    "stddev_pop": (("stddev_pop",), ("stddev_pop",)),
    "variance": (("variance", "var", "var_samp"), ("var",)),
    "variance_pop": (("var_pop",), ("var_pop",)),
}
for _name, (_missing, _root) in MOMENTS.items():
    _whose = "of a sample; NULL for fewer than two values" if _missing else "of a population"
    _declare(_name, f"float64, by Welford; {_whose}", _constant(float64), numeric=True, distinct=True,
             substrait=_MOMENT_NAMES[_name][0], datafusion=_MOMENT_NAMES[_name][1],
             states=_spread(_missing, _root))  # fmt: skip


# ---- moments of pairs (y, x): (count, means of y and x, sums of (y-ȳ)², (x-x̄)², (y-ȳ)(x-x̄)) -------------------------


def _comoments(rows: Rows) -> Row:
    ys, xs = [float(r[0]) for r in rows], [float(r[1]) for r in rows]
    if not rows:
        return (0, 0.0, 0.0, 0.0, 0.0, 0.0)
    y, x = _float_sum(ys) / len(ys), _float_sum(xs) / len(xs)
    products = ([(v - y) ** 2 for v in ys], [(v - x) ** 2 for v in xs])
    return (
        len(rows),
        y,
        x,
        *map(_float_sum, products),
        _float_sum([(b - y) * (a - x) for b, a in zip(ys, xs, strict=True)]),
    )


def _merged_comoments(states: Rows) -> Row:
    count = sum(s[0] for s in states)
    if not count:
        return (0, 0.0, 0.0, 0.0, 0.0, 0.0)
    y, x = (sum(s[0] * s[i] for s in states) / count for i in (1, 2))
    parts = [(s[3] + s[0] * (s[1] - y) ** 2, s[4] + s[0] * (s[2] - x) ** 2, s[5] + s[0] * (s[1] - y) * (s[2] - x))
             for s in states if s[0]]  # fmt: skip
    return (count, y, x, *(_float_sum([*p]) for p in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Comoment:
    """`value(count, ȳ, x̄, syy, sxx, sxy)`; NULL for fewer than `least` pairs, and if one of `varying` (y, x) is
    constant; `finite`: also if one is not finite."""

    doc: str
    value: Callable[[int, float, float, float, float, float], Any]
    least: int = 1
    varying: str = ""
    finite: bool = False


COMOMENTS = {
    "covar_pop": Comoment("population covariance", lambda n, y, x, yy, xx, xy: xy / n),
    "covar_samp": Comoment("sample covariance", lambda n, y, x, yy, xx, xy: xy / (n - 1), 2),
    "corr": Comoment(
        "Pearson's correlation", lambda n, y, x, yy, xx, xy: xy / math.sqrt(yy) / math.sqrt(xx), 2, "yx", True
    ),
    "regr_slope": Comoment("slope of the line through the pairs", lambda n, y, x, yy, xx, xy: xy / xx, 2, "x"),
    "regr_intercept": Comoment("where that line has x = 0", lambda n, y, x, yy, xx, xy: y - xy / xx * x, 2, "x"),
    "regr_r2": Comoment("coefficient of determination", lambda n, y, x, yy, xx, xy: xy * xy / (xx * yy), 2, "yx"),
    "regr_avgx": Comoment("mean of x", lambda n, y, x, yy, xx, xy: x),
    "regr_avgy": Comoment("mean of y", lambda n, y, x, yy, xx, xy: y),
    "regr_sxx": Comoment("sum of squared differences of x from its mean", lambda n, y, x, yy, xx, xy: xx),
    "regr_syy": Comoment("the same of y", lambda n, y, x, yy, xx, xy: yy),
    "regr_sxy": Comoment("sum of the products of these differences", lambda n, y, x, yy, xx, xy: xy),
}


def _of_pairs(comoment: Comoment) -> States:
    def value(s: Row) -> Any:
        squares = [s[3 if v == "y" else 4] for v in comoment.varying]
        none = any(q == 0 or comoment.finite and q != q for q in squares)
        return None if s[0] < comoment.least or none else comoment.value(*s)

    types = (_COUNT, *[_NUMBER] * 5)
    return States(lambda arguments, order: types, _comoments, _merged_comoments, value)


for _name, _comoment in COMOMENTS.items():
    _declare(_name, f"of pairs (y, x) without a NULL: {_comoment.doc}; float64", _constant(float64), arity=2,
             numeric=True, substrait=(_name,), datafusion=(_name,), states=_of_pairs(_comoment))  # fmt: skip
_declare("regr_count", "how many pairs (y, x) have no NULL", _constant(_COUNT), arity=2,
         substrait=("regr_count",), datafusion=("regr_count",), states=_COUNTED)  # fmt: skip


# ---- values of a group side by side ---------------------------------------------------------------------------------


def _share(share: float) -> None:
    if not 0 <= share <= 1:
        raise TypeMismatch(f"a quantile is a number from 0 to 1, not {share}")


def _in_order(rows: Rows) -> list[Any]:
    return sorted((r[0] for r in rows), key=ordinal)


def _median(rows: Rows) -> Any:
    values = _in_order(rows)
    if not values:
        return None
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    if isinstance(low, Decimal):
        digits = max(-int(v.as_tuple().exponent) for v in (low, high))
        total = int(low.scaleb(digits)) + int(high.scaleb(digits))
        return Decimal(abs(total) // 2 * (1 if total >= 0 else -1)).scaleb(-digits)
    return float(low) if len(values) % 2 else (float(low) + float(high)) / 2


def _quantile_cont(rows: Rows, share: float) -> float | None:
    values = [float(v) for v in _in_order(rows)]
    if not values:
        return None
    at = share * (len(values) - 1)
    low, high = values[math.floor(at)], values[math.ceil(at)]
    if math.floor(at) == math.ceil(at):
        return low
    return low + (high - low) * int((at - math.floor(at)) * STEPS) / STEPS


def _quantile_disc(rows: Rows, share: float) -> Any:
    values = _in_order(rows)
    return values[max(math.ceil(share * len(values)), 1) - 1] if values else None


def _mode(rows: Rows) -> Any:
    found = Counter(ordinal(r[0]) for r in rows)
    if not found:
        return None
    best = min(found, key=lambda v: (-found[v], v))
    return next(r[0] for r in rows if ordinal(r[0]) == best)


_declare("median", "the middle value, or the mean of the two middle ones; of decimals a decimal, cut, else float64",
         _middle, numeric=True, distinct=True, substrait=("median",), datafusion=("median",), body=_median)  # fmt: skip
_declare("quantile_cont", "between the values around a share of them, in millionths of their distance; float64",
         _constant(float64), numeric=True, distinct=True, options=(float64,), option_rule=_share,
         substrait=("quantile_cont",), datafusion=("percentile_cont",), body=_quantile_cont)  # fmt: skip
_declare("quantile_disc", "the least value that is not below a share of the values", _same, distinct=True,
         options=(float64,), option_rule=_share, substrait=("quantile_disc",), body=_quantile_disc)  # fmt: skip
_declare("mode", "the value that occurs most; of several the least", _same, body=_mode, substrait=("mode",))
_declare("string_agg", "texts in the order given, with a separator between them; NULL for none", _text, ordered=True,
         distinct=True, options=(string,), substrait=("string_agg",), datafusion=("string_agg",),
         body=lambda rows, separator: separator.join(r[0] for r in rows) if rows else None)  # fmt: skip


# ---- the first row of a group ---------------------------------------------------------------------------------------


_FIRST = States(
    lambda types, order: (*(t.with_nullable(True) for t in (*types, *order)), bool_.with_nullable(False)),
    lambda rows: (*rows[0], True) if rows else (),
    lambda states: states[0] if states else (),
    lambda s: s[0] if s else None,
)
_declare("first_value", "its argument in the first row by the order given, which may be NULL", _same, keeps_nulls=True,
         ordered=True, substrait=("first_value",), datafusion=("first_value",), states=_FIRST)  # fmt: skip

#: forms over distinct values → the plain aggregate
DISTINCT = {a.name: a.distinct_of for a in AGGREGATES.values() if a.distinct_of}
