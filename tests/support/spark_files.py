"""What decides which rows Spark reads: options, settings and features of tables, and types that files may have."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.support.spark_cases import (
    ANY,
    FALLS_BACK,
    FORMATS,
    OFFLOADED,
    REFUSED,
    TEXT,
    WHOLE,
    Case,
    catalog,
    files,
    of_arrow,
    plain,
    text,
)

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
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.int96TimestampConversion": "true", "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.legacy.statisticalAggregate": "true", "spark.sql.legacy.json.allowEmptyString.enabled": "true",
    "spark.sql.json.enablePartialResults": "false",
    "spark.sql.legacy.integralDivide.returnBigint": "false",
}  # fmt: skip
HARMLESS_SETTINGS = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
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
        yield Case(f"{format} that spells ä in other cases", FALLS_BACK,
                   files(format, "a int, `ä` int", "select 1 a, 2 `ä`", "select 3 a, 4 `Ä`"))  # fmt: skip
        yield Case(f"{format} with a column that no file has", WHOLE,
                   files(format, "a int, z int, y struct<x:int>", "select 1 a", "select 3 a"))  # fmt: skip
        yield Case(f"{format} with columns by number", FALLS_BACK if format == "orc" else WHOLE,
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
    yield Case("orc moments", FALLS_BACK, files("orc", "d timestamp", MOMENTS))
    yield Case("parquet of old days", FALLS_BACK, old_days)
    unsigned = pa.table({"a": pa.array([1, 2**32 - 1], pa.uint32()), "b": pa.array([1, 2**64 - 1], pa.uint64())})
    yield Case("parquet of unsigned integers", OFFLOADED, of_arrow(unsigned, "a bigint, b decimal(20,0)"))


def old_days(session: SparkSession, folder: Path) -> DataFrame:
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    try:
        return files("parquet", "d date", DAYS)(session, folder)  # type: ignore[no-any-return]
    finally:
        session.conf.unset("spark.sql.parquet.datetimeRebaseModeInWrite")


def newer(make: Callable[[SparkSession, Path], DataFrame]) -> Callable[[SparkSession, Path], DataFrame]:
    """Read a table by the newer of Spark's interfaces for sources."""

    def read(session: SparkSession, folder: Path) -> DataFrame:
        session.conf.set("spark.sql.sources.useV1SourceList", "")
        try:
            return make(session, folder)
        finally:
            session.conf.unset("spark.sql.sources.useV1SourceList")

    return read


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
        yield Case(f"{format} with a default", REFUSED if format in TEXT else OFFLOADED, catalog(*added))
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
    for format in FORMATS:
        yield Case(f"{format} by the newer interface", OFFLOADED, newer(plain(format)))
        yield Case(
            f"{format} by the newer interface with an option", REFUSED, newer(plain(format, ignoreCorruptFiles="true"))
        )
    folders = newer(partitioned("(1, '1'), (2, '7'), (3, '7')", "int"))
    yield Case("partitions by the newer interface", OFFLOADED, folders, {}, "select a from t where p = 7 and a > 2")
    yield Case("counts by the newer interface", REFUSED, folders, {"spark.sql.parquet.aggregatePushdown": "true"},
               "select count(*), max(a) from t")  # fmt: skip
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


#: types, and values of each that others may not have
TYPES = {
    "boolean": "true, false, null", "tinyint": "1Y, -128Y", "int": "0, -7, 2147483647, null",
    "bigint": "1L, -9223372036854775808L", "float": "0.1f, float('nan'), -3e38f", "double": "1.5d, -1e300, null",
    "decimal(5,2)": "1.25bd, -999.99bd", "decimal(12,4)": "1.2500bd, 12345678.9012bd", "string": "'1', 'x', '', null",
    "date": "date'2024-02-29', date'1969-12-31'", "timestamp_ntz": "timestamp_ntz'2024-02-29 12:34:56.789'",
}  # fmt: skip


def evolving() -> Iterator[Case]:
    """Files of one type that are read as another one: whoever reads them, rows and errors are Spark's."""
    for format in ("parquet", "orc", "json"):
        for stored, values in TYPES.items():
            rows = f"select cast(v as {stored}) v from (select explode(array({values})) v)"
            for wanted in TYPES:
                if wanted != stored:
                    yield Case(f"{format} of {stored} as {wanted}", ANY, files(format, f"v {wanted}", rows))


def cases() -> Iterator[Case]:
    for part in (options, texts, kinds, tables):
        yield from part()
