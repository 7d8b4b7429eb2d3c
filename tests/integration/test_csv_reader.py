"""The CSV reader against DuckDB and Python's csv module: types, quoting, borders, late columns, damage."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpgate.client import read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema, parse_type
from jumpgate.errors import Cancelled, FileUnreadable, MalformedData, Overflow, SchemaMismatch
from tests.support import probe, text_files
from tests.support.physical import physical
from tests.support.text_files import two, write

MORSEL_BYTES = 8 << 20
PIECE_BYTES = 256 << 10

#: name, type, the SQL that makes 6000 values from i
COLUMNS = [
    ("b", "bool", "i % 3 = 0"),
    ("i8", "int8", "(i % 256 - 128)::tinyint"),
    ("i16", "int16", "(i * 37 % 65536 - 32768)::smallint"),
    ("i32", "int32", "(i * 1000003 % 4294967296 - 2147483648)::integer"),
    ("i64", "int64", "(i - 3000) * 3074457345618258"),
    ("f32", "float32", "(i / 8)::float"),
    ("f64", "float64", "i / 7 - 300"),
    ("d7", "decimal(7, 2)", "((i - 3000) / 7)::decimal(7, 2)"),
    ("d18", "decimal(18, 4)", "((i - 3000)::decimal(18, 4) * 12345678)::decimal(18, 4)"),
    ("d38", "decimal(38, 10)", "((i - 3000)::decimal(38, 10) * 1234567890123456789)::decimal(38, 10)"),
    ("day", "date", "date '1950-01-01' + (i * 7)::integer"),
    ("moment", "timestamp", "timestamp '1969-06-01 12:34:56.789' + interval (i * 100003) second"),
    ("s", "string", "case i % 11 when 0 then '' when 5 then 'q\"uo,te' || chr(10) || i else 'wörd ' || i end"),
]
SCHEMA = Schema(tuple(Field(name, parse_type(type_ + "?")) for name, type_, _ in COLUMNS))


def scan(path: str | list[str], schema: Schema, **how: Any) -> probe.Scan:
    return text_files.scan("csv", path, schema, **how)


def rows(path: str | list[str], schema: Schema, **how: Any) -> list[tuple[Any, ...]]:
    return text_files.rows("csv", path, schema, **how)


@pytest.fixture(scope="module")
def every_type(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[list[Any]]]:
    """A file that DuckDB wrote, with NULLs, and what is in it."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    columns = ", ".join(
        f"case when (i * {n + 3}) % 13 > 0 then {sql} end as {name}" for n, (name, _, sql) in enumerate(COLUMNS)
    )
    data = duckdb.sql(f"select {columns} from range(6000) t(i)").to_arrow_table()
    duckdb.sql(f"copy data to '{path}' (format csv, header)")
    return str(path), [physical(data[f.name].to_pylist(), f.type) for f in SCHEMA]


@pytest.mark.parametrize("late", [(), range(len(COLUMNS))])
def test_every_type(every_type: tuple[str, list[list[Any]]], late: Any) -> None:
    path, expected = every_type
    found = scan(path, SCHEMA, late=late)
    for i, field in enumerate(SCHEMA):
        assert found.columns[i] == expected[i], field.name


def test_columns_are_found_by_name(every_type: tuple[str, list[list[Any]]]) -> None:
    path, expected = every_type
    wanted = (11, 3, 7)
    found = scan(path, SCHEMA.select(wanted))
    assert list(found.columns) == [expected[i] for i in wanted]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_late_columns(every_type: tuple[str, list[list[Any]]], seed: int) -> None:
    """Random selections: late columns hold what the file holds."""
    path, expected = every_type
    rng = random.Random(seed)
    density = rng.choice([0.01, 0.3, 1.0])
    taken: list[int] = []
    start = 0

    def select(batch_rows: int) -> list[int]:
        nonlocal start
        chosen = [] if rng.random() < 0.3 else [r for r in range(batch_rows) if rng.random() < density]
        taken.extend(start + r for r in chosen)
        start += batch_rows
        return chosen

    found = scan(path, SCHEMA, late=[i for i in range(len(SCHEMA)) if rng.random() < 0.6], select=select)
    assert list(found.columns) == [[column[r] for r in taken] for column in expected]


EXTREMES = [
    ("int8", "-128", -128),
    ("int8", "127", 127),
    ("int64", "-9223372036854775808", -(2**63)),
    ("int64", "9223372036854775807", 2**63 - 1),
    ("int64", "0", 0),
    ("int64", "-0", 0),
    ("int32", "007", 7),
    ("int64", "12345678", 12345678),
    ("int64", "123456789", 123456789),
    ("int32", " 12 ", 12),
    ("int32", "+5", 5),
    ("int32", "3.0", 3),
    ("int32", "1e3", 1000),
    ("float64", "1e308", 1e308),
    ("float64", "-.5", -0.5),
    ("float64", "inf", float("inf")),
    ("float32", "0.1", 0.10000000149011612),
    ("float64", "5e-324", 5e-324),
    ("decimal(7, 2)", "99999.99", 9999999),
    ("decimal(7, 2)", "-99999.99", -9999999),
    ("decimal(7, 2)", ".5", 50),
    ("decimal(7, 2)", "5.", 500),
    ("decimal(7, 2)", "1.005", 101),
    ("decimal(7, 2)", "1.0049999", 100),
    ("decimal(7, 2)", "-1.005", -101),
    ("decimal(7, 2)", "0.995", 100),
    ("decimal(7, 2)", "1e3", 100000),
    ("decimal(7, 2)", "00000000000012.50", 1250),
    ("decimal(18, 4)", "99999999999999.9999", 10**18 - 1),
    ("decimal(38, 0)", "9" * 38, 10**38 - 1),
    ("decimal(38, 0)", "-" + "9" * 38, 1 - 10**38),
    ("decimal(38, 38)", "0." + "9" * 38, 10**38 - 1),
    ("date", "1969-12-31", -1),
    ("date", "0001-01-01", -719162),
    ("date", "9999-12-31", 2932896),
    ("date", "2000-02-29", 11016),
    ("timestamp", "1970-01-01 00:00:00.000001", 1),
    ("timestamp", "1969-12-31T23:59:59.5", -500000),
    ("timestamp", "2001-02-03", 981158400000000),
    ("timestamp", "2001-02-03T04:05:06Z", 981173106000000),
    ("timestamp", "2001-02-03 04:05:06.5+02:00", 981165906500000),
    ("timestamp", "2001-02-03 04:05:06-0130", 981178506000000),
    ("timestamp", "2001-02-03 04:05:06+02", 981165906000000),
    ("timestamp", "2001-02-03T04:05:06.123456000Z", 981173106123456),
    ("date", "2001-02-03T00:00:00.000000000Z", 11356),
    ("bool", "TRUE", True),
    ("bool", "f", False),
    ("bool", "1", True),
    ("string", " x ", b" x "),
    ("string", "NULL", b"NULL"),
]


@pytest.mark.parametrize(("type_", "text", "value"), EXTREMES)
@pytest.mark.parametrize("quote", ["", '"'])
def test_values(tmp_path: Path, type_: str, text: str, value: Any, quote: str) -> None:
    schema = Schema((Field("b", parse_type(type_ + "?")),))
    path = write(tmp_path / "t.csv", f"a,b\nx,{quote}{text}{quote}\n")
    assert rows(path, schema) == [(value,)]


WRONG = [
    ("int8", "128", Overflow),
    ("int8", "-129", Overflow),
    ("int64", "9223372036854775808", Overflow),
    ("int64", "99999999999999999999999", Overflow),
    ("int32", "1.5", SchemaMismatch),
    ("int32", "x", SchemaMismatch),
    ("int32", "1 2", SchemaMismatch),
    ("int64", "--1", SchemaMismatch),
    ("int64", "-", SchemaMismatch),
    ("float64", "1,5", SchemaMismatch),
    ("decimal(7, 2)", "100000", Overflow),
    ("decimal(7, 2)", "99999.995", Overflow),
    ("decimal(7, 2)", ".", SchemaMismatch),
    ("decimal(7, 2)", "1.2.3", SchemaMismatch),
    ("decimal(7, 2)", "-", SchemaMismatch),
    ("date", "2001-02-29", SchemaMismatch),
    ("date", "20010203", SchemaMismatch),
    ("timestamp", "2001-02-03 25:00:00", SchemaMismatch),
    ("timestamp", "2001-02-03 04:05:06.1234567", SchemaMismatch),
    ("timestamp", "2001-02-03 04:05:06+24:00", SchemaMismatch),
    ("timestamp", "2001-02-03 04:05:06+2", SchemaMismatch),
    ("timestamp", "2001-02-03 04:05:06 UTC", SchemaMismatch),
    ("timestamp", "2001-02-03Z", SchemaMismatch),
    ("timestamp", "0001-01-01 00:00:00+01:00", Overflow),
    ("bool", "yes", SchemaMismatch),
    ("string", b"\xff\xfe", MalformedData),
    ("string", b"a" * 20 + b"\xc3", MalformedData),
]


@pytest.mark.parametrize(("type_", "text", "error"), WRONG)
@pytest.mark.parametrize("late", [(), (0,)])
def test_wrong_values(tmp_path: Path, type_: str, text: str | bytes, error: type[Exception], late: Any) -> None:
    raw = text.encode() if isinstance(text, str) else text
    good = {"date": b"2001-02-03", "timestamp": b"2001-02-03", "string": b"x"}.get(type_, b"1")
    path = write(tmp_path / "t.csv", b"z,b\n1," + good + b'\n2,"' + raw + b'"\n3,' + good + b"\n")
    schema = Schema((Field("b", parse_type(type_ + "?")),))
    with pytest.raises(error) as e:
        scan(path, schema, late=late)
    assert f"{path}: line 3 (byte {4 + 2 + len(good) + 1 + 2}): column 'b'" in str(e.value)
    assert e.value.fields == {"file": path, "line": "3", "offset": str(9 + len(good)), "column": "b"}  # type: ignore[attr-defined]
    found = scan(path, schema, late=late, options={"on_error": "skip"})
    assert (found.rows, found.skipped_rows, len(found.columns[0])) == (2, 1, 2)


def test_nulls_and_empties(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'a,b\n1,\n,""\n"",x\n"1",""""\n')
    assert rows(path, two()) == [(1, None), (None, b""), (None, b"x"), (1, b'"')]
    texts = two("string?")
    expected = duckdb.sql(
        f"select * from read_csv('{path}', columns={{'a': 'varchar', 'b': 'varchar'}}, allow_quoted_nulls=false, "
        "auto_detect=false, header=true, delim=',', quote='\"', escape='\"')"
    ).fetchall()
    assert rows(path, texts) == [tuple(physical(list(row), t.string)) for row in expected]
    path = write(tmp_path / "n.csv", 'a,b\nNA,NA\n1,"NA"\n,\n')
    assert rows(path, two(), options={"null": "NA"}) == [(None, None), (1, b"NA"), (None, b"")]
    with pytest.raises(SchemaMismatch, match="column 'a' holds nothing, which is not of type int64"):
        scan(write(tmp_path / "m.csv", "a,b\n,x\n"), two("int64"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("header", [True, False])
def test_line_ends(tmp_path: Path, end: str, last: bool, mark: str, header: bool) -> None:
    lines = (["a,b"] if header else []) + ["1,x", "2,", '3,"y"', "4,z"]
    path = write(tmp_path / "t.csv", mark + end.join(lines) + (end if last else ""))
    found = rows(path, two(), options={"header": str(header).lower()})
    assert found == [(1, b"x"), (2, None), (3, b"y"), (4, b"z")]


def test_lines_that_end_in_cr(tmp_path: Path) -> None:
    """Found in the first line; quoted line ends of any kind stay; an LF outside quotes is an error."""
    text = 'a,b\r1,"x\r\n""y"\r\r2,z\r3,""'
    for end in ("", "\r"):
        assert rows(write(tmp_path / "t.csv", text + end), two()) == [(1, b'x\r\n"y'), (2, b"z"), (3, b"")]
    count = MORSEL_BYTES // 8
    path = write(tmp_path / "long.csv", "a,b\r" + "12345,xy\r" * count)
    assert scan(path, two(), threads=2, select=lambda _: []).rows == count
    with pytest.raises(MalformedData, match="line 3 .* an LF stands here outside quotes, but the file's first line"):
        scan(write(tmp_path / "m.csv", "a,b\r1,x\r2,y\n3,z\r"), two())
    with pytest.raises(MalformedData, match="line 2 .* 3 fields where 2 are expected"):
        scan(write(tmp_path / "n.csv", "a,b\r\n1,x\r2,y\r\n"), two())
    path = write(tmp_path / "w.csv", "a,b\r" + "1,x\r" * 100 + "y,x\r")
    with pytest.raises(SchemaMismatch, match="line 102 .*column 'a' holds y"):
        scan(path, two())


def test_ragged_records(tmp_path: Path) -> None:
    """Fields that are lacking at the end are NULL, by option; more than the header has are an error all the same."""
    text = 'a,b,c\r\n1,x,2\r\n3\r\n\r\n4,y\r\n5,"z"\r\n,\r\n""\r\n6,"",7'
    schema = Schema((*two(), Field("c", t.int64)))
    expected = [(1, b"x", 2), (3, None, None), (4, b"y", None), (5, b"z", None), (None, None, None), (None, None, None),
                (6, b"", 7)]  # fmt: skip
    path = write(tmp_path / "t.csv", text)
    for options in ({"ragged": "null"}, {"ragged": "null", "on_error": "skip"}):
        assert rows(path, schema, options=options) == expected
        assert rows(path, schema, options=options, late=(0, 1, 2)) == expected
    with pytest.raises(MalformedData, match="line 3 .*1 fields where 3 are expected"):
        scan(path, schema)
    with pytest.raises(MalformedData, match="line 2 .*4 fields where 3 are expected"):
        scan(write(tmp_path / "l.csv", "a,b,c\n1,2,3,4\n"), schema, options={"ragged": "null"})
    required = Schema((Field("a", t.int64), Field("b", t.string.with_nullable(False))))
    with pytest.raises(SchemaMismatch, match="line 3 .*column 'b' holds nothing, which is not of type string"):
        scan(write(tmp_path / "r.csv", "a,b\n1,x\n2\n"), required, options={"ragged": "null"})


def test_other_characters(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a|b\n1|'x|''y'\n2|\"z\"\n")
    assert rows(path, two(), options={"delimiter": "|", "quote": "'"}) == [(1, b"x|'y"), (2, b'"z"')]


@pytest.mark.parametrize("text", ["", "a,b\n", "a,b", "\ufeff", "\ufeffa,b\r\n", "a,b\n\n\n"])
def test_no_rows(tmp_path: Path, text: str) -> None:
    assert rows(write(tmp_path / "t.csv", text), two()) == []


def test_blank_lines(tmp_path: Path) -> None:
    assert rows(write(tmp_path / "t.csv", "a,b\n\n1,x\n\r\n\n2,y\n\n"), two()) == [(1, b"x"), (2, b"y")]
    one = Schema((Field("a", t.int64),))
    assert rows(write(tmp_path / "o.csv", "a\n1\n\n2\n"), one) == [(1,), (None,), (2,)]


def test_header(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", '"b","x ""y""",a\ny,z,1\n')
    assert rows(path, two()) == [(1, b"y")]
    assert rows(path, Schema((Field('x "y"', t.string),))) == [(b"z",)]
    with pytest.raises(SchemaMismatch, match="column 'c' is not in the header, which has: b, x \"y\", a") as e:
        scan(path, Schema((Field("c", t.string),)))
    assert e.value.fields == {"file": path, "column": "c"}
    named = write(tmp_path / "n.csv", "VendorID,trip distance\n1,2\n")
    for name, other in (("vendorid", "VendorID"), ("trip_distance", "trip distance"), ("VendrID", "VendorID")):
        with pytest.raises(SchemaMismatch, match=f"'{name}' is not in the header.*Did you mean '{other}'"):
            scan(named, Schema((Field(name, t.string),)))
    with pytest.raises(SchemaMismatch, match="column 'a' is more than once in the header"):
        scan(write(tmp_path / "d.csv", "a,a,b\n1,2,3\n"), two())
    with pytest.raises(MalformedData, match="line 1 .*header's quotes do not match"):
        scan(write(tmp_path / "q.csv", 'a,"b\n1,2\n'), two())


def test_a_schema_names_columns(local: Session, tmp_path: Path) -> None:
    """In any order, and not all of them: each gets its own."""
    path = write(tmp_path / "t.csv", "a,b,c\n1,20,x\n2,30,y\n")
    for schema in (
        {"b": "int64", "a": "int64"},
        {"a": "int64", "b": "int64"},
        {"c": "string", "b": "int64", "a": "int8"},
    ):
        flow = read(path, schema=schema).aggregate(a=sum_("a"), b=sum_("b"))
        assert local.run(flow).to_pylist() == [{"a": 3, "b": 50}]


def test_no_columns_count_rows(every_type: tuple[str, list[list[Any]]]) -> None:
    assert scan(every_type[0], Schema(())).rows == 6000


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("1", "1 fields where 2 are expected"),
        ("1,2,3", "3 fields where 2 are expected"),
        ('1,x"y', 'a quote " stands inside an unquoted field'),
        ('1,"x"y', "text behind a closing one"),
        ('1,"x" ', "text behind a closing one"),
        ('1,"x"\ry', "text behind a closing one"),
    ],
)
@pytest.mark.parametrize("before", [0, 3, 50_000])
def test_malformed_records(tmp_path: Path, record: str, words: str, before: int) -> None:
    check_malformed(tmp_path, record, words, before)


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize(("record", "words"), [("1", "1 fields where 2 are expected"), ('1,x"y', 'a quote " stands')])
def test_record_one_million_and_one(tmp_path: Path, record: str, words: str) -> None:
    check_malformed(tmp_path, record, words, 1_000_000)


def check_malformed(tmp_path: Path, record: str, words: str, before: int) -> None:
    """The error names file, line and byte of `record`; with on_error=skip it alone is left out."""
    good = "12345,text\n"
    path = write(tmp_path / "t.csv", "a,b\n" + good * before + record + "\n" + good * 1000)
    for threads in (1, 2):
        with pytest.raises(MalformedData) as e:
            scan(path, two(), threads=threads)
        offset = 4 + before * len(good)
        assert str(e.value).startswith(f"{path}: line {before + 2} (byte {offset}): ")
        assert words in str(e.value)
        assert e.value.fields == {"file": path, "line": str(before + 2), "offset": str(offset)}
        found = scan(path, two(), threads=threads, options={"on_error": "skip"}, select=lambda _rows: [])
        assert (found.rows, found.skipped_rows) == (before + 1000, 1)


def test_unclosed_quote(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'a,b\n1,x\n2,"y\n3,z\n')
    with pytest.raises(MalformedData, match=r"line 3 \(byte 8\): a record's quote is not closed"):
        scan(path, two())
    found = scan(path, two(), options={"on_error": "skip"})
    assert (found.columns[0], found.skipped_rows) == ([1], 1)


def test_skipped_records_leave_their_neighbours(tmp_path: Path) -> None:
    """Many malformed records among good ones, with quoted newlines: each costs itself only."""
    rng = random.Random(7)
    bad = ["x,y", '1,a"b', '1,"a"b', "1", "1,2,3", '"1,x']
    lines, expected, skipped = ["a,b"], [], 0
    for i in range(30_000):
        if rng.random() < 0.1:
            lines.append(rng.choice(bad[:-1]))
            skipped += 1
        elif rng.random() < 0.2:
            lines.append(f'{i},"text, ""{i}""\nmore"')
            expected.append((i, f'text, "{i}"\nmore'.encode()))
        else:
            lines.append(f"{i},w{i}")
            expected.append((i, f"w{i}".encode()))
    found = scan(write(tmp_path / "t.csv", "\n".join(lines)), two(), options={"on_error": "skip"})
    assert list(zip(*found.columns, strict=True)) == expected
    assert found.skipped_rows == skipped


def random_records(rng: random.Random, size: int) -> tuple[str, list[tuple[Any, ...]]]:
    """CSV text of about `size` characters with quoted delimiters, newlines and quotes, also in long fields."""
    out, expected = io.StringIO(), []
    writer = csv.writer(out, lineterminator=rng.choice(["\n", "\r\n"]))
    writer.writerow(["a", "b", "c"])
    pieces = rng.choice([["x", "yz", " "], ["x", ",", "\n", '"', "1,2,3\n"], ['"', "\n"], ["a", "\r\n", ","]])
    long = rng.choice([0, 0, 1000, 300_000])
    while out.tell() < size:
        length = rng.randrange(long) if long and rng.random() < 0.02 else rng.randrange(100)
        row = (len(expected), "".join(rng.choices(pieces, k=length)), "".join(rng.choices(pieces, k=rng.randrange(4))))
        writer.writerow(row)
        expected.append((row[0], row[1].encode() or None, row[2].encode() or None))
    return out.getvalue(), expected


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("seed", range(6))
def test_borders(tmp_path: Path, seed: int) -> None:
    """Quotes across the borders of pieces, morsels, threads and shares."""
    rng = random.Random(seed)
    text, expected = random_records(rng, 2 * MORSEL_BYTES + rng.randrange(PIECE_BYTES))
    schema = Schema((Field("a", t.int64), Field("b", t.string), Field("c", t.string)))
    path = write(tmp_path / "t.csv", text)
    assert rows(path, schema) == expected
    found: list[tuple[Any, ...]] = []
    for index in range(3):
        found += rows(path, schema, share=(index, 3), threads=2)
    assert sorted(found, key=lambda row: row[0]) == expected


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize("shift", [-20_000, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("what", ["plain", "quoted", "lines", "one column"])
def test_records_at_the_border(tmp_path: Path, shift: int, what: str) -> None:
    """Records that start just before, at or behind a morsel's border belong to one of both, whatever they hold."""
    wide = what != "one column"
    inner = {"plain": "x" * 100, "quoted": '"' + '"",""' * 20 + '"', "lines": '"' + "7,8\n" * 10_000 + '"'}
    head, filler, last = ("a,b\n", "5,y\n", "6,y\n") if wide else ("a\n", "5\n", "6\n")
    record = f"4,{inner[what]}\n" if wide else "4\n"
    room = MORSEL_BYTES + shift - len(head)
    count = room // len(filler) - 3
    first = "0" * (room - count * len(filler) - len(last)) + last
    text = head + first + filler * count + record * 3 + filler * 10
    assert text.index(record) == MORSEL_BYTES + shift
    found = scan(write(tmp_path / "t.csv", text), two() if wide else Schema((Field("a", t.int64),)), threads=2)
    assert sorted(found.columns[0]) == [4] * 3 + [5] * (count + 10) + [6]


def test_pages_of_records_in_a_field(tmp_path: Path) -> None:
    """Where a border lies inside a quoted field that cannot be told from records, there is an error, not wrong rows."""
    text = "a,b\n" + "1,x\n" * (MORSEL_BYTES // 4 - 50_000) + '2,"' + "7,8\n" * 100_000 + '"\n' + "3,y\n" * 10
    with pytest.raises(MalformedData, match="a quoted field here holds more than 64 KiB of what looks like records"):
        scan(write(tmp_path / "t.csv", text), two(), threads=2, select=lambda _rows: [])


def test_long_records(tmp_path: Path) -> None:
    """Longer than a piece, and than a morsel."""
    fields = ["x" * (PIECE_BYTES * 3), 'y"\n,' * (PIECE_BYTES // 2), "z\n" * MORSEL_BYTES, "end"]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("a", "b"), *enumerate(fields)])
    path = write(tmp_path / "t.csv", out.getvalue())
    assert sorted(rows(path, two(), threads=2)) == [(i, f.encode()) for i, f in enumerate(fields)]


def test_record_without_end(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n1,x\n2," + "y" * (80 << 20))
    with pytest.raises(MalformedData, match="a record is longer than 64 MiB"):
        scan(path, two())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=st.lists(st.tuples(*[st.text("ab,\"\n\r é'1", max_size=6)] * 3), max_size=40),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_random_rows(tmp_path: Path, table: list[tuple[str, ...]], quoting: Any, end: str) -> None:
    if quoting == csv.QUOTE_MINIMAL:  # Python leaves a lone CR unquoted
        table = [tuple(v.replace("\r", "") for v in row) for row in table]
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=quoting, lineterminator=end)
    writer.writerows([("a", "b", "c"), *table])
    schema = Schema(tuple(Field(name, t.string) for name in "abc"))
    empty = b"" if quoting == csv.QUOTE_ALL else None
    expected = [tuple(v.encode() or empty for v in row) for row in table]
    assert rows(write(tmp_path / "t.csv", out.getvalue()), schema) == expected


def test_many_files_and_shares(tmp_path: Path) -> None:
    """Shares of siblings are disjoint and complete; each file's own header counts."""
    files = [
        write(tmp_path / "0.csv", "a,b\n" + "".join(f"{i},x{i}\n" for i in range(900_000))),
        write(tmp_path / "1.csv", ""),
        write(tmp_path / "2.csv", "b,a\n" + "".join(f"x{i},{i}\n" for i in range(900_000, 900_100))),
        write(tmp_path / "3.csv", "b,z,a\nx900100,,900100"),
    ]
    expected = list(range(900_101))
    assert scan(files, two()).columns[0] == expected
    for count in (2, 5):
        shares = [scan(files, two(), share=(index, count), threads=2) for index in range(count)]
        assert sorted(v for s in shares for v in s.columns[0]) == expected
        assert all(b == b"x%d" % a for s in shares for a, b in zip(*s.columns, strict=True))


def test_failures(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="No such file"):
        scan(str(tmp_path / "none.csv"), two())
    with pytest.raises(FileUnreadable, match="it is not a file"):
        scan(str(tmp_path), two())
    path = write(tmp_path / "t.csv", "a,b\n" + "1,x\n" * 500_000)
    with pytest.raises(Cancelled):
        scan(path, two(), cancel_after=1, select=lambda _rows: [])
