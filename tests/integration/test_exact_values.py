"""CSV and JSON with `values = "exact"`: what other readers take for something else is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpgate.dataflow.types import Field, Schema, parse_type
from jumpgate.errors import DataError, MalformedData
from tests.support import probe

EXACT = {"values": "exact"}
#: type, text without quotes, its physical value
VALUES: list[tuple[str, str, Any]] = [
    ("bool", "true", True), ("bool", "false", False), ("int8", "-128", -128), ("int32", "7", 7),
    ("int64", "-9223372036854775808", -(2**63)), ("float32", "-2.25", -2.25), ("float64", "1.5e-3", 0.0015),
    ("decimal(7, 2)", "-99999.99", -9999999), ("decimal(38, 2)", "12345678901234567890.1", 1234567890123456789010),
]  # fmt: skip
DAYS: list[tuple[str, str, Any]] = [
    ("date", "1969-12-31", -1), ("timestamp", "1970-01-01 00:00:00.000001", 1),
    ("timestamp", "1970-01-01T00:00:01", 10**6),
]  # fmt: skip
#: type, and what is read without the option
OTHERWISE = [
    ("int32", "7.0"), ("int64", "1e3"), ("float32", "0.123456789"), ("float32", "1e3"), ("decimal(7, 2)", "1.005"),
]  # fmt: skip
DAYS_OTHERWISE = [
    ("date", "2001-02-03 00:00:00"), ("date", " 2001-02-03"), ("timestamp", "2001-02-03"),
    ("timestamp", "2001-02-03T04:05:06Z"), ("timestamp", "2001-02-03T04:05:06+01:00"),
]  # fmt: skip
#: decimals of JSON are numbers, which all readers round the same way
JSON_OTHERWISE = [case for case in OTHERWISE if not case[0].startswith("decimal")]


def found(format: str, folder: Path, type: str, text: str, **options: str) -> list[Any]:
    """The values of a column, of which `text` is the file."""
    path = folder / f"t.{format}"
    path.write_bytes(text.encode())
    schema = Schema((Field("a", parse_type(f"{type}?")), Field("b", parse_type("string?"))))
    return list(probe.scan(format, [str(path)], schema, options=options).columns[0])


@pytest.mark.parametrize(("type", "text", "value"), VALUES + DAYS + [("string", " 'x' ", b" 'x' ")])
@pytest.mark.parametrize("quote", ["", '"'])
def test_csv(tmp_path: Path, type: str, text: str, value: Any, quote: str) -> None:
    assert found("csv", tmp_path, type, f"a,b\n{quote}{text}{quote},1\r\n,1\n", **EXACT) == [value, None]


@pytest.mark.parametrize(
    ("type", "text"),
    [*OTHERWISE, *DAYS_OTHERWISE, ("bool", "t"), ("bool", "1"), ("int32", " 7"), ("int32", "7 "), ("float64", "nan"),
     ("float64", "inf"), ("decimal(7, 2)", "1e2"), ("string", '""'), ("binary", "x")],
)  # fmt: skip
def test_csv_that_is_not_exact(tmp_path: Path, type: str, text: str) -> None:
    assert found("csv", tmp_path, type, f"a,b\n{text},1\n") != [None]
    with pytest.raises(DataError):
        found("csv", tmp_path, type, f"a,b\n{text},1\n", **EXACT)


@pytest.mark.parametrize("field", ['"a""b"', r'"a\b"', '"a\nb"', "a\rb", '"a\rb"'])
@pytest.mark.parametrize("place", [0, 1])
def test_csv_that_is_taken_apart_otherwise(tmp_path: Path, field: str, place: int) -> None:
    """Also in columns that are not read."""
    text = "a,b,c\nx,y,z\n" + (f"{field},y,z\n" if place == 0 else f"x,y,{field}\n")
    assert len(found("csv", tmp_path, "string", text)) == 2
    with pytest.raises(MalformedData, match="line 3 .* values are to be exact"):
        found("csv", tmp_path, "string", text, **EXACT)


def test_blank_lines_of_csv_are_no_rows(tmp_path: Path) -> None:
    assert found("csv", tmp_path, "string", "a\tb\n \t\nx\ty\n\t\n\n", delimiter="\t", **EXACT) == [b"x"]


def test_a_header_that_is_passed_over(tmp_path: Path) -> None:
    for text in ("b,a\n1,x\n", "anything,at all\n1,x", "a,b\r\n1,x\r\n", "\ufeffa,b\n1,x\n"):
        assert found("csv", tmp_path, "int32", text, header="skip") == [1]
        assert found("csv", tmp_path, "int32", text, header="skip", **EXACT) == [1]
    assert found("csv", tmp_path, "int32", "a,b\n", header="skip") == []
    assert found("csv", tmp_path, "int32", "", header="skip", **EXACT) == []
    with pytest.raises(MalformedData, match="a record has 3 fields where 2 are expected"):
        found("csv", tmp_path, "int32", "a,b,c\n1,x,y\n", header="skip")


@pytest.mark.parametrize("text", ["\na,b\n1,x\n", " \t\r\na,b\n1,x\n", '"a\n",b\n1,x\n'])
def test_a_header_that_is_not_the_first_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(MalformedData, match="the first line is empty, or the header goes on behind it"):
        found("csv", tmp_path, "string", text, header="skip", **EXACT)


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [*VALUES, *((type, f'"{text}"', value) for type, text, value in DAYS), ("string", r'"\u0061"', b"a"),
     ("decimal(7, 2)", "1.005", 101), ("string", "null", None)],
)  # fmt: skip
def test_json(tmp_path: Path, type: str, text: str, value: Any) -> None:
    assert found("json", tmp_path, type, f'{{"a": {text}}}\n', **EXACT) == [value]


@pytest.mark.parametrize(
    ("type", "text"),
    [*JSON_OTHERWISE, *((type, f'"{text}"') for type, text in DAYS_OTHERWISE), ("int32", '"7"'), ("float64", '"NaN"'),
     ("string", "1.50"), ("string", "7"), ("string", "true"), ("binary", '"YQ=="')],
)  # fmt: skip
def test_json_that_is_not_exact(tmp_path: Path, type: str, text: str) -> None:
    assert found("json", tmp_path, type, f'{{"a": {text}}}\n') != [None]
    with pytest.raises(DataError):
        found("json", tmp_path, type, f'{{"a": {text}}}\n', **EXACT)


#: fields beside the one that is read
NOT_JSON = [
    '"u": tru', '"u": nulls', '"u": 01', '"u": 1.', '"u": .5', '"u": +1', '"u": -', '"u": 12345678x', '"u": 0x1',
    '"u": 1e', '"u": NaN', '"u": "x\ty"', '"u": "x\x01"', r'"u": "\q"', r'"u": "\u12"', '"u": "x" "y"',
    '"u": {"c": tru}', '"u": {"c" 1}', '"u": [1,]', '"u": {', '"\tu": 1', r'"\qu": 1', '"u": 1}, {"c": 2',
    '"u": "\x7f\x00"',
]  # fmt: skip
JSON = [
    '"u": true', '"u": null', '"u": 0', '"u": -0.5e+10', '"u": 123456789012345678901', r'"u": "\"\u00e4\n"',
    '"u": {"c": [1]}', '"u": "\u2028"', '"u" : 7 ', r'"\u0075": 1', '"u": "", "c": 10',
]  # fmt: skip


@pytest.mark.parametrize("field", JSON)
@pytest.mark.parametrize("like", ['"u": 1', '"u": "x", "c": 2'])
def test_fields_of_json_that_nobody_reads(tmp_path: Path, field: str, like: str) -> None:
    text = f'{{"a": 1, {like}}}\n{{"a": 2, {field}}}\n{{{field}, "a": 3}}\n'
    assert found("json", tmp_path, "int32", text, **EXACT) == [1, 2, 3]


@pytest.mark.parametrize("field", NOT_JSON)
@pytest.mark.parametrize("like", ['"u": 1', '"u": "x"', '"u": {"c": 1}'])
def test_malformed_fields_of_json_that_nobody_reads(tmp_path: Path, field: str, like: str) -> None:
    for line in (f'{{"a": 2, {field}}}', f'{{{field}, "a": 2}}'):
        with pytest.raises(MalformedData, match=r"line 2 .*not valid JSON|line 2 .*one JSON object"):
            found("json", tmp_path, "int32", f'{{"a": 1, {like}}}\n{line}\n', **EXACT)
