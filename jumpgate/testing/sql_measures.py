"""Aggregates as DuckDB's SQL. If DuckDB's aggregate differs, its list functions compute Jumpgate's."""

from __future__ import annotations

from jumpgate.dataflow.aggregates import BITS, COMOMENTS, MOMENTS, STEPS
from jumpgate.dataflow.operators import Measure

#: Jumpgate's name → DuckDB's, if they are equivalent
MEASURES = {
    **{name: name for name in ("sum", "count", "min", "max", "avg", "stddev_pop", *BITS)},
    **{name: name for name in COMOMENTS},
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "variance_pop": "var_pop",
}


def measure_text(measure: Measure, expressions: list[str]) -> str:
    """The measure over texts of its arguments and of its order's keys."""
    declaration = measure.declaration
    plain = declaration.plain
    distinct = "DISTINCT " if declaration.distinct_of else ""
    values = expressions[: declaration.arity]
    order = [
        f"{e} {'DESC' if k.descending else 'ASC'} NULLS {'FIRST' if k.nulls_first else 'LAST'}"
        for e, k in zip(expressions[len(measure.arguments) :], measure.order, strict=True)
    ]
    ordered = f" ORDER BY {', '.join([*order, f'{values[0]} ASC NULLS LAST'])}"
    if plain == "first_value":
        return f"first({values[0]}{ordered})"
    if plain == "regr_count":  # DuckDB's takes numbers alone
        return f"count(CASE WHEN {values[0]} IS NOT NULL AND {values[1]} IS NOT NULL THEN 1 END)"
    if plain == "string_agg":
        return f"string_agg({distinct}{values[0]}, {expressions[1]}{ordered})"
    if plain == "array_agg":
        return f"list({distinct}{values[0]}{ordered})"
    if plain == "collect_list":
        return f"coalesce(list({distinct}{values[0]}{ordered}) FILTER (WHERE {values[0]} IS NOT NULL), [])"
    if plain in ("median", "quantile_cont", "percentile", "quantile_disc", "mode"):
        value = f"CAST({values[0]} AS DOUBLE)" if measure.type.is_float and plain != "mode" else values[0]
        known = f"list({distinct}{value} ORDER BY {value}) FILTER (WHERE {value} IS NOT NULL)"
        return _IN_LISTS[plain](known, measure)
    if plain in MOMENTS or plain in COMOMENTS:
        values = [f"CAST({v} AS DOUBLE)" for v in values]
    if plain in COMOMENTS and COMOMENTS[plain].varying:
        return _varying(plain, COMOMENTS[plain].varying).format(y=values[0], x=values[1])
    return f"{MEASURES[plain]}({distinct}{', '.join(values)})"


def _median(values: str, measure: Measure) -> str:
    low, high = "l[(len(l) + 1) // 2]", "l[len(l) // 2 + 1]"
    if measure.type.is_float:
        both = f"({low} + {high}) / 2"
    else:
        unit = f"CAST('1e-{measure.type.scale}' AS DECIMAL({measure.type.precision}, {measure.type.scale}))"
        half = f"({low} + {high}) * CAST(0.5 AS DECIMAL(1, 1))"
        both = f"{half} - ({half}) % {unit}"
    return _let(values, f"CASE WHEN len(l) % 2 = 1 THEN {low} ELSE {both} END")


def _quantile_cont(values: str, measure: Measure) -> str:
    at = f"(CAST({measure.options[0].value!r} AS DOUBLE) * (len(l) - 1))"
    low, high = f"l[CAST(floor({at}) AS BIGINT) + 1]", f"l[CAST(ceil({at}) AS BIGINT) + 1]"
    share = f"floor(({at} - floor({at})) * {STEPS})"
    return _let(
        values, f"CASE WHEN floor({at}) = ceil({at}) THEN {low} ELSE {low} + ({high} - {low}) * {share} / {STEPS} END"
    )


def _percentile(values: str, measure: Measure) -> str:
    at = f"(CAST({measure.options[0].value!r} AS DOUBLE) * (len(l) - 1))"
    low, high = f"l[CAST(floor({at}) AS BIGINT) + 1]", f"l[CAST(ceil({at}) AS BIGINT) + 1]"
    between = f"(ceil({at}) - {at}) * {low} + ({at} - floor({at})) * {high}"
    return _let(values, f"CASE WHEN {low} = {high} THEN {low} ELSE {between} END")


def _quantile_disc(values: str, measure: Measure) -> str:
    at = f"CAST(greatest(ceil(CAST({measure.options[0].value!r} AS DOUBLE) * len(l)), 1) AS BIGINT)"
    return _let(values, f"l[{at}]")


def _mode(values: str, measure: Measure) -> str:
    runs = "list_transform(list_distinct(l), lambda v: {'n': -len(list_filter(l, lambda w: w = v)), 'v': v})"
    return _let(values, f"list_sort({runs})[1].v")


def _let(values: str, result: str) -> str:
    """`result` of the list l of values."""
    return f"list_transform([{values}], lambda l: {result})[1]"


_IN_LISTS = {
    "median": _median,
    "quantile_cont": _quantile_cont,
    "percentile": _percentile,
    "quantile_disc": _quantile_disc,
    "mode": _mode,
}


def _varying(name: str, varying: str) -> str:
    """Return a comoment that handles constant input, for which DuckDB gives NaN, an error or 1."""
    conditions = " AND ".join(["regr_count({y}, {x}) > 1", *(f"regr_s{v}{v}({{y}}, {{x}}) != 0" for v in varying)])
    return f"CASE WHEN {conditions} THEN {name}({{y}}, {{x}}) END"
