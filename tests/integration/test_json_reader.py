"""The JSON lines reader against DuckDB and Python's json module: types, shapes of rows, borders, late columns,
damage."""

from __future__ import annotations

import gzip
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema, parse_type
from jumpgate.errors import Cancelled, DataError, FileUnreadable, MalformedData, Overflow, SchemaMismatch
from tests.support.json_files import CHUNK_BYTES, parsed, rows, scan
from tests.support.physical import physical
from tests.support.text_files import two, write

MORSEL_BYTES = 1 << 20  # of files of up to 16 MiB

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
    ("day", "date", "date '1950-01-01' + (i * 7)::integer"),
    ("moment", "timestamp", "timestamp '1969-06-01 12:34:56.789' + interval (i * 100003) second"),
    ("s", "string", "case i % 11 when 0 then '' when 5 then 'q\"uo\\t' || chr(10) || i else 'wörd ' || i end"),
]
SCHEMA = Schema(tuple(Field(name, parse_type(type_ + "?")) for name, type_, _ in COLUMNS))


def one(type_: str) -> Schema:
    return Schema((Field("b", parse_type(type_ + "?")),))


@pytest.fixture(scope="module")
def every_type(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[list[Any]]]:
    """A file that DuckDB wrote, with NULLs, and what is in it."""
    path = tmp_path_factory.mktemp("json") / "t.json"
    columns = ", ".join(
        f"case when (i * {n + 3}) % 13 > 0 then {sql} end as {name}" for n, (name, _, sql) in enumerate(COLUMNS)
    )
    data = duckdb.sql(f"select {columns} from range(6000) t(i)").to_arrow_table()
    duckdb.sql(f"copy data to '{path}' (format json)")
    return str(path), [physical(data[f.name].to_pylist(), f.type) for f in SCHEMA]


@pytest.mark.parametrize("late", [(), range(len(COLUMNS))])
def test_every_type(every_type: tuple[str, list[list[Any]]], late: Any) -> None:
    path, expected = every_type
    found = scan(path, SCHEMA, late=late)
    for i, field in enumerate(SCHEMA):
        assert found.columns[i] == expected[i], field.name


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_late_columns(every_type: tuple[str, list[list[Any]]], seed: int) -> None:
    """Random selections and projections: late columns hold what the file holds."""
    path, expected = every_type
    rng = random.Random(seed)
    density = rng.choice([0.01, 0.3, 1.0])
    wanted = tuple(rng.sample(range(len(SCHEMA)), rng.randrange(1, len(SCHEMA) + 1)))
    taken: list[int] = []
    start = 0

    def select(batch_rows: int) -> list[int]:
        nonlocal start
        chosen = [] if rng.random() < 0.3 else [r for r in range(batch_rows) if rng.random() < density]
        taken.extend(start + r for r in chosen)
        start += batch_rows
        return chosen

    late = [i for i in range(len(wanted)) if rng.random() < 0.6]
    found = scan(path, SCHEMA.select(wanted), late=late, select=select)
    assert list(found.columns) == [[expected[i][r] for r in taken] for i in wanted]


VALUES = [
    ("int8", "-128", -128), ("int8", "127", 127), ("int64", "-9223372036854775808", -(2**63)),
    ("int64", "9223372036854775807", 2**63 - 1), ("int64", "-0", 0), ("int64", "12345678", 12345678),
    ("int64", "123456789", 123456789), ("int32", "3.0", 3), ("int32", "1e3", 1000), ("int32", '"12"', 12),
    ("float64", "1e308", 1e308), ("float64", "-0.5", -0.5), ("float64", "3", 3.0), ("float64", "5e-324", 5e-324),
    ("float32", "0.1", 0.10000000149011612), ("float64", '"1.5"', 1.5),
    ("decimal(7, 2)", "99999.99", 9999999), ("decimal(7, 2)", "-99999.99", -9999999), ("decimal(7, 2)", "0.5", 50),
    ("decimal(7, 2)", "5", 500), ("decimal(7, 2)", "1.005", 101), ("decimal(7, 2)", "1.0049999", 100),
    ("decimal(7, 2)", "-1.005", -101), ("decimal(7, 2)", "0.995", 100), ("decimal(7, 2)", "1e3", 100000),
    ("decimal(7, 2)", "12.5e1", 12500), ("decimal(7, 2)", "12345E-4", 123), ("decimal(7, 2)", "5e-3", 1),
    ("decimal(7, 2)", "4e-3", 0), ("decimal(7, 2)", "-1e-999999999", 0), ("decimal(7, 2)", "0e99999", 0),
    ("decimal(38, 0)", "9.9e37", 99 * 10**36), ("decimal(7, 2)", '"12.5"', 1250),
    ("decimal(18, 4)", "99999999999999.9999", 10**18 - 1), ("decimal(38, 0)", "9" * 38, 10**38 - 1),
    ("decimal(38, 0)", "-" + "9" * 38, 1 - 10**38), ("decimal(38, 38)", "0." + "9" * 38, 10**38 - 1),
    ("date", '"1969-12-31"', -1), ("date", '"0001-01-01"', -719162), ("date", '"9999-12-31"', 2932896),
    ("date", '"2000-02-29"', 11016), ("date", '"2000-02-29 00:00:00"', 11016),
    ("timestamp", '"1970-01-01 00:00:00.000001"', 1), ("timestamp", '"1969-12-31T23:59:59.5"', -500000),
    ("timestamp", '"2001-02-03"', 981158400000000), ("bool", "true", True), ("bool", "false", False),
    ("string", '" x "', b" x "), ("string", '""', b""), ("string", "12", b"12"), ("string", "true", b"true"),
    ("string", r'"a\"b\\\/\b\f\n\r\t"', b'a"b\\/\b\f\n\r\t'), ("string", r'"\u00e4\u20ac\u0000"', "ä€\0".encode()),
    ("string", r'"\ud83d\ude00"', "😀".encode()), ("string", '"😀"', "😀".encode()), ("binary", '"abc"', b"abc"),
    ("string", '"{}[],:"', b"{}[],:"), ("date", r'"\u0031969-12-31"', -1), ("int32", r'"\u0031"', 1),
    ("int32", "null", None), ("string", "null", None),
    ("timestamp", '"2001-02-03T04:05:06Z"', 981173106000000), ("date", '"2001-02-03T01:00:00+01:00"', 11356),
    ("string", '"\u2028\u2029\x85"', "\u2028\u2029\x85".encode()),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "text", "value"), VALUES)
@pytest.mark.parametrize("space", ["", " ", "\t"])
def test_values(tmp_path: Path, type_: str, text: str, value: Any, space: str) -> None:
    line = space.join(["", "{", '"x"', ":", "1", ",", '"b"', ":", text, "}", ""])
    path = write(tmp_path / "t.json", f"{line}\n{line}\r\n{line}")
    for late in ((), (0,)):
        assert rows(path, one(type_), late=late) == [(value,)] * 3


WRONG = [
    ("int8", "128", Overflow), ("int8", "-129", Overflow), ("int64", "9223372036854775808", Overflow),
    ("int32", "1.5", SchemaMismatch), ("int32", '"x"', SchemaMismatch), ("int32", '""', SchemaMismatch),
    ("int32", "true", SchemaMismatch), ("float64", "false", SchemaMismatch), ("bool", "1", SchemaMismatch),
    ("decimal(7, 2)", "100000", Overflow), ("decimal(7, 2)", "99999.995", Overflow),
    ("decimal(7, 2)", "1e30", Overflow), ("decimal(7, 2)", "1e99999999999999999999", Overflow),
    ("date", "20010203", SchemaMismatch), ("date", '"2001-02-29"', SchemaMismatch), ("date", "12", SchemaMismatch),
    ("timestamp", '"2001-02-03 25:00:00"', SchemaMismatch), ("int32", "{}", SchemaMismatch),
    ("string", "[1]", SchemaMismatch), ("int64", "2.7", SchemaMismatch),
    ("timestamp", '"2001-02-03T04:05:06.1234567"', SchemaMismatch),
    ("string", r'"\ud83d"', DataError), ("string", r'"\ude00\ud83d"', DataError),
    ("string", '{"b": 1}', SchemaMismatch),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "text", "error"), WRONG)
@pytest.mark.parametrize("late", [(), (0,)])
def test_wrong_values(tmp_path: Path, type_: str, text: str, error: type[DataError], late: Any) -> None:
    good = '"2001-02-03"' if type_ in ("date", "timestamp") else "true" if type_ == "bool" else "1"
    lines = [f'{{"z":0,"b":{v}}}\n' for v in (good, good, text, good)]
    path = write(tmp_path / "t.json", "".join(lines))
    with pytest.raises(error) as e:
        scan(path, one(type_), late=late)
    start = 2 * len(lines[0])
    assert e.value.fields["file"] == path
    assert e.value.fields["line"] == "3"
    assert start <= int(str(e.value.fields["offset"])) < start + len(lines[2])
    assert str(e.value).startswith(f"{path}: line 3 (byte {e.value.fields['offset']}): ")
    found = scan(path, one(type_), late=late, options={"on_error": "skip"})
    assert (found.rows, found.skipped_rows, len(found.columns[0])) == (3, 1, 3)


def test_null_where_none_may_be(tmp_path: Path) -> None:
    for text in ('{"a":null}', "{}", '{"b":"x"}'):
        path = write(tmp_path / "t.json", '{"a":1}\n' + text + "\n")
        with pytest.raises(SchemaMismatch, match="column 'a' holds null, which is not of type int64"):
            scan(path, Schema((Field("a", t.int64.with_nullable(False)),)))


def test_shapes_of_rows(tmp_path: Path) -> None:
    """Fields may be missing, more, in any order, nested, or have escapes in their names."""
    lines = [
        ('{"a":1,"b":"x"}', (1, b"x")),
        ('{"b":"x","a":1}', (1, b"x")),
        ("{}", (None, None)),
        ('{"c":[1,{"a":5}],"a":1}', (1, None)),
        ('{"c":{"a":7,"b":"no"},"b":"x"}', (None, b"x")),
        ('{"aa":1,"bb":2,"b":"x"}', (None, b"x")),
        (r'{"\u0061":1,"b":"x"}', (1, b"x")),
        ('{"A":1,"B":"x"}', (None, None)),
        ('{"":1,"a":2}', (2, None)),
        ('{ "a" : 1 , "b" : "x" }', (1, b"x")),
        ('  {"a":1}  ', (1, None)),
        ('{"b":"\\"a\\":5","a":1}', (1, b'"a":5')),
        ('{"c":"' + "y" * 1000 + '","a":3}', (3, None)),
    ]
    rng = random.Random(3)
    chosen = [rng.choice(lines) for _ in range(20_000)] + lines
    path = write(tmp_path / "t.json", "\n".join(line for line, _ in chosen))
    assert rows(path, two()) == [row for _, row in chosen]
    assert rows(path, two(), options={"on_error": "skip"}) == [row for _, row in chosen]


@pytest.mark.parametrize("wanted", ["ab", "a", "b"])
def test_a_name_twice(tmp_path: Path, wanted: str) -> None:
    """The last one counts, whichever rows came before, however it is spelled, in every layout."""
    long = {"a": "the_long_name_a", "b": "the_long_name_b"}
    for names in ({"a": "a", "b": "b"}, long, {"a": "x061bcdefg", "b": "abcdefg"}):
        a, b = names["a"], names["b"]
        spelled = f"\\u{ord(b[0]):04x}{b[1:]}"
        lines = [
            (f'{{"{a}":1,"z":2,"{b}":"x"}}', (1, b"x")),
            (f'{{"{a}":1,"{a}":2,"{b}":"x"}}', (2, b"x")),
            (f'{{"{b}":1,"{a}":2,"{b}":"x"}}', (2, b"x")),
            (f'{{"{b}":"x","{a}":2,"{spelled}":"y"}}', (2, b"y")),
            (f'{{"{spelled}":"x","{a}":2,"{b}":"y"}}', (2, b"y")),
            (f'{{"{a}":1,"z":2,"{a}":null,"{b}":"x"}}', (None, b"x")),
            (f'{{"{a}":[1],"z":2,"{a}":3}}', (3, None)),
            (f'{{"{a}" :1,"{a}" : 2,"{b}"  :"x"}}', (2, b"x")),
            (f'{{"{a}":1,"{a}x":2,"x{b}":"x"}}', (1, None)),
            (f'{{"{a}        ":1,"{a}"        :2,"{b}":"x"}}', (2, b"x")),
        ]
        kinds = {"a": "int64?", "b": "string?"}
        schema = Schema(tuple(Field(names[n], parse_type(kinds[n])) for n in wanted))
        rng = random.Random(wanted)
        chosen = [rng.choice(lines) for _ in range(5000)] + lines
        expected = [tuple(row["ab".index(n)] for n in wanted) for _, row in chosen]
        path = write(tmp_path / "t.json", "\n".join(line for line, _ in chosen))
        assert rows(path, schema) == expected
        assert rows(path, schema, options={"on_error": "skip"}) == expected


def test_many_shapes(tmp_path: Path) -> None:
    """More sets of fields than are remembered."""
    rng = random.Random(4)
    lines, expected = [], []
    for i in range(20_000):
        fields = {f"f{n}": n for n in rng.sample(range(40), rng.randrange(12))}
        row = {**fields, "a": i, "b": f"t{i}"}
        names = rng.sample(list(row), len(row))
        lines.append(json.dumps({name: row[name] for name in names}))
        expected.append((i, f"t{i}".encode()))
    assert rows(write(tmp_path / "t.json", "\n".join(lines)), two()) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends(tmp_path: Path, end: str, last: bool, mark: str) -> None:
    lines = ['{"a":1,"b":"x"}', "", '{"a":2,"b":null}', "   ", '{"a":3}']
    path = write(tmp_path / "t.json", mark + end.join(lines) + (end if last else ""))
    assert rows(path, two()) == [(1, b"x"), (2, None), (3, None)]


@pytest.mark.parametrize("text", ["", "\n", "\n \n\t\r\n", "\ufeff"])
def test_no_rows(tmp_path: Path, text: str) -> None:
    assert rows(write(tmp_path / "t.json", text), two()) == []


ARRAYS = [
    ('[{"a":1,"b":"x"},{"a":2,"b":null},{"a":3}]', [(1, b"x"), (2, None), (3, None)]),
    (
        '\ufeff \r\n[\n  {\n"a"\n:\n1,"b"\r\n:"x]},[{\\"\\\\"}\n,\n{"a":2,"c":[{"a":5},[\n]]}\n]\n\n',
        [(1, b'x]},[{"\\'), (2, None)],
    ),
    ("[]", []),
    (" [ \n ] ", []),
    ("[{}]", [(None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ARRAYS)
@pytest.mark.parametrize("packed", [False, True])
def test_arrays(tmp_path: Path, text: str, expected: list[Any], packed: bool) -> None:
    """A file that is one array is read as its elements."""
    raw = gzip.compress(text.encode()) if packed else text.encode()
    assert rows(write(tmp_path / "t.json", raw), two(), threads=2) == expected
    assert sum(scan(write(tmp_path / "t.json", raw), two(), share=(i, 3)).rows for i in range(3)) == len(expected)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ('[{"a":1}', MalformedData, "the JSON array that the file holds does not end"),
        ('[{"a":1},]', MalformedData, "an element of the JSON array that the file holds is missing"),
        ('[,{"a":1}]', MalformedData, "an element .* is missing"),
        ('[{"a":1},,{"a":1}]', MalformedData, "an element .* is missing"),
        ('[{"a":1}]{"a":1}', MalformedData, "text follows the JSON array"),
        ('[{"a":1}\n\n,\n{"a" 1}]', MalformedData, r"line 4 \(byte 12\): not valid JSON"),
        ('[{"a":1}\n{"a":2}]', MalformedData, "not valid JSON"),
        ('[{"a":1},\n2]', SchemaMismatch, r"line 2 .*: a line must hold one JSON object"),
        ('[{"a":1},\n{"a":"x"}]', SchemaMismatch, r"line 2 .*column 'a' holds \"x\", which is not of type int64"),
        ('[{"a":1,"b":"\n"}]', MalformedData, "not valid JSON"),
    ],
)
def test_wrong_arrays(tmp_path: Path, text: str, error: type[DataError], words: str) -> None:
    with pytest.raises(error, match=words):
        scan(write(tmp_path / "t.json", text), two())


def test_long_array(tmp_path: Path) -> None:
    """Elements across the borders of chunks; memory depends on the longest only."""
    count = 200_000
    text = ",\n".join(f'{{"a":\n{i},"b":"x{i}"}}' for i in range(count))
    found = scan(write(tmp_path / "t.json", f"[{text}]"), two(), threads=2)
    assert found.columns[0] == list(range(count))
    assert found.columns[1][-1] == b"x%d" % (count - 1)
    with pytest.raises(MalformedData, match=rf"line {2 * count + 1} "):
        scan(write(tmp_path / "t.json", f"[{text},\n{{x}}]"), two(), select=lambda _: [])


def test_no_columns_count_rows(every_type: tuple[str, list[list[Any]]]) -> None:
    assert scan(every_type[0], Schema(())).rows == 6000


MALFORMED = [
    '{"a":1,"b":"x"', '{"a":1,"b":"x"}}', '{"a":1 "b":"x"}', '{"a":1,,"b":"x"}', '{"a":1,"b":"x",}', '{"a":tru}',
    '{"a":1,"b":"x}', '{"a":1,"b":"\\x"}', '{"a":nul}', '{"a":1}{"a":2}', '{"a":1} x', "not json", '{"a" 1}', "{'a':1}",
    '{"a":1,"b":"\x01"}', '{"a":1,"b":"\\ud800x"}', '{"a":01}', '{"a":1,"b":"x"]', '{a:1}', '{"a":1:2}', '{"a"}',
]  # fmt: skip


@pytest.mark.parametrize("line", MALFORMED)
@pytest.mark.parametrize("before", [0, 3, 50_000])
def test_malformed_lines(tmp_path: Path, line: str, before: int) -> None:
    good = '{"a":12345,"b":"text"}\n'
    path = write(tmp_path / "t.json", good * before + line + "\n" + good * 1000)
    with pytest.raises((MalformedData, SchemaMismatch)) as e:
        scan(path, two())
    assert e.value.fields["file"] == path
    assert e.value.fields["line"] == str(before + 1)
    assert 0 <= int(str(e.value.fields["offset"])) - before * len(good) < len(line)
    found = scan(path, two(), options={"on_error": "skip"}, select=lambda _rows: [])
    assert (found.rows, found.skipped_rows) == (before + 1000, 1)


@pytest.mark.parametrize("line", ["1", '"x"', "[1]", "null", "true"])
def test_lines_that_are_no_objects(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "t.json", '{"a":1}\n' + line + "\n")
    with pytest.raises(SchemaMismatch, match=r"line 2 \(byte 8\): a line must hold one JSON object"):
        scan(path, two())


@pytest.mark.parametrize("raw", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\x80"])
def test_not_utf8(tmp_path: Path, raw: bytes) -> None:
    path = write(tmp_path / "t.json", b'{"a":1,"b":"x"}\n' * 3 + b'{"a":1,"b":"' + raw + b'"}\n')
    with pytest.raises(MalformedData, match=r"line 4 \(byte 48\): not valid JSON.*UTF8"):
        scan(path, two())
    assert scan(path, two(), options={"on_error": "skip"}).skipped_rows == 1


def test_line_one_million_and_one(tmp_path: Path) -> None:
    good = '{"a":1,"b":"x"}\n'
    path = write(tmp_path / "t.json", good * 1_000_000 + '{"a":1,"b":}\n' + good * 10)
    for threads in (1, 2):
        with pytest.raises(MalformedData) as e:
            scan(path, two(), threads=threads, select=lambda _rows: [])
        assert str(e.value).startswith(f"{path}: line 1000001 (byte {1_000_000 * len(good)}): not valid JSON: ")
        assert e.value.fields == {"file": path, "line": "1000001", "offset": str(1_000_000 * len(good))}
    found = scan(path, two(), options={"on_error": "skip"}, select=lambda _rows: [])
    assert (found.rows, found.skipped_rows) == (1_000_010, 1)


def test_long_lines(tmp_path: Path) -> None:
    """Longer than a chunk, and than a morsel; at and across borders."""
    texts = ["x" * (CHUNK_BYTES * 3), 'y"\n' * CHUNK_BYTES, "z" * (MORSEL_BYTES + 5), "end"]
    path = write(tmp_path / "t.json", "".join(json.dumps({"a": i, "b": text}) + "\n" for i, text in enumerate(texts)))
    assert sorted(rows(path, two(), threads=2)) == [(i, text.encode()) for i, text in enumerate(texts)]
    path = write(tmp_path / "u.json", '{"a":1}\n{"a":"' + "1" * (80 << 20))
    with pytest.raises(MalformedData, match=r"line 2 \(byte 8\): a line is longer than 64 MiB"):
        scan(path, two())


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_lines_at_the_border(tmp_path: Path, shift: int) -> None:
    """Lines that start just before, at or behind a morsel's border belong to one of both."""
    filler, line = '{"a":5}\n', '{"a":4}\n'
    room = MORSEL_BYTES + shift
    count = room // len(filler) - 3
    first = '{"a":6' + " " * (room - count * len(filler) - 8) + "}\n"
    text = first + filler * count + line * 3 + filler * 10
    assert text.index(line) == room
    found = scan(write(tmp_path / "t.json", text), Schema((Field("a", t.int64),)), threads=2)
    assert sorted(found.columns[0]) == [4] * 3 + [5] * (count + 10) + [6]


def test_many_files_and_shares(tmp_path: Path) -> None:
    """Shares of siblings are disjoint and complete."""
    line = '{{"a":{0},"b":"x{0}"}}\n'.format
    files = [
        write(tmp_path / "0.json", "".join(line(i) for i in range(900_000))),
        write(tmp_path / "1.json", ""),
        write(tmp_path / "2.json", "".join(line(i) for i in range(900_000, 900_100))),
        write(tmp_path / "3.json", line(900_100).strip()),
    ]
    expected = list(range(900_101))
    assert scan(files, two()).columns[0] == expected
    for count in (2, 5):
        shares = [scan(files, two(), share=(index, count), threads=2) for index in range(count)]
        assert sorted(v for s in shares for v in s.columns[0]) == expected
        assert all(b == b"x%d" % a for s in shares for a, b in zip(*s.columns, strict=True))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=5,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "a": st.none() | st.integers(-(2**63), 2**63 - 1),
            "b": st.none() | st.text(max_size=8),
            "c": JSON_VALUES,
            "d\n": JSON_VALUES,
        },
    ),
    max_size=30,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=ROWS, ascii=st.booleans(), separators=st.sampled_from([(",", ":"), (", ", " : ")]), rng=st.randoms())
def test_random_rows(
    tmp_path: Path, table: list[dict[str, Any]], ascii: bool, separators: tuple[str, str], rng: random.Random
) -> None:
    shuffled = [{name: row[name] for name in rng.sample(list(row), len(row))} for row in table]
    lines = (json.dumps(row, ensure_ascii=ascii, separators=separators) for row in shuffled)
    path = write(tmp_path / "t.json", "\n".join(lines))
    expected = [(row.get("a"), row["b"].encode() if row.get("b") is not None else None) for row in table]
    assert rows(path, two()) == expected
    assert rows(path, two(), options={"on_error": "skip"}, late=(0, 1)) == expected


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_random_damage(tmp_path: Path, seed: int) -> None:
    """Of lines with changed bytes, those are skipped that Python's parser or the schema refuses, and only those."""
    rng = random.Random(seed)
    lines, expected = [], []
    for i in range(40):
        line = bytearray(json.dumps({"a": i, "b": f"t{i}"}, separators=(",", ":")).encode())
        if rng.random() < 0.3:
            line[rng.randrange(len(line))] = rng.choice(b'{}[]",:0123456789.-eE\\ abtrufnsl')
        lines.append(bytes(line))
        row = parsed(bytes(line))
        if row is not None:
            expected.append(row)
    found = scan(write(tmp_path / "t.json", b"\n".join(lines)), two(), options={"on_error": "skip"})
    assert list(zip(*found.columns, strict=True)) == expected
    assert found.skipped_rows == len(lines) - len(expected)


@pytest.mark.parametrize("end", ["", "\n", " ", "}", ",", "\n{", '\n{"a"', '\n{"a":1,"b":"x'])
def test_how_a_file_ends(tmp_path: Path, end: str) -> None:
    """However many rows are walked at once, the last ones are whole."""
    for count in range(30, 60):
        text = "\n".join(json.dumps({"a": i, "b": "x" * i}) for i in range(count))
        path = write(tmp_path / "t.json", text + end)
        whole = count - (end in ("}", ","))
        found = scan(path, two(), options={"on_error": "skip"})
        assert found.columns == (list(range(whole)), [b"x" * i for i in range(whole)])
        assert found.skipped_rows == (end.strip() != "")


SIZES = (0, 1, 2, 7, 8, 9, 15, 16, 17, 30, 31, 32, 33, 63, 64, 65, 200)


@pytest.mark.parametrize("layout", ["{}:{},", " {} : {} ,"])
@pytest.mark.parametrize("kinds", [1, 3, 20])
def test_rows_of_few_kinds(tmp_path: Path, layout: str, kinds: int) -> None:
    """Runs of rows with the same fields, over several chunks; values of all sizes, with escapes, and NULLs."""
    rng = random.Random(kinds)
    names = ["a", "b", *(f"f{'_' * n}{n}" for n in (0, 3, 25, 26, 27, 60))]
    orders = [rng.sample(names, rng.randrange(1, len(names) + 1)) for _ in range(kinds)]

    def value(name: str) -> Any:
        if rng.random() < 0.05:
            return None
        if name == "a" or (name != "b" and rng.random() < 0.01):
            return rng.choice((-1, 1)) * rng.randrange(10 ** rng.randrange(1, 19))
        return rng.choice(("x", "x", "\\", '"', "ä", "\n"))[0] * rng.choice(SIZES) + rng.choice(
            ("", "", "\\", '"', "€")
        )

    lines, expected = [], []
    while len(lines) < 10_000:
        order = rng.choice(orders)
        for _ in range(rng.choice((1, 5, 40, 700))):
            row = {name: value(name) for name in order}
            fields = "".join(layout.format(json.dumps(n), json.dumps(v, ensure_ascii=False)) for n, v in row.items())
            lines.append("{" + fields[:-1] + "}")
            expected.append((row.get("a"), row["b"].encode() if row.get("b") is not None else None))
    text = "\n".join(lines)
    assert len(text.encode()) > 2 * CHUNK_BYTES
    path = write(tmp_path / "t.json", text)
    schema = Schema((Field("a", parse_type("int64?")), Field("b", parse_type("string?"))))
    for options in ({}, {"on_error": "skip"}, {"values": "exact"}):
        for late in ((), (0, 1)):
            assert rows(path, schema, options=options, late=late) == expected


def test_numbers_of_all_sizes(tmp_path: Path) -> None:
    """Digits in front of a point and behind it, as many as a type holds, each with and without a sign."""
    rng = random.Random(8)
    lines, integers, decimals = [], [], []
    for i in range(8000):
        digits = [rng.randrange(10 ** (n - 1), 10**n) if n else 0 for n in (i % 19, rng.randrange(13))]
        behind = "".join(rng.choices("0123456789", k=rng.randrange(1, 7)))
        sign = rng.choice(("", "-"))
        lines.append(f'{{"a":{sign}{digits[0]},"b":{sign}{digits[1]}{rng.choice(("", "." + behind))}}}')
        integers.append(int(f"{sign}{digits[0]}"))
        decimals.append(int(Decimal(lines[-1].partition('"b":')[2][:-1]).scaleb(6)))
    found = scan(write(tmp_path / "t.json", "\n".join(lines)), two("int64?", "decimal(18, 6)?"))
    assert found.columns == (integers, decimals)


def test_failures(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="No such file"):
        scan(str(tmp_path / "none.json"), two())
    with pytest.raises(FileUnreadable, match="it is not a file"):
        scan(str(tmp_path), two())
    path = write(tmp_path / "t.json", '{"a":1}\n' * 500_000)
    with pytest.raises(Cancelled):
        scan(path, two(), cancel_after=1, select=lambda _rows: [])
