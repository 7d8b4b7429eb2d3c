"""What support.random_sql makes queries of: columns by kind, and pieces of text with marks that it fills in.

#kind  a column of that kind     $kind  a place for a literal     @kind  an expression     @  the one at hand
#any   a column that can be compared and ordered      &ids  the rows' numbers      ?  where FILTER may stand
"""

from __future__ import annotations

COLUMNS = {
    "number": ("i", "id"),
    "big": ("big",),
    "float": ("f",),
    "money": ("m",),
    "decimal": ("d",),
    "text": ("s",),
    "day": ("w",),
    "time": ("ts",),
    "truth": ("b",),
    "clock": ("tm",),
    "moment": ("z",),
    "nanos": ("n",),
    "span": ("du",),
    "struct": ("st",),
    "list": ("l",),
}
#: kinds that are only passed on, counted, asked whether they are NULL, and taken apart
PASSED = ("struct", "list")
KEYS = ("i", "s", "w", "m", "big", "b", "f", "d", "ts", "tm", "z", "n", "du")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")

#: expressions by kind that can be computed of a value of that kind, and fail on no row
COMPUTED = {
    "number": (
        "(@ + #number)", "(@ - #number)", "(@ + $small)", "(@ * $small)", "abs(@)", "(@ % $divisor)", "length(#text)",
        "strlen(#text)", "ascii(#text)", "strpos(#text, $text)",
        "CAST(extract(year FROM #day) AS INTEGER)",
        "CAST(extract(month FROM #day) AS INTEGER)", "CAST(extract(day FROM #day) AS INTEGER)",
        "CAST(extract(hour FROM #moment) AS INTEGER)", "CAST(extract(minute FROM #clock) AS INTEGER)",
        "CAST(extract(dow FROM #nanos) AS INTEGER)", "CAST(#truth AS INTEGER)", "#struct['a']",
    ),
    "money": ("(@ + $money)", "(@ - $money)", "CAST(@ * $money AS DECIMAL(20, 2))", "round(@, 1)", "abs(@)"),
    "decimal": ("CAST(@ AS DECIMAL(38, 5))", "abs(@)", "(- @)"),
    "float": (
        "(@ + #float)", "(@ - $float)", "(@ * #number)", "(@ / $finite)", "(@ / #number)", "abs(@)", "floor(@)",
        "ceil(@)", "sqrt(abs(@))", "power(@, 2)", "atan(@)", "CAST(#money AS DOUBLE)", "CAST(#number AS DOUBLE)",
    ),
    "text": (
        "substring(@, 1, 2)", "(@ || $text)", "concat(@, #text)", "concat_ws('-', @, #text)", "trim(@)",
        "trim(@, 'a ')", "upper(@)", "lower(@)", "reverse(@)", "left(@, 2)", "right(@, 2)", "lpad(@, 4, $letter)",
        "rpad(@, 3, $letter)", "split_part(@, $letter, 1)", "translate(@, 'ab', 'x')", "repeat(@, 2)",
        "replace(@, $letter, $text)", "regexp_replace(@, $regex, $text)", "regexp_replace(@, $regex, $letter, 'g')",
        "CAST(#number AS VARCHAR)", "CAST(#day AS VARCHAR)", "CAST(#big AS VARCHAR)", "CAST(#money AS VARCHAR)",
        "CAST(#clock AS VARCHAR)", "CAST(#moment AS VARCHAR)", "CAST(#nanos AS VARCHAR)", "#struct['b']",
    ),
    "day": ("CAST(#time AS DATE)", "CAST(#moment AS DATE)"),
    "time": (
        "date_trunc('year', @)", "date_trunc('month', @)", "date_trunc('week', @)", "date_trunc('hour', @)",
        "(@ + INTERVAL '1' MONTH)", "(@ - INTERVAL '90' MINUTE)",
    ),
    "truth": (
        "(#number > $number)", "(#text ~ $regex)", "(#text IS NULL)", "starts_with(#text, $text)",
        "contains(#text, $letter)", "isnan(#float)",
    ),
    "moment": ("date_trunc('day', @)", "(@ - INTERVAL '3' HOUR)"),
    "nanos": ("date_trunc('minute', @)",),
}  # fmt: skip
PREDICATES = (
    "#text LIKE $pattern", "#text NOT LIKE $pattern", "@text ILIKE $pattern", "#text NOT ILIKE $pattern",
    "@text ~ $regex", "#text !~ $regex", "regexp_matches(#text, $regex)", "regexp_matches(#text, $regex, 'i')",
    "#number = #float", "#number < #money",
    "#number % $divisor = $number", "#list IS NULL", "#list IS NOT NULL", "#struct IS NULL", "#struct['a'] = $number",
    "#struct['b'] <> $text", "#time < #nanos", "#moment >= #time",
)  # fmt: skip

MEASURES = (
    "count(*)", "count(DISTINCT #any)", "count(#any)", "count(#list)", "count(#struct)", "sum(t.i)", "avg(t.i)",
    "sum(t.m)", "avg(t.f)", "sum(t.f)", "min(#text)", "max(#day)", "min(@text)", "max(@number)", "stddev(t.i)",
    "var_pop(t.i)", "sum(DISTINCT t.i)", "avg(DISTINCT t.i)", "sum(DISTINCT t.f)", "avg(DISTINCT t.f)",
    "sum(DISTINCT t.m)", "bool_and(t.b)", "bool_or(t.b)", "any_value(#any)? IS NULL", "covar_pop(#number, #number)",
    "covar_samp(t.i, #number)", "covar_samp(#number, #money)", "regr_count(#number, #float)",
    "regr_avgx(#number, #money)", "regr_avgy(#number, #number)", "regr_sxx(#number, #number)",
    "regr_sxy(t.i, #number)", "regr_syy(#number, #number)",
)  # fmt: skip
EXTREMES = (
    "min(#any)", "max(#any)", "max(@float)", "min(@float)", "min(DISTINCT t.f)", "max(DISTINCT t.f)", "min(#float)",
)  # fmt: skip
OWN = (
    "corr(t.i, #number)", "regr_slope(t.i, #number)", "regr_intercept(#number, t.i)", "regr_r2(#number, t.i)",
    "median(#number)", "median(#money)", "median(#float)", "median(DISTINCT #number)", "quantile_cont(#number, 0.25)",
    "quantile_cont(#float, 0.75)", "string_agg(#text, ',' ORDER BY #text)", "approx_count_distinct(#any)",
    "string_agg(#text, $text ORDER BY #any DESC, &ids)", "string_agg(DISTINCT #text, '' ORDER BY #text)",
    "first(#any ORDER BY #any, &ids)", "first(#any ORDER BY #any DESC NULLS FIRST, &ids)",
    "last(#any ORDER BY #any, &ids)", "first(@text ORDER BY #any DESC, &ids)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY #number DESC)", "percentile_cont(0.9) WITHIN GROUP (ORDER BY #float)",
)  # fmt: skip
OF_ROWS = ("arg_min(t.s, t.id)", "arg_max(t.m, t.id)", "arg_max(t.f, t.id)", "arg_min(t.w, t.id)")

#: window functions that look at the order alone, and those that look at the rows of a frame
PLACED = (
    "row_number()", "rank()", "dense_rank()", "ntile(3)", "percent_rank()", "cume_dist()", "lag(t.s)", "lead(t.s, 2)",
    "lag(t.i, 1, 7)", "lead(t.f, 3)", "lag(t.d)", "lag(t.tm)", "lead(t.z)", "lag(t.n)", "lead(t.du)", "lag(t.st)",
)  # fmt: skip
FRAMED = (
    "count(*)", "count(t.s)", "sum(t.i)", "avg(t.i)", "min(t.w)", "max(t.f)", "min(t.f)", "sum(t.f)", "avg(t.f)",
    "sum(t.m)", "max(t.s)", "first_value(t.m)", "last_value(t.ts)", "first_value(t.f)", "nth_value(t.i, 2)",
    "count(DISTINCT t.s)", "sum(t.i) FILTER (WHERE t.b)", "max(t.d)", "max(t.tm)", "min(t.z)", "last_value(t.n)",
    "max(t.du)", "count(t.l)", "first_value(t.l)", "min(t.s)", "min(t.s) FILTER (WHERE t.b)",
)  # fmt: skip
FRAMES = (
    "", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING", "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
)  # fmt: skip
