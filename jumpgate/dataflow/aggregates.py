"""Every aggregate function, each declared once beside a plain reference body.

`rows` of a body hold the values of the arguments that are computed for each row, and after them those of the order;
rows are in that order. The C++ of those without `code` is in codegen/measures, which is complete against AGGREGATES.

A package adds an aggregate by an entry point of the group `jumpgate.aggregates`, `name = "package.module:object"`.
Packages are looked at when a name is asked for that is not built in.
"""

from __future__ import annotations

import difflib
import functools
import math
import operator
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from jumpgate import plugins
from jumpgate.dataflow.aggregate import AggregateFunction, Row, Rows, StateCode, States, Types
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.types import DataType, bool_, decimal, float64, int64, list_, string
from jumpgate.errors import ConfigError

_COUNT = int64.with_nullable(False)
_NUMBER = float64.with_nullable(False)
#: steps in which `quantile_cont` goes from one value to the next
STEPS = 1_000_000


AGGREGATES: dict[str, AggregateFunction] = {}


def _declare(name: str, doc: str, result: Callable[[Types], DataType], **properties: Any) -> None:
    """Declare an aggregate. `distinct`: it has a form over distinct values."""
    distinct = properties.pop("distinct", False)
    assert name not in AGGREGATES
    AGGREGATES[name] = found = AggregateFunction(name, doc, result, **properties)
    if distinct:
        AGGREGATES[f"{name}_distinct"] = _over_distinct(found)


def _over_distinct(found: AggregateFunction) -> AggregateFunction:
    doc = f"{found.name} of the values that differ"
    return replace(found, name=f"{found.name}_distinct", doc=doc, distinct_of=found.name, substrait=())


# ---- types ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Constant:
    """One type, whatever the arguments are."""

    type: DataType

    def __call__(self, types: Types) -> DataType:
        return self.type


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


def _listed(types: Types) -> DataType:
    return list_(_element(types))


def _collected(types: Types) -> DataType:
    return list_(_element(types), nullable=False)


def _element(types: Types) -> DataType:
    if types[0].is_opaque:
        raise TypeMismatch(f"a list of {types[0].name}")
    return types[0]


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
         numeric=True, distinct=True, substrait=("sum",),
         states=States(lambda types, order: (_summed(types),), lambda rows: (_total(r[0] for r in rows),),
                       lambda states: (_total(s[0] for s in states),), lambda s: s[0]))  # fmt: skip
_declare("count", "how many values are not NULL", _Constant(_COUNT), distinct=True,
         substrait=("count",), states=_COUNTED)  # fmt: skip
_declare("approx_distinct", "about how many values there are that differ and are not NULL: seldom wrong by more than "
         "2 %, exact or nearly so for few; from the set of values follows the result", _comparable, expanded=True,
         substrait=("approx_count_distinct",))  # fmt: skip
_declare("count_star", "how many rows there are", _Constant(_COUNT), arity=0, states=_COUNTED)
_declare("min", "of any type; NaN is the largest number; of booleans AND", _same,
         substrait=("min", "bool_and"),
         states=_extreme(_least))  # fmt: skip
_declare("max", "of any type; NaN is the largest number; of booleans OR", _same,
         substrait=("max", "bool_or"), states=_extreme(_greatest))  # fmt: skip
_declare("avg", "float64", _Constant(float64), numeric=True, distinct=True,
         substrait=("avg",),
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
    _declare(_name, f"{_doc}, of integers", _integral, substrait=(_name,), states=_joined_bits(_on))


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


_MOMENTS_UPDATE = "const double d = v0 - s1; s0++; s1 += d / (double)s0; s2 += d * (v0 - s1);"
#: as Chan et al. merge them
_MOMENTS_MERGE = """if (o0) {
  const double all = (double)(s0 + o0), d = o1 - s1;
  s2 += o2 + d * d * (double)s0 * (double)o0 / all;
  s1 += d * (double)o0 / all;
  s0 += o0;
}"""


def _spread_code(missing: int, root: bool) -> StateCode:
    variance = f"s2 / (double)(s0 - {missing})"
    value = f"jg_sqrt({variance})" if root else variance
    return StateCode(_MOMENTS_UPDATE, _MOMENTS_MERGE, value, f"s0 <= {missing}")


#: measure → (count minus degrees of freedom, whether it is a square root)
MOMENTS = {"stddev": (1, True), "stddev_pop": (0, True), "variance": (1, False), "variance_pop": (0, False)}
_MOMENT_NAMES = {
    "stddev": ("stddev", "stddev_samp", "std_dev"),
    "stddev_pop": ("stddev_pop",),
    "variance": ("variance", "var", "var_samp"),
    "variance_pop": ("var_pop",),
}
for _name, (_missing, _root) in MOMENTS.items():
    _whose = "of a sample; NULL for fewer than two values" if _missing else "of a population"
    _declare(_name, f"float64, by Welford; {_whose}", _Constant(float64), numeric=True, distinct=True,
             substrait=_MOMENT_NAMES[_name],
             states=_spread(_missing, _root), code=_spread_code(_missing, _root))  # fmt: skip


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
    """`value(count, ȳ, x̄, syy, sxx, sxy)`, and `cpp` over these states s0 to s5; NULL for fewer than `least` pairs, and
    if one of `varying` (y, x) is constant; `finite`: also if one is not finite."""

    doc: str
    value: Callable[[int, float, float, float, float, float], Any]
    cpp: str
    least: int = 1
    varying: str = ""
    finite: bool = False


_COMOMENTS_UPDATE = """const double dy = v0 - s1, dx = v1 - s2;
s0++;
s1 += dy / (double)s0;
s2 += dx / (double)s0;
s3 += dy * (v0 - s1);
s4 += dx * (v1 - s2);
s5 += dx * (v0 - s1);"""
_COMOMENTS_MERGE = """if (o0) {
  const double dy = o1 - s1, dx = o2 - s2, part = (double)o0 / (double)(s0 + o0), weight = (double)s0 * part;
  s3 += o3 + dy * dy * weight;
  s4 += o4 + dx * dx * weight;
  s5 += o5 + dy * dx * weight;
  s1 += dy * part;
  s2 += dx * part;
  s0 += o0;
}"""


def _comoment_code(comoment: Comoment) -> StateCode:
    squares = ["s3" if v == "y" else "s4" for v in comoment.varying]
    null = [f"s0 < {comoment.least}", *(f"{s} == 0" for s in squares)]
    null += [f"{s} != {s}" for s in squares if comoment.finite]
    return StateCode(_COMOMENTS_UPDATE, _COMOMENTS_MERGE, comoment.cpp, " || ".join(null))


COMOMENTS = {
    "covar_pop": Comoment("population covariance", lambda n, y, x, yy, xx, xy: xy / n, "s5 / (double)s0"),
    "covar_samp": Comoment("sample covariance", lambda n, y, x, yy, xx, xy: xy / (n - 1), "s5 / ((double)s0 - 1)", 2),
    "corr": Comoment(
        "Pearson's correlation",
        lambda n, y, x, yy, xx, xy: xy / math.sqrt(yy) / math.sqrt(xx),
        "s5 / jg_sqrt(s3) / jg_sqrt(s4)",
        2,
        "yx",
        True,
    ),
    "regr_slope": Comoment(
        "slope of the line through the pairs", lambda n, y, x, yy, xx, xy: xy / xx, "s5 / s4", 2, "x"
    ),
    "regr_intercept": Comoment(
        "where that line has x = 0", lambda n, y, x, yy, xx, xy: y - xy / xx * x, "s1 - s5 / s4 * s2", 2, "x"
    ),
    "regr_r2": Comoment(
        "coefficient of determination", lambda n, y, x, yy, xx, xy: xy * xy / (xx * yy), "s5 * s5 / (s4 * s3)", 2, "yx"
    ),
    "regr_avgx": Comoment("mean of x", lambda n, y, x, yy, xx, xy: x, "s2"),
    "regr_avgy": Comoment("mean of y", lambda n, y, x, yy, xx, xy: y, "s1"),
    "regr_sxx": Comoment("sum of squared differences of x from its mean", lambda n, y, x, yy, xx, xy: xx, "s4"),
    "regr_syy": Comoment("the same of y", lambda n, y, x, yy, xx, xy: yy, "s3"),
    "regr_sxy": Comoment("sum of the products of these differences", lambda n, y, x, yy, xx, xy: xy, "s5"),
}


def _of_pairs(comoment: Comoment) -> States:
    def value(s: Row) -> Any:
        squares = [s[3 if v == "y" else 4] for v in comoment.varying]
        none = any(q == 0 or comoment.finite and q != q for q in squares)
        return None if s[0] < comoment.least or none else comoment.value(*s)

    types = (_COUNT, *[_NUMBER] * 5)
    return States(lambda arguments, order: types, _comoments, _merged_comoments, value)


for _name, _comoment in COMOMENTS.items():
    _declare(_name, f"of pairs (y, x) without a NULL: {_comoment.doc}; float64", _Constant(float64), arity=2,
             numeric=True, substrait=(_name,), states=_of_pairs(_comoment),
             code=_comoment_code(_comoment))  # fmt: skip
_declare("regr_count", "how many pairs (y, x) have no NULL", _Constant(_COUNT), arity=2,
         substrait=("regr_count",), states=_COUNTED)  # fmt: skip


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


def _percentile(rows: Rows, share: float) -> float | None:
    values = [float(v) for v in _in_order(rows)]
    if not values:
        return None
    at = share * (len(values) - 1)
    low, high = math.floor(at), math.ceil(at)
    if values[low] == values[high] or low == high:
        return values[low]
    return (high - at) * values[low] + (at - low) * values[high]


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
         _middle, numeric=True, distinct=True, substrait=("median",), body=_median)  # fmt: skip
_declare("quantile_cont", "between the values around a share of them, in millionths of their distance; float64",
         _Constant(float64), numeric=True, distinct=True, options=(float64,), option_rule=_share,
         substrait=("quantile_cont",), body=_quantile_cont)  # fmt: skip
_declare("percentile", "between the values around a share of them, each weighed by how near the share is; float64",
         _Constant(float64), numeric=True, distinct=True, options=(float64,), option_rule=_share,
         substrait=("percentile",), body=_percentile)  # fmt: skip
_declare("quantile_disc", "the least value that is not below a share of the values", _same, distinct=True,
         options=(float64,), option_rule=_share, substrait=("quantile_disc",), body=_quantile_disc)  # fmt: skip
_declare("mode", "the value that occurs most; of several the least", _same, body=_mode, substrait=("mode",))
_declare("string_agg", "texts in the order given, with a separator between them; NULL for none", _text, ordered=True,
         distinct=True, options=(string,), substrait=("string_agg",),
         body=lambda rows, separator: separator.join(r[0] for r in rows) if rows else None)  # fmt: skip
_declare("array_agg", "a list of its arguments, which may be NULL, in the order given; NULL for no row", _listed,
         keeps_nulls=True, ordered=True, distinct=True, body=lambda rows: [r[0] for r in rows] or None)  # fmt: skip
_declare("collect_list", "a list of the values that are not NULL, in the order given; an empty one for none",
         _collected, ordered=True, distinct=True, body=lambda rows: [r[0] for r in rows])  # fmt: skip


# ---- the first row of a group ---------------------------------------------------------------------------------------


_FIRST = States(
    lambda types, order: (*(t.with_nullable(True) for t in (*types, *order)), bool_.with_nullable(False)),
    lambda rows: (*rows[0], True) if rows else (),
    lambda states: states[0] if states else (),
    lambda s: s[0] if s else None,
)
_declare("first_value", "its argument in the first row by the order given, which may be NULL", _same, keeps_nulls=True,
         ordered=True, substrait=("first_value",), states=_FIRST)  # fmt: skip

#: forms over distinct values → the plain aggregate
DISTINCT = {a.name: a.distinct_of for a in AGGREGATES.values() if a.distinct_of}


# ---- of packages ----------------------------------------------------------------------------------------------------


GROUP = "jumpgate.aggregates"


@functools.cache
def _packages() -> tuple[Mapping[str, AggregateFunction], Mapping[str, ConfigError]]:
    """Return the aggregates that installed packages declare and their forms over distinct values, by name, and the
    errors of unusable ones."""
    found, problems = plugins.declared(GROUP, "aggregate", _complete)
    return {a.name: a for one in found for a in (one, _over_distinct(one))}, problems


def _complete(name: str, value: object, found: tuple[AggregateFunction, ...]) -> AggregateFunction:
    """Return the declaration of a package; raise ConfigError if it lacks what only Jumpgate's own may omit, or shares a
    name with another."""
    if not isinstance(value, AggregateFunction) or value.name != name:
        raise ConfigError(f"it must be a jumpgate.dataflow.aggregate.AggregateFunction named {name!r}")
    if value.code is None or value.states is None:
        raise ConfigError("it needs `states` and their `code`")
    if value.options or value.ordered or value.keeps_nulls or value.distinct_of or value.expanded or not value.arity:
        raise ConfigError("it must be of values of each row alone, without options or an order, and ignore NULL")
    taken = {n for a in (*AGGREGATES.values(), *found) for n in (a.name, f"{a.name}_distinct", *a.substrait)}
    if shared := sorted(taken & {name, f"{name}_distinct", *value.substrait}):
        raise ConfigError(f"the name {shared[0]!r} is taken")
    return value


def known_aggregate(name: str) -> AggregateFunction | None:
    """The aggregate of that name, built in or installed. Raises ConfigError for a defective package's."""
    found = AGGREGATES.get(name) or _packages()[0].get(name)
    if found is None and name in (problems := _packages()[1]):
        raise problems[name]
    return found


def find_aggregate(name: str) -> AggregateFunction:
    """The aggregate of that name. Raises TypeMismatch with a suggestion."""
    function = known_aggregate(name)
    if function is None:
        close = difflib.get_close_matches(name, (*AGGREGATES, *_packages()[0]), 1)
        raise TypeMismatch(f"unknown measure {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    return function


#: the name in Substrait → the aggregate that is built in
OF_SUBSTRAIT = {name: a.name for a in AGGREGATES.values() for name in a.substrait}


def of_substrait(name: str) -> str | None:
    """Return the aggregate that Substrait calls so, or an extension, whose names begin with its URN."""
    installed = (a.name for a in _packages()[0].values() if name in a.substrait)
    return OF_SUBSTRAIT.get(name) or next(installed, None)
