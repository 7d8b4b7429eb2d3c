"""Functions, aggregates, casts and rows of a query's own: offloaded with Spark's values, or refused."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tests.support.spark_cases import ANSI, FALLS_BACK, OFFLOADED, REFUSED, WHOLE, Case, files, of_arrow
from tests.support.spark_files import MOMENTS

#: text that has ends of lines, words, numbers
LINES = r"""select * from values (1, 'abc'), (2, 'a\nc'), (3, 'a\rc'), (4, 'abc\n'), (5, 'abc\r\n'), (6, 'a1 _'),
    (7, 'A.b-c@d.org'), (8, ''), (9, null),
    (10, 'ä\u2028c'), (11, 'x12y'), (12, 'xc\u0085'), (13, 'äöü,1,,'), (14, 'a\tb c') as t(n, s)"""
PATTERNS = (
    "a.c", "^a.*c$", "c$", r"\d+", r"\w+@\w+\.(org|com)$", "[^a]c", r"\s", r"x\d{2}y", "[a-z]{2,3}$", "^$", "(?:a|x)1?",
    "[A-Za-z0-9._%+-]+@", r"^\w{3}$", r"[\d_-]", "ä|ö", r"a\.b|b\-c", "]", "a b?c|,1",
)  # fmt: skip
#: whose meaning is Java's own
JAVA_PATTERNS = (
    r"a\b",
    "[^a]$",
    "(?i)A",
    "a++",
    "a*?",
    r"\p{L}",
    "[a&&b]",
    r"(a)\1",
    r"\s$",
    "a{40}",
    r"\Qa",
    "[a-c-e]",
)
#: texts of values of one type, and texts that Spark reads by rules of its own, or not at all
TYPED = {
    "int": ("12", "-7", " 5 ", "+3", "0", "2147483647"),
    "tinyint": ("-128", "127"),
    "decimal(7,2)": ("1.5", "-0.255", ".5", "2.", " 12345.678 ", "-.005"),
    "double": ("1.5", "-1e3", ".25", "1e-320", "-0", " 1E5 ", "123456789012345678"),
    "date": ("2024-01-31", "2024-1-5", "1969-1-31 ", "0001-01-01"),
    "timestamp_ntz": ("2024-01-31 12:34:56", "2024-01-31T00:00:00.789", "1500-03-01 23:59:59.123456"),
    "boolean": ("true", "F", "Yes", "0", "n", "t"),
}
OTHERWISE = {
    "int": ("1.5", "", "x", "2147483648", "\u00a05"),
    "tinyint": ("128",),
    "decimal(7,2)": ("1e3", "", "1234567.8", "0." + "1" * 50, "x"),
    "double": ("nan", "-NaN", "Infinity", "-inf", "1d", "0x1p3", ""),
    "date": (
        "20240131",
        "2024-01-31T12:00:00+14:00",
        "2024-01-31 23:00:00",
        "2024",
        "2024-02-30",
        " 2024-01-31",
        "-1-1-1",
    ),
    "timestamp_ntz": (
        "2024-01-31",
        "2024-01-31 12:34",
        "2024-01-31 12:34:60",
        "2024-01-31 12:34:56+02:00",
        "12:00:00",
        "",
    ),
    "boolean": ("on", "tr", " true", "ja", "2"),
}


def texts_of_values() -> Iterator[Case]:
    for type, words in TYPED.items():
        table = of_arrow(pa.table({"s": [*words, None]}), "s string")
        query = f"select s, cast(s as {type}) v, try_cast(s as {type}) w from t"
        yield Case(f"texts of {type}", WHOLE, table, {}, query)
        for word in OTHERWISE[type]:
            one = of_arrow(pa.table({"s": [words[0], word]}), "s string")
            yield Case(f"{word!r} as {type}", FALLS_BACK, one, {}, f"select s, try_cast(s as {type}) v from t")
        bad = of_arrow(pa.table({"s": ["x"]}), "s string")
        yield Case(f"an error of a {type}", FALLS_BACK, bad, {}, f"select cast(s as {type}) v from t")
    moments = of_arrow(pa.table({"s": [*TYPED["timestamp_ntz"], None]}), "s string")
    for zone in ("UTC", "Asia/Kolkata"):
        query = "select cast(s as timestamp) m, cast(cast(s as timestamp) as string) u from t"
        yield Case(f"texts of moments of {zone}", WHOLE, moments, {"spark.sql.session.timeZone": zone}, query)
    days = of_arrow(pa.table({"s": ["2024-01-31", "1969-07-20", None]}), "s string")
    yield Case("texts of days by a pattern", WHOLE, days, {}, "select to_date(s, 'yyyy-MM-dd') d from t")
    table = files("parquet", "n int, s string", LINES)
    for pattern in PATTERNS:
        literal = pattern.replace("\\", "\\\\")
        yield Case(
            f"matches of {pattern}",
            WHOLE,
            table,
            {},
            f"select n, s, s rlike '{literal}' from t where not s rlike '{literal}' or n > 2",
        )
    for pattern in JAVA_PATTERNS:
        literal = pattern.replace("\\", "\\\\")
        yield Case(f"matches of {pattern}", REFUSED, table, {}, f"select n, s rlike '{literal}' from t")
    replaced = ", ".join(f"regexp_replace(s, '{p}', '<>')" for p in ("a.", "[^a-c]", r"\\d{2}|,", r"\\s+", r"\\w+"))
    yield Case("matches that are replaced", WHOLE, table, {}, f"select n, {replaced} from t")
    found = (
        ("(\\\\w+)", 1),
        ("a(.)c", 1),
        ("[a-z]+", 0),
        ("@(\\\\w+)[.]", 1),
        ("^x(\\\\d+)y", 1),
        ("(ä|ö).", 1),
        ("z", 0),
        ("(\\\\w+)[.](\\\\w)-", 2),
        ("(\\\\w+)@(\\\\w+)[.](\\\\w+)", 2),
        ("([a-z]*)(\\\\d+)([a-z ])", 2),
        ("^([^,]*),(\\\\d*)", 2),
    )
    extracted = ", ".join(f"regexp_extract(s, '{p}', {g})" for p, g in found)
    yield Case("matches that are taken out", WHOLE, table, {}, f"select n, {extracted} from t")
    parts = "split(s, ',')[0], split(s, '[.]')[0], split(s, '\\\\.')[0], "
    parts += "substring_index(s, ',', 1), substring_index(s, ',', -1)"
    yield Case("parts between separators", REFUSED, table, {}, f"select n, {parts} from t")
    parts = parts.replace("split(s, '[.]')[0], ", "")
    yield Case("parts between plain separators", WHOLE, table, {}, f"select n, {parts} from t")
    for ansi, outcome in (("true", FALLS_BACK), ("false", WHOLE)):
        yield Case(
            f"a missing part, ansi={ansi}",
            outcome,
            table,
            {ANSI: ansi},
            "select n, split(s, ',')[2], split(s, 'c')[1] from t",
        )
        yield Case(f"a missing element, ansi={ansi}", outcome, table, {ANSI: ansi},
                   "select n, element_at(split(s, ',', 2), 2), split(s, ',', 9)[1] from t")  # fmt: skip
    whole = (
        "split(s, ','), split(s, 'c', 2), split(s, '\\\\.', 1), size(split(s, ' ')), array_contains(split(s, ','), '')"
    )
    yield Case("parts of a pattern", REFUSED, table, {}, f"select n, {whole}, split(s, '[.]') from t")
    whole = f"select n, {whole} from t"
    yield Case("parts as arrays", WHOLE, table, {}, whole)
    yield Case("parts as rows", WHOLE, table, {}, "select n, e from t lateral view explode(split(s, ',')) v as e")
    yield Case("parts as rows, or none", WHOLE, table, {},
               "select n, e from t lateral view outer explode(split(s, ' ', 2)) v as e where n < 9")  # fmt: skip


#: rows of a query's own, and such as are made of each row
MADE = {
    "joined": "select n, name from t join (values (1, 'one'), (2, null), (9, 'nine')) v(k, name) on n = k",
    "outer": "select n, name, w from t left join (values (1, 'one', 1.50bd), (3, 'x', null)) v(k, name, w) on n = k",
    "united": "select n, b from t union all values (9, 'z'), (10, null)",
    "days": "select n, e from t join (values (date'2024-01-31', 1), (null, 2)) v(k, e) on d = k",
    "excluded": "select n from t where b not in (select * from values ('abc'), ('') v(k)) or b is null",
    "exploded": "select n, e from t lateral view explode(array(n, n + 1, null)) v as e",
    "constants": "select n, i, e from t lateral view posexplode(array('p', null, 'q')) v as i, e where n > 1",
    "stacked": "select n, p, q from t lateral view stack(2, n, b, g) v as p, q",
    "unpivoted": "select * from (select b, n, g from t) unpivot (v for name in (n, g))",
}


FUNCTIONS = {
    "text": """lpad(b, 3, 'ä'), rpad(b, 0, 'x'), rpad(b, 5, 'xy'), repeat(b, 2), reverse(b), replace(b, 'x', 'yz'),
        translate(b, 'xä', 'y'), concat_ws('-', b, if(n > 2, b, null), b), concat_ws(b, 'p', 'q'), instr(b, 'b'),
        locate('b', b), ascii(b), octet_length(b), b rlike '^[a-f]+', b rlike 'b|x'""",
    "dates": """dayofweek(d), weekday(d), dayofyear(d), weekofyear(d), add_months(d, 1), add_months(d, -13),
        last_day(d), trunc(d, 'MM'), trunc(d, 'week'), trunc(d, 'quarter'), trunc(d, 'YEAR'), add_months(d, n - 3),
        hour(m), minute(m), second(m), year(m), month(m), cast(m as date), cast(d as timestamp_ntz),
        cast(n > 2 as string),
        d + interval '13' month, d - interval '1' year, unix_date(d), date_from_unix_date(n - 3),
        date_diff(m, timestamp_ntz'2000-01-01 12:00:00')""",
    "parts of text": """right(b, 2), right(b, 9), split_part(b, 'b', 1), split_part(b, 'b', 2), split_part(b, 'b', 5),
        split_part(b, 'b', -1), regexp_replace(b, '[xa]+', '-'), regexp_replace(b, 'c|bc', ''), nvl(left(b, 1), '?'),
        b ilike 'Ä%'""",
    "casts to text": """cast(n as string), cast(d as string), cast(m as string), cast(y as string),
        cast(n > 2 as string), cast(cast(y as decimal(20, 10)) as string), cast(cast(y as decimal(9, 0)) as string),
        concat(n, '-', y)""",
    "digests": "md5(b), sha(b), sha1(b), sha2(b, 256), sha2(b, 0), md5(cast(b as binary)), md5(concat_ws('-', b, n))",
    "hashes": """xxhash64(b), xxhash64(n), xxhash64(b, n, g), xxhash64(d), xxhash64(y),
        xxhash64(n > 2, cast(b as binary)), xxhash64(cast(n as bigint)), xxhash64(repeat(b, 30)),
        hash(b), hash(n), hash(b, n, g), hash(d), hash(y),
        hash(cast(n as tinyint)), hash(cast(n as bigint) * 10000000000, b || 'xyz'), pmod(hash(b), 7)""",
    "times": "m + interval '1' hour, m - interval '90:30' minute to second, m + interval '2 03' day to hour",
    "numbers": """floor(x), ceil(x), floor(y), ceil(y), ceil(n), sqrt(abs(x)), sqrt(n), ~n, shiftleft(n, 3), n << 33,
        pmod(n, 3), pmod(-n, 3), pmod(3 - n, -2), y % 0.7, y % cast(1.25 as decimal(5, 2)), mod(-y, 0.30),
        nanvl(x, n), nanvl(x, null), bround(y), bround(y, 1), bround(y, 2), bround(y, 3), bround(y, 5),
        bround(cast(n / 2 as decimal(3, 1))), bround(cast(-n * 0.25 as decimal(9, 2)), 1),
        bround(cast(n * 0.1 - 0.15 as decimal(36, 3)), 2), bround(cast(0.95 as decimal(2, 2)) * n, 1)""",
    "windows": """lag(n) over w, lag(n, 2, -1) over w, lead(b) over w, lead(n, -1) over w, lag(n, 0) over w,
        ntile(2) over w, ntile(9) over w, percent_rank() over w, cume_dist() over w, first_value(n) over w,
        last_value(n) over w, nth_value(b, 2) over w,
        last(n) over (partition by g order by n rows between 1 following and 2 following),
        first(b) over (partition by g order by n rows between unbounded preceding and unbounded following),
        sum(n) over (order by n range between 2 preceding and 1 following),
        count(*) over (order by d range between 31 preceding and current row),
        sum(n) over (order by d range between interval '3' day preceding and interval '400' day following),
        max(n) over (order by n desc range between 3 preceding and 1 preceding)""",
}
VALUES = """select *, cast(v as double) x, cast(v as decimal(7, 3)) y from values
    (1, 'abc', date'2024-01-31', timestamp_ntz'2024-01-31 23:59:58.9', 1, '1.5'),
    (2, '', date'1969-12-31', timestamp_ntz'1969-12-31 01:02:03', 1, '-2.001'),
    (3, 'xäx b', date'2000-02-29', null, 2, null),
    (4, null, null, timestamp_ntz'1600-01-01 00:00:00.1', 2, '-0.0'),
    (7, 'ÄÖ', date'2024-12-30', null, 1, '1000')
    as t(n, b, d, m, g, v)"""
#: what stays with Spark, above a table that does not
KEPT = (
    "lpad(b, n, 'x')", "date_format(d, 'G')", "regexp_extract(b, 'a*(b)')", "percentile(n, array(0.25, 0.5))",
    "regexp_replace(b, 'x*', '-')", "lag(n) ignore nulls over (order by n)", "percentile_approx(n, 0.5)",
    "collect_set(x)", "sha2(b, 512)", "crc32(b)", "xxhash64(x)", "hash(m)",
    "bround(x, 1)", "split(b, '')", "split(b, '[bc]')",
    "cast(x as string)", "cast(b as float)", "approx_count_distinct(n)",
)  # fmt: skip
#: of groups, of which one has one row and one none with values
AGGREGATES = {
    "bits": "bit_and(n), bit_or(n) filter (where n > 2), bit_xor(n), bool_and(n > 1), bool_or(n > 3), count_if(n > 1)",
    "pairs": "corr(x, n), covar_samp(x, n), covar_pop(x, n), corr(n, n), covar_pop(x, n) filter (where n < 7)",
    "medians": """median(n), percentile(n, 0.5), median(n) filter (where n > 1), median(x), median(y),
        percentile(n, 0.25), percentile(x, 0.9), percentile(y, 0.1), percentile(distinct g, 0.3), percentile(n, 0),
        percentile(n, 1), percentile_cont(0.3) within group (order by x),
        percentile_disc(0.4) within group (order by n)""",
    "rows of extremes": """max_by(b, n), min_by(b, n), max_by(n, d), min_by(x, d), max_by(d, x) filter (where n < 4),
        max_by(g, g), min_by(n, b) filter (where n > 9)""",
    "arrays in order": """sort_array(collect_list(n)), sort_array(collect_set(b)), sort_array(collect_list(x), false),
        sort_array(collect_list(distinct b)), sort_array(collect_set(d)) l, size(collect_set(g)),
        sort_array(collect_list(b) filter (where n > 2)), sort_array(array_agg(y)), size(collect_list(m)),
        array_contains(collect_list(n), 2), sort_array(collect_list(n > 2))""",
    "distinct tuples": "count(distinct n, b), count(distinct n, b) + 1",
}


def functions() -> Iterator[Case]:
    columns = "n int, b string, d date, m timestamp_ntz, g int, x double, y decimal(7, 3)"
    table = files("parquet", columns, VALUES)
    for name, expressions in FUNCTIONS.items():
        query = f"select {expressions} from t window w as (partition by g order by n)"
        yield Case(f"functions of {name}", WHOLE, table, {}, query)
    for name, measures in AGGREGATES.items():
        for grouped in (f"select {measures} from t", f"select g, {measures} from t group by g",
                        f"select n % 4 k, {measures} from t where n <> 2 group by n % 4"):  # fmt: skip
            yield Case(f"{name}: {grouped}", WHOLE, table, {}, grouped)
    pivot = "select * from (select g, b, n from t) pivot (sum(n) for b in ('abc', 'xäx b' as c, 'none'))"
    yield Case("a pivot", WHOLE, table, {}, pivot)
    several = "select * from (select g, d, n, b from t) pivot (max(n) m, min(b) for d in (date'2024-01-31', null))"
    yield Case("a pivot of several", OFFLOADED, table, {}, several)
    yield Case("a pivot of one value", WHOLE, table, {}, pivot.replace("'abc', 'xäx b' as c, ", ""))
    yield Case("complete rows", WHOLE, lambda *at: table(*at).dropna())
    yield Case("rows with six values", WHOLE, lambda *at: table(*at).dropna(thresh=6))
    yield Case("filled rows", WHOLE, lambda *at: table(*at).fillna(0).fillna("?"))
    for ansi, outcome in (("true", FALLS_BACK), ("false", WHOLE)):
        constant = "select g, corr(x, g), corr(g, n) from t group by g"
        yield Case(f"constants of a correlation, ansi={ansi}", outcome, table, {ANSI: ansi}, constant)
    yield Case("rests by zero", FALLS_BACK, table, {ANSI: "true"}, "select pmod(n, n - 1) from t")
    yield Case("NULL of rests by zero", WHOLE, table, {ANSI: "false"}, "select pmod(n, n - 1) from t")
    yield Case("roots of negative numbers", FALLS_BACK, table, {}, "select sqrt(x) from t")
    yield Case("floors that no integer is", FALLS_BACK, table, {}, "select floor(x * 1e30) from t")
    clock = """select year(d), cast(d as date), unix_timestamp(d), date_format(d, 'yyyy-MM-dd HH:mm:ss'), to_date(d),
        date_format(d, 'yyyyMM'), d + interval '1-2' year to month, cast(date'2020-02-29' + day(d) as timestamp),
        hour(d), minute(d), second(d), date_trunc('YEAR', d), date_trunc('mm', d), date_trunc('week', d),
        date_trunc('DD', d), date_trunc('hour', d), date_trunc('millisecond', d), date_trunc('quarter', d) from t"""
    moments = files("parquet", "d timestamp", MOMENTS)
    yield Case("clocks of Etc/UTC", WHOLE, moments, {"spark.sql.session.timeZone": "Etc/UTC"}, clock)
    yield Case("a row of one extreme of several", FALLS_BACK, table, {}, "select max_by(n, g), min_by(b, g) from t")
    doubles = files("parquet", "v double", "select explode(array(2e23d, 0.15d, -1e15d, 264447954649809536d, null)) v")
    for type, where, outcome in (
        ("decimal(38,10)", "abs(v) < 1e16", WHOLE), ("decimal(9,1)", "v < 1", FALLS_BACK),
        ("decimal(38,0)", "true", FALLS_BACK),
        ("decimal(38,30)", "v < 1", REFUSED),
    ):  # fmt: skip
        query = f"select v, try_cast(v as {type}) d from t where {where}"
        yield Case(f"doubles as {type}", outcome, doubles, {}, query)
    far = "select explode(array(date'10000-01-01', date'9999-12-31', date'0001-01-01', date'-0044-03-15')) d"
    for shown in ("cast(d as string)", "concat(d, '')", "date_format(d, 'yyyy-MM-dd')"):
        yield Case(f"far days as {shown}", FALLS_BACK, files("parquet", "d date", far), {}, f"select {shown} s from t")
    one = (
        "first(g), last(g), any_value(g), first(cast(null as int)), last(x > 9999, true), first(b) filter (where n = 1)"
    )
    yield Case("the only value of groups", WHOLE, table, {}, f"select g, {one} from t group by g")
    for several in ("first(n)", "last(b)", "any_value(d)", "first(b) filter (where n < 5)"):
        yield Case(f"{several} of several values", FALLS_BACK, table, {}, f"select {several} from t")
    for name, query in MADE.items():
        yield Case(f"rows that are {name}", WHOLE, table, {}, query)
    for kept in KEPT:
        yield Case(f"a table below {kept}", OFFLOADED, table, {}, f"select {kept} from t")
    inner = """select n + (select min(n) from t) k, b from t
        where n > (select avg(n) from t) * 0.5 or n < 1 + (select max(n) from t where b = 'none')"""
    yield Case("scalar subqueries", OFFLOADED, table, {}, inner)
    other = "select n from t where b > (select cast(unhex('ff') as string) || max(b) from t)"
    yield Case("a scalar subquery of other text", FALLS_BACK, table, {}, other)


def cases() -> Iterator[Case]:
    for part in (functions, texts_of_values):
        yield from part()
