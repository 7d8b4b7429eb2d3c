"""The measures that people write in `aggregate`, each made of functions of `aggregates.AGGREGATES`."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.dataflow.unresolved import Aggregation, Order, Unresolved, as_column, f, when

Column = str | Unresolved
OrderBy = Column | Order | Sequence[Column | Order]


def measure(function: str, *arguments: Column) -> Aggregation:
    """A measure by the name of its function, which may be a package's."""
    return Aggregation(function, tuple(map(as_column, arguments)))


def _orders(order_by: OrderBy) -> tuple[Order, ...]:
    keys = [order_by] if isinstance(order_by, str | Unresolved | Order) else order_by
    return tuple(k if isinstance(k, Order) else Order(as_column(k)) for k in keys)


def sum_(argument: Column) -> Aggregation:
    """Sum of the values that are not NULL; NULL for none. int64, decimal(38, s) or float64."""
    return measure("sum", argument)


def count(argument: Column | None = None) -> Aggregation:
    """Number of rows, or of rows in which `argument` is not NULL."""
    return measure("count_star") if argument is None else measure("count", argument)


def count_distinct(argument: Column) -> Aggregation:
    """Number of different values that are not NULL."""
    return measure("count_distinct", argument)


def approx_distinct(argument: Column) -> Aggregation:
    """About how many different values there are that are not NULL: seldom wrong by more than 2 %."""
    return measure("approx_distinct", argument)


def sum_distinct(argument: Column) -> Aggregation:
    """Sum of the different values that are not NULL; types as sum_."""
    return measure("sum_distinct", argument)


def avg_distinct(argument: Column) -> Aggregation:
    """Mean of the different values that are not NULL, float64; NULL for none."""
    return measure("avg_distinct", argument)


def avg(argument: Column) -> Aggregation:
    """Mean of the values that are not NULL, float64; NULL for none."""
    return measure("avg", argument)


def min_(argument: Column) -> Aggregation:
    """The least value that is not NULL; of booleans AND."""
    return measure("min", argument)


def max_(argument: Column) -> Aggregation:
    """The greatest value that is not NULL, NaN above all numbers; of booleans OR."""
    return measure("max", argument)


def any_value(argument: Column) -> Aggregation:
    """One of the values that are not NULL: the least one."""
    return measure("min", argument)


def stddev(argument: Column) -> Aggregation:
    """Sample standard deviation, float64; NULL for fewer than two values."""
    return measure("stddev", argument)


def stddev_pop(argument: Column) -> Aggregation:
    """Standard deviation of a population, float64; NULL for no value."""
    return measure("stddev_pop", argument)


def variance(argument: Column) -> Aggregation:
    """Sample variance, float64; NULL for fewer than two values."""
    return measure("variance", argument)


def variance_pop(argument: Column) -> Aggregation:
    """Variance of a population, float64; NULL for no value."""
    return measure("variance_pop", argument)


# ---- pairs: rows in which neither y nor x is NULL -------------------------------------------------------------------


def covar_pop(y: Column, x: Column) -> Aggregation:
    """Population covariance, float64; NULL for no pair."""
    return measure("covar_pop", y, x)


def covar_samp(y: Column, x: Column) -> Aggregation:
    """Sample covariance, float64; NULL for fewer than two pairs."""
    return measure("covar_samp", y, x)


def corr(y: Column, x: Column) -> Aggregation:
    """Pearson's correlation, float64; NULL for fewer than two pairs, or where y or x is constant."""
    return measure("corr", y, x)


def regr(what: str, y: Column, x: Column) -> Aggregation:
    """SQL's regr_* of the line y = slope · x + intercept: slope, intercept, r2, count, avgx, avgy, sxx, syy or sxy."""
    return measure(f"regr_{what}", y, x)


# ---- values of a group side by side ---------------------------------------------------------------------------------


def median(argument: Column) -> Aggregation:
    """The middle value, or the mean of the two middle ones; float64, of decimals a decimal, cut."""
    return measure("median", argument)


def quantile_cont(argument: Column, share: float) -> Aggregation:
    """Interpolate between the values around `share` (0 to 1) of them, in millionths of their distance; float64."""
    return Aggregation("quantile_cont", (as_column(argument),), (share,))


def percentile(argument: Column, share: float) -> Aggregation:
    """Interpolate between the values around `share` (0 to 1) of them; float64."""
    return Aggregation("percentile", (as_column(argument),), (share,))


def quantile_disc(argument: Column, share: float) -> Aggregation:
    """The least value that is not below a `share` (0 to 1) of the values."""
    return Aggregation("quantile_disc", (as_column(argument),), (share,))


def mode(argument: Column) -> Aggregation:
    """The value that occurs most; of several the least."""
    return measure("mode", argument)


def string_agg(argument: Column, separator: str, order_by: OrderBy = (), distinct: bool = False) -> Aggregation:
    """The texts that are not NULL, with `separator` between them; those that tie in the order are in their own."""
    function = "string_agg_distinct" if distinct else "string_agg"
    return Aggregation(function, (as_column(argument),), (separator,), _orders(order_by))


def array_agg(argument: Column, order_by: OrderBy = (), distinct: bool = False) -> Aggregation:
    """A list of the values, also of NULL; NULL for no row. Those that tie in the order are in their own."""
    function = "array_agg_distinct" if distinct else "array_agg"
    return Aggregation(function, (as_column(argument),), (), _orders(order_by))


def collect_list(argument: Column, order_by: OrderBy = (), distinct: bool = False) -> Aggregation:
    """A list of the values that are not NULL, empty for none; those that tie in the order are in their own."""
    function = "collect_list_distinct" if distinct else "collect_list"
    return Aggregation(function, (as_column(argument),), (), _orders(order_by))


# ---- the first row of a group ---------------------------------------------------------------------------------------


def first_value(argument: Column, order_by: OrderBy) -> Aggregation:
    """The argument, which may be NULL, in the first row by that order; of rows that tie the least."""
    return Aggregation("first_value", (as_column(argument),), (), _orders(order_by))


def last_value(argument: Column, order_by: OrderBy) -> Aggregation:
    """The argument, which may be NULL, in the last row by that order; of rows that tie the least."""
    turned = tuple(Order(o.expression, not o.descending, not o.nulls_first) for o in _orders(order_by))
    return Aggregation("first_value", (as_column(argument),), (), turned)


def arg_min(argument: Column, value: Column) -> Aggregation:
    """The argument in the row with the least value, among rows where neither is NULL."""
    return _at(argument, value, False)


def arg_max(argument: Column, value: Column) -> Aggregation:
    """The argument in the row with the greatest value, among rows where neither is NULL."""
    return _at(argument, value, True)


def _at(argument: Column, value: Column, descending: bool) -> Aggregation:
    known = when(as_column(value).is_not_null()).then(as_column(argument)).otherwise(None)
    return Aggregation("first_value", (known,), (), (Order(f.is_null(known)), Order(as_column(value), descending)))
