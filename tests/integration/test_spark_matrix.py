"""What decides which rows Spark reads, option, setting or feature of a table: offloaded with these rows, or refused."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.spark import Spark, equal, own

WHOLE, OFFLOADED, REFUSED, FALLS_BACK = "offloaded as a whole", "offloaded", "refused", "falls back"
FORMATS = ("parquet", "orc", "json", "csv")
TEXT = ("json", "csv")
ANSI = "spark.sql.ansi.enabled"
COLUMNS = "a int, b string, d date, n decimal(9,2)"
ROWS = """select * from values (1, 'x', date'2024-01-31', 1.50bd), (2, 'y z', date'1969-07-20', null),
          (null, null, null, -2.25bd) as t(a, b, d, n)"""


@dataclass(frozen=True)
class Case:
    """A table and what becomes of a query over it; by default of all its columns."""

    name: str
    outcome: str
    make: Callable[[SparkSession, Path], DataFrame]
    settings: dict[str, str] = field(default_factory=dict)
    query: str = "select * from t"


def plain(format: str, **options: str) -> Callable[[SparkSession, Path], DataFrame]:
    """A table of this test's rows, read with options."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        frame = session.sql(ROWS).selectExpr("cast(a as int) a", "b", "d", "cast(n as decimal(9,2)) n")
        frame.coalesce(1).write.format(format).save(str(folder / "t"))
        return session.read.format(format).schema(COLUMNS).options(**options).load(str(folder / "t"))

    return make


def text(format: str, content: str | bytes, columns: str = "a int", name: str = "", **options: str) -> Any:
    """A table of one file of text."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        data = content.encode() if isinstance(content, str) else content
        (folder / (name or f"t.{format}")).write_bytes(data)
        return session.read.format(format).schema(columns).options(**options).load(str(folder))

    return make


def files(format: str, schema: str, *parts: str, **options: str) -> Any:
    """A table of several files, each of a query."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        for part in parts:
            session.sql(part).coalesce(1).write.mode("append").format(format).save(str(folder / "t"))
        return session.read.format(format).schema(schema).options(**options).load(str(folder / "t"))

    return make


def catalog(*statements: str) -> Callable[[SparkSession, Path], DataFrame]:
    """A table `m` of the catalog, in a folder of the test's."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        session.sql("drop table if exists m")
        for statement in statements:
            session.sql(statement.replace("FOLDER", str(folder)))
        return session.table("m")

    return make


def of_arrow(table: pa.Table, schema: str, **write: Any) -> Callable[[SparkSession, Path], DataFrame]:
    def make(session: SparkSession, folder: Path) -> DataFrame:
        pq.write_table(table, folder / "t.parquet", **write)
        return session.read.schema(schema).parquet(str(folder))

    return make


#: options that leave rows as they are
HARMLESS = {
    "recursiveFileLookup": "true", "pathGlobFilter": "*", "modifiedAfter": "2001-01-01T00:00:00",
    "modifiedBefore": "2999-01-01T00:00:00", "ignoreMissingFiles": "true", "mergeSchema": "true", "compression": "none",
    "partitionOverwriteMode": "dynamic", "inferSchema": "false",
}  # fmt: skip
#: options that may change them, by format
OWN_OPTIONS = {
    "parquet": {
        "datetimeRebaseMode": "LEGACY", "int96RebaseMode": "LEGACY", "ignoreCorruptFiles": "true", "unheardOf": "1",
    },
    "orc": {"ignoreCorruptFiles": "true", "unheardOf": "1"},
    "json": {
        "multiLine": "true", "lineSep": "|", "encoding": "UTF-16LE", "primitivesAsString": "true",
        "prefersDecimal": "true",
        "allowComments": "true", "allowUnquotedFieldNames": "true", "allowSingleQuotes": "false",
        "allowNumericLeadingZeros": "true", "allowBackslashEscapingAnyCharacter": "true",
        "allowUnquotedControlChars": "true", "allowNonNumericNumbers": "false", "dropFieldIfAllNull": "true",
        "dateFormat": "dd.MM.yyyy", "timestampFormat": "dd.MM.yyyy", "timestampNTZFormat": "yyyy", "locale": "de",
        "timeZone": "UTC", "columnNameOfCorruptRecord": "b", "ignoreNullFields": "true", "ignoreCorruptFiles": "true",
        "enableDateTimeParsingFallback": "true", "unheardOf": "1",
    },
    "csv": {
        "multiLine": "true", "lineSep": "|", "encoding": "UTF-16LE", "quote": "", "escape": "~", "comment": "#",
        "charToEscapeQuoteEscaping": "~", "nullValue": "x", "emptyValue": "e", "nanValue": "n", "positiveInf": "i",
        "negativeInf": "j", "enforceSchema": "false", "ignoreLeadingWhiteSpace": "true", "maxColumns": "9",
        "ignoreTrailingWhiteSpace": "true", "dateFormat": "dd.MM.yyyy", "timestampFormat": "yyyy", "locale": "de",
        "timestampNTZFormat": "yyyy", "timeZone": "UTC", "maxCharsPerColumn": "9",
        "unescapedQuoteHandling": "RAISE_ERROR",
        "columnNameOfCorruptRecord": "b", "samplingRatio": "1", "columnPruning": "false", "ignoreCorruptFiles": "true",
        "enableDateTimeParsingFallback": "true", "preferDate": "false", "unheardOf": "1",
    },
}  # fmt: skip
#: settings of a session that may change rows
OWN_SETTINGS = {
    "spark.sql.files.ignoreCorruptFiles": "true", "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY", "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.parquet.fieldId.read.enabled": "true", "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.int96TimestampConversion": "true", "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.legacy.statisticalAggregate": "true", "spark.sql.legacy.json.allowEmptyString.enabled": "true",
    "spark.sql.json.enablePartialResults": "false",
    "spark.sql.legacy.integralDivide.returnBigint": "false",
}  # fmt: skip
HARMLESS_SETTINGS = {
    "spark.sql.parquet.filterPushdown": "false", "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.mergeSchema": "true", "spark.sql.files.maxPartitionBytes": "1000",
    "spark.sql.orc.filterPushdown": "false", "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.caseSensitive": "true", "spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Tokyo",
}  # fmt: skip


def options() -> Iterator[Case]:
    for format in FORMATS:
        yield Case(f"{format} with options of listing", OFFLOADED, plain(format, **HARMLESS))
        for name, value in OWN_OPTIONS[format].items():
            yield Case(f"{format} {name}={value}", REFUSED, plain(format, **{name: value}))
    for name, value in OWN_SETTINGS.items():
        for format in ("parquet", "json"):
            yield Case(f"{format} with {name}={value}", REFUSED, plain(format), {name: value})
    yield Case("parquet with settings of speed", OFFLOADED, plain("parquet"), HARMLESS_SETTINGS)


#: text that a reader of other rules takes for other rows
TEXTS = {
    "an array over lines": '[\n{"a":1},\n{"a":2}\n]\n',
    "an array on a line": '[{"a":1},{"a":2}]\n',
    "two objects on a line": '{"a":1} {"a":2}\n',
    "an object over lines": '{"a":\n1}\n{"a":2}\n',
    "an object over carriage returns": '{"a":\r1}\n{"a":2}\n',
    "lines of carriage returns": '{"a":1}\r{"a":2}\r',
    "words behind an object": '{"a":1} x\n',
    "a number that is not": '{"a":NaN}\n',
    "single quotes": "{'a':1}\n",
    "a scalar": "1\n",
    "null": "null\n",
    "leading zeros": '{"a":01}\n',
    "another case": '{"A":1}\n{"a":2}\n',
}
SAME_TEXTS = {
    "objects": '{"a":1}\n{"a":null}\n{}\n\n  \n{"a":2,"b":[1,{"c":[]}]}',
    "windows lines": '{"a":1}\r\n{"a":2}\r\n',
    "a byte order mark": '\ufeff{"a":1}\n',
    "a name twice": '{"a":1,"a":2}\n',
}
SEPARATED = {
    "a carriage return in a line": "1\r2\n3\n", "lines of carriage returns": "1\r2\r", "blanks": " 1\n2 \n",
    "more columns": "1,2\n3\n", "quotes": '"1"\n"2"\n', "a quote within": '1"2\n', "words": "x\n2\n",
}  # fmt: skip


def texts() -> Iterator[Case]:
    for name, content in TEXTS.items():
        outcome = OFFLOADED if name == "another case" else FALLS_BACK
        yield Case(f"json of {name}", outcome, text("json", content))
    for name, content in SAME_TEXTS.items():
        yield Case(f"json of {name}", OFFLOADED, text("json", content))
    packed = gzip.compress(b'{"a":1}\n{"a":2}\n')
    yield Case("json, packed", OFFLOADED, text("json", packed, name="t.json.gz"))
    for name, content in SEPARATED.items():
        outcome = OFFLOADED if name in ("quotes", "lines of carriage returns") else FALLS_BACK
        yield Case(f"csv of {name}", outcome, text("csv", content))
    yield Case("csv of windows lines", OFFLOADED, text("csv", "1\r\n2\r\n"))


DAYS = "select explode(array(date'0001-01-01', date'1500-03-01', date'1582-10-15', date'2024-02-29')) d"
MOMENTS = "select explode(array(timestamp'1500-03-01 00:00:00', timestamp'2024-02-29 12:30:00.123456')) d"


def kinds() -> Iterator[Case]:
    for format in FORMATS:
        yield Case(
            f"{format} of early days", FALLS_BACK if format == "orc" else OFFLOADED, files(format, "d date", DAYS)
        )
        yield Case(f"{format} that lacks a column", OFFLOADED if format != "csv" else FALLS_BACK,
                   files(format, "a int, z int", "select 1 a, 2 z", "select 3 a"))  # fmt: skip
    for format in ("parquet", "orc"):
        yield Case(f"{format} that spells a column in other cases", FALLS_BACK,
                   files(format, "a int, z int", "select 1 a, 2 z", "select 3 A, 4 Z"))  # fmt: skip
        yield Case(f"{format} with columns by number", FALLS_BACK,
                   files(format, "a int, z int", "select 1 _col0, 2 _col1"))  # fmt: skip
        yield Case(f"{format} of narrower integers", OFFLOADED, files(format, "a bigint", "select 1 a"))
    yield Case("parquet moments", OFFLOADED, files("parquet", "d timestamp", MOMENTS),
               {"spark.sql.session.timeZone": "America/New_York"})  # fmt: skip
    yield Case(
        "parquet moments of a clock",
        OFFLOADED,
        files("parquet", "d timestamp_ntz", MOMENTS.replace("timestamp'", "timestamp_ntz'")),
    )
    yield Case("parquet moments of a clock as others", OFFLOADED,
               files("parquet", "d timestamp", MOMENTS.replace("timestamp'", "timestamp_ntz'")))  # fmt: skip
    yield Case("orc moments", REFUSED, files("orc", "d timestamp", MOMENTS))
    yield Case("parquet of old days", FALLS_BACK, old_days)
    unsigned = pa.table({"a": pa.array([1, 2**32 - 1], pa.uint32()), "b": pa.array([1, 2**64 - 1], pa.uint64())})
    yield Case("parquet of unsigned integers", OFFLOADED, of_arrow(unsigned, "a bigint, b decimal(20,0)"))


def old_days(session: SparkSession, folder: Path) -> DataFrame:
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    try:
        return files("parquet", "d date", DAYS)(session, folder)  # type: ignore[no-any-return]
    finally:
        session.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")


def partitioned(values: str, type: str) -> Callable[[SparkSession, Path], DataFrame]:
    def make(session: SparkSession, folder: Path) -> DataFrame:
        session.sql(f"select * from values {values} as t(a, p)").write.partitionBy("p").parquet(str(folder / "t"))
        return session.read.schema(f"a int, p {type}").parquet(str(folder / "t"))

    return make


def tables() -> Iterator[Case]:
    create = "create table m (a int, p string) using {} {} location 'FOLDER/m'"
    for format in FORMATS:
        made = create.format(format, "").replace(", p string", "")
        added = (
            made,
            "insert into m values (1)",
            "alter table m add column z int default 7",
            "insert into m values (2, 3)",
        )
        yield Case(f"{format} with a default", REFUSED, catalog(*added))
        yield Case(
            f"{format} beside a default",
            OFFLOADED if format != "csv" else FALLS_BACK,
            catalog(*added),
            {},
            "select a from t",
        )
        yield Case(f"{format} in a catalog", OFFLOADED, catalog(made, "insert into m values (1), (2)"))
        made = create.format(format, "partitioned by (p)")
        yield Case(
            f"{format} in a partitioned catalog",
            OFFLOADED,
            catalog(made, "insert into m values (1, 'a b'), (2, null), (3, 'ä/=%+')"),
        )
    made = create.format("parquet", "partitioned by (p)")
    yield Case("a partition elsewhere", REFUSED, catalog(
        made, "insert into m values (1, 'x'), (2, 'y')",
        "alter table m add partition (p = 'z') location 'FOLDER/m/p=x'"))  # fmt: skip
    bucketed = create.format("parquet", "clustered by (a) into 2 buckets")
    yield Case("buckets", OFFLOADED, catalog(bucketed, "insert into m values (1, 'x'), (2, 'y')"))
    yield Case(
        "characters",
        OFFLOADED,
        catalog(
            create.format("parquet", "").replace("string", "char(3)"),
            "insert into m values (1, 'x'), (2, 'äöü'), (3, null)",
        ),
    )
    nested = partitioned("(1, '1'), (2, '7')", "int")
    yield Case(
        "folders that are only searched",
        OFFLOADED,
        lambda session, folder: (
            nested(session, folder),
            session.read.schema("a int").option("recursiveFileLookup", "true").parquet(str(folder / "t")),
        )[1],
    )
    yield Case(
        "files of some names",
        OFFLOADED,
        lambda session, folder: (
            text("json", '{"a":1}\n', name="x.json")(session, folder),
            text("json", '{"a":2}\n', name="y.json", pathGlobFilter="y*")(session, folder),
        )[1],
    )
    yield Case("no file of these days", REFUSED, plain("parquet", modifiedBefore="2001-01-01T00:00:00"))
    yield Case("a generated column", OFFLOADED, catalog(
        create.format("parquet", "").replace("string", "varchar(3)"), "insert into m values (1, 'x')"))  # fmt: skip
    yield Case("partitions of integers", OFFLOADED, partitioned("(1, '1'), (2, '007'), (3, null)", "int"))
    yield Case("partitions of dates", OFFLOADED, partitioned("(1, '2024-01-31'), (2, '1500-03-01')", "date"))
    yield Case("partitions of decimals", OFFLOADED, partitioned("(1, '1.50'), (2, '-2.25')", "decimal(9,2)"))
    yield Case("partitions of booleans", OFFLOADED, partitioned("(1, 'true'), (2, 'false')", "boolean"))
    yield Case("partitions of moments", REFUSED, partitioned("(1, '2024-01-31 12:00:00')", "timestamp"))
    yield Case(
        "the files' names",
        REFUSED,
        plain("parquet"),
        {},
        "select a, regexp_replace(input_file_name(), '.*/', '') f from t",
    )
    yield Case(
        "the files' names of a part",
        REFUSED,
        plain("parquet"),
        {},
        "select a, length(input_file_name()) f from t where a > 0",
    )
    yield Case(
        "hidden columns",
        REFUSED,
        lambda session, folder: plain("parquet")(session, folder).select("_metadata.file_size"),
    )
    yield Case("a sample", REFUSED, plain("parquet"), {}, "select a from t tablesample (50 percent) repeatable (7)")


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
    for zone, outcome in (("UTC", WHOLE), ("Asia/Kolkata", REFUSED)):
        query = "select cast(s as timestamp) m, cast(cast(s as timestamp) as string) u from t"
        yield Case(f"texts of moments of {zone}", outcome, moments, {"spark.sql.session.timeZone": zone}, query)
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
        last_day(d), trunc(d, 'MM'), trunc(d, 'week'), trunc(d, 'quarter'), trunc(d, 'YEAR'),
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
    "times": "m + interval '1' hour, m - interval '90:30' minute to second, m + interval '2 03' day to hour",
    "numbers": """floor(x), ceil(x), floor(y), ceil(y), ceil(n), sqrt(abs(x)), sqrt(n), ~n, shiftleft(n, 3), n << 33,
        pmod(n, 3), pmod(-n, 3), pmod(3 - n, -2), y % 0.7, y % cast(1.25 as decimal(5, 2)), mod(-y, 0.30),
        nanvl(x, n), nanvl(x, null)""",
    "windows": """lag(n) over w, lag(n, 2, -1) over w, lead(b) over w, lead(n, -1) over w, lag(n, 0) over w,
        ntile(2) over w, ntile(9) over w, percent_rank() over w, cume_dist() over w, first_value(n) over w,
        last_value(n) over w, nth_value(b, 2) over w,
        last(n) over (partition by g order by n rows between 1 following and 2 following),
        first(b) over (partition by g order by n rows between unbounded preceding and unbounded following),
        sum(n) over (order by n range between 2 preceding and 1 following),
        count(*) over (order by d range between 31 preceding and current row),
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
    "lpad(b, n, 'x')", "date_format(d, 'yy')", "regexp_extract(b, '(a)')", "percentile(n, 0.25)", "median(x)",
    "regexp_replace(b, 'x*', '-')", "lag(n) ignore nulls over (order by n)", "percentile_approx(n, 0.5)", "first(n)",
    "any_value(b)", "collect_list(n)", "collect_set(b)", "md5(b)", "sha2(b, 256)", "xxhash64(b)", "bround(y, 1)",
    "split(b, 'b')", "cast(x as string)", "cast(b as float)", "approx_count_distinct(n)",
)  # fmt: skip
#: of groups, of which one has one row and one none with values
AGGREGATES = {
    "bits": "bit_and(n), bit_or(n) filter (where n > 2), bit_xor(n), bool_and(n > 1), bool_or(n > 3), count_if(n > 1)",
    "pairs": "corr(x, n), covar_samp(x, n), covar_pop(x, n), corr(n, n), covar_pop(x, n) filter (where n < 7)",
    "medians": "median(n), percentile(n, 0.5), median(n) filter (where n > 1)",
    "rows of extremes": """max_by(b, n), min_by(b, n), max_by(n, d), min_by(x, d), max_by(d, x) filter (where n < 4),
        max_by(g, g), min_by(n, b) filter (where n > 9)""",
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
    for name, change in {
        "complete rows": lambda frame: frame.dropna(),
        "rows with six values": lambda frame: frame.dropna(thresh=6),
        "filled rows": lambda frame: frame.fillna(0).fillna("?"),
    }.items():
        yield Case(name, WHOLE, lambda session, folder, change=change: change(table(session, folder)))
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
    for zone, outcome in (("UTC", WHOLE), ("Etc/UTC", WHOLE), ("Asia/Kolkata", REFUSED)):
        moments = files("parquet", "d timestamp", MOMENTS)
        yield Case(f"clocks of {zone}", outcome, moments, {"spark.sql.session.timeZone": zone}, clock)
    yield Case("a row of one extreme of several", FALLS_BACK, table, {}, "select max_by(n, g), min_by(b, g) from t")
    for name, query in MADE.items():
        yield Case(f"rows that are {name}", WHOLE, table, {}, query)
    for kept in KEPT:
        yield Case(f"a table below {kept}", OFFLOADED, table, {}, f"select {kept} from t")
    inner = """select n + (select min(n) from t) k, b from t
        where n > (select avg(n) from t) * 0.5 or n < 1 + (select max(n) from t where b = 'none')"""
    yield Case("scalar subqueries", OFFLOADED, table, {}, inner)


CASES = {case.name: case for part in (options, texts, kinds, tables, functions, texts_of_values) for case in part()}


@pytest.fixture(scope="module")
def spark(one_host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    spark = Spark(one_host, tmp_path_factory.mktemp("warehouse"), master="local[1]")
    yield spark
    spark.close()


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", CASES)
def test_rows_are_spark_s(spark: Spark, tmp_path: Path, name: str) -> None:
    case, session = CASES[name], spark.session
    table = case.make(session, tmp_path)
    for setting, value in case.settings.items():
        session.conf.set(setting, value)
    try:
        table.createOrReplaceTempView("t")
        before, frame = spark.fallbacks, session.sql(case.query)
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert ("Jumpgate [" in plan) == (case.outcome != REFUSED), plan
        if case.outcome == REFUSED:
            return
        offloaded, operators = spark.coverage(frame)
        assert offloaded == operators or case.outcome != WHOLE, spark.jvm.io.jumpgate.spark.JumpgateExplain.coverage(
            frame._jdf.queryExecution().executedPlan()
        ).text()
        assert equal(_rows(frame.collect), _rows(lambda: own(session, case.query)))
        assert spark.fallbacks == before + (case.outcome == FALLS_BACK)
    finally:
        for setting in case.settings:
            session.conf.unset(setting)


def _rows(ask: Callable[[], Any]) -> Any:
    """Or what the error is about."""
    try:
        return ask()
    except Exception as error:
        return [(str(error).partition("]")[0],)]


WRITES = {
    "a file": lambda frame, folder: frame.write.parquet(str(folder / "out")),
    "partitions": lambda frame, folder: frame.write.partitionBy("g").orc(str(folder / "out")),
    "a table": lambda frame, folder: frame.write.format("parquet").saveAsTable("out"),
    "ctas": lambda frame, folder: frame.sparkSession.sql("create table out using parquet as select * from t"),
    "insert": lambda frame, folder: (
        frame.sparkSession.sql("create table out using parquet as select * from t limit 0"),
        frame.sparkSession.sql("insert into out select * from t"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_writes_take_rows_of_accelerators(spark: Spark, tmp_path: Path, name: str) -> None:
    session = spark.session
    files("parquet", "n int, b string, g int", VALUES)(session, tmp_path).createOrReplaceTempView("t")
    session.sql("drop table if exists out")
    before = spark.fallbacks
    WRITES[name](session.sql("select * from t"), tmp_path)
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    shown = session._jsparkSession.sharedState().statusStore().executionsList().last().physicalPlanDescription()
    assert "Jumpgate [" in shown, shown
    assert spark.fallbacks == before
    out = tmp_path / "out"
    written = (
        session.read.format("orc" if name == "partitions" else "parquet").load(str(out))
        if out.exists()
        else session.table("out")
    )
    assert equal(written.select("n", "b", "g").collect(), own(session, "select n, b, g from t"))
    session.sql("drop table if exists out")
