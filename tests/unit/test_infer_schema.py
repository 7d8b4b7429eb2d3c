"""Schemas found in files: types, options, several files, damage."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pyarrow as pa
import pytest

from jumpgate.converters import schema as schemas
from jumpgate.converters.schema import infer_schema
from jumpgate.errors import FileUnreadable, InvalidDataflow, MalformedData, SchemaMismatch


def found(tmp_path: Path, format: str, *texts: str, **options: str) -> str:
    """The schema of files with these texts, as text."""
    files = []
    for i, text in enumerate(texts):
        path = tmp_path / f"{i}.{format}"
        path.write_text(text, encoding="utf-8")
        files.append(str(path))
    return str(infer_schema(tuple(files), format, options))


VALUES = [
    (["1", "-5", "0"], "int64"), (["1", "2.5"], "float64"), (["1e3"], "float64"),
    (["9223372036854775807", "-9223372036854775808"], "int64"), (["1234567890123456789", "1"], "int64"),
    (["9223372036854775808"], "decimal(38, 0)"), (["-9223372036854775809", "1"], "decimal(38, 0)"),
    (["12345678901234567890"], "decimal(38, 0)"), (["9" * 38], "decimal(38, 0)"), (["9" * 39], "string"),
    (["9007199254740992", "0.5"], "float64"), (["9007199254740993", "0.5"], "decimal(38, 1)"),
    (["9007199254740993.25", "1"], "decimal(38, 2)"), (["9" * 30, "0." + "1" * 9], "string"),
    (["9007199254740993", "1e3"], "string"), (["1e300", "1"], "float64"),
    (["-9007199254740993", ".125"], "decimal(38, 3)"),
    (["true", "false"], "bool"), (["true", "1"], "string"), (["2001-02-03"], "date"),
    (["2001-02-03", "2001-02-03 04:05:06"], "timestamp"), (["2001-02-03T04:05:06.789"], "timestamp"),
    (["2001-02-03T04:05:06Z", "2001-02-03 04:05:06.5+02:00"], "timestamp"),
    (["2001-02-03T04:05:06.123456789Z"], "string"), (["2001-02-03T04:05:06.123456000Z"], "timestamp"),
    (["2001-02-03", "1"], "string"), (["x"], "string"), ([], "string"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "type_"), VALUES)
def test_types(tmp_path: Path, values: list[str], type_: str) -> None:
    csv = "a,b\n" + "".join(f"{v},\n" for v in [*values, ""])
    assert found(tmp_path, "csv", csv) == f"(a: {type_}?, b: string?)"
    if "true" in values and "1" in values or any(v[:2] in (".1", "-.") for v in values):
        return  # JSON's own 1 is not text, and its numbers have a digit in front
    quoted = [f'"{v}"' if v[:1].isalpha() and v not in ("true", "false") or v[4:5] == "-" else v for v in values]
    json = "".join(f'{{"a":{v},"b":null}}\n' for v in [*quoted, "null"])
    assert found(tmp_path, "json", json) == f"(a: {type_}?, b: string?)"


def test_json_text_stays_text(tmp_path: Path) -> None:
    assert found(tmp_path, "json", '{"a":"12","b":"true","c":""}\n') == "(a: string?, b: string?, c: string?)"


def test_json_fields(tmp_path: Path) -> None:
    """Fields in the order of their first appearance."""
    text = '{"b":1}\n\n{"a":2.5,"c":[1]}\r\n{"c":1,"b":null,"d":{"x":1}}\n'
    assert found(tmp_path, "json", text, '{"e":true}') == (
        "(b: int64?, a: float64?, c: JSON array or scalar?, d: struct<x int64>?, e: bool?)"
    )


def test_csv_options(tmp_path: Path) -> None:
    text = "'a|b'|c\n1|NA\nNA|'2|'\n"
    assert found(tmp_path, "csv", text, delimiter="|", quote="'", null="NA") == "(a|b: int64?, c: string?)"
    assert found(tmp_path, "csv", "1,x\n2,y\n", header="false") == "(column0: int64?, column1: string?)"
    assert found(tmp_path, "csv", '\ufeffa,b\r\n"1\n",2\r\n') == "(a: int64?, b: int64?)"


def test_a_first_row_longer_than_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "SAMPLE_BYTES", 100)
    assert found(tmp_path, "json", '{"s":"' + "ä" * 5000 + '","a":1}\n{"a":2.5}\n') == "(s: string?, a: float64?)"
    assert found(tmp_path, "csv", "a" * 5000 + ",b\n1,2\n") == f"({'a' * 5000}: int64?, b: int64?)"
    assert found(tmp_path, "csv", "a,b\r\n" + "x" * 5000 + ",2\r\ny,3\r\n") == "(a: string?, b: int64?)"


def test_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line or record that the sample's end cuts tells nothing."""
    monkeypatch.setattr(schemas, "SAMPLE_BYTES", 100)
    assert found(tmp_path, "json", '{"a":1}\n' * 12 + '{"a":2.5}\n') == "(a: int64?)"
    assert found(tmp_path, "csv", "a\n" + "11\n" * 32 + "2.55\n" * 10) == "(a: int64?)"


def test_json_array(tmp_path: Path) -> None:
    """One array in place of lines, with line ends anywhere; what the sample cuts is left out."""
    text = '\ufeff \n[ {"a": 1,\n "b": "x],[{\\"\u2028"},{"a":2.5,"c":[1,\n{"d":2}]}\n\n]\n'
    assert found(tmp_path, "json", text) == "(a: float64?, b: string?, c: JSON object or scalar?)"
    assert found(tmp_path, "json", '[{"a":1},{"a":2.5},{"a"', on_error="skip") == "(a: float64?)"
    with pytest.raises(MalformedData, match="line 3: not valid JSON"):
        found(tmp_path, "json", '[{"a":1},\n\n{"a" 1}]')
    with pytest.raises(MalformedData, match="not valid JSON"):
        found(tmp_path, "json", '[{"a":1},,{"a":1}]')


def test_line_ends_inside_strings(tmp_path: Path) -> None:
    """U+2028, U+0085 and the like end no lines."""
    for letter in "\u2028\u2029\x85\x0b\x0c\x1c":
        value = letter if letter >= "\x80" else "x"
        assert found(tmp_path, "json", f'{{"a":"{value}"}}\n') == "(a: string?)"
        assert found(tmp_path, "csv", f"a,b\n1,x{letter}y\n") == "(a: int64?, b: string?)"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_csv_line_ends(tmp_path: Path, end: str, quote: str) -> None:
    lines = ["a,b", "1,x", f"2,{quote}2001{quote}", ""]
    path = tmp_path / "t.csv"
    path.write_bytes(end.join(lines).encode())
    assert str(infer_schema((str(path),), "csv", {})) == "(a: int64?, b: string?)"


def test_half_a_surrogate_pair(tmp_path: Path) -> None:
    assert found(tmp_path, "json", '{"a":"\\ud83d\\ude00"}\n') == "(a: string?)"
    for text in ('{"a":"\\ud83d"}\n', '{"\\ude00":1}\n'):
        with pytest.raises(MalformedData, match="line 1: not valid JSON: half of a surrogate pair"):
            found(tmp_path, "json", text)


def test_packed_and_encoded(tmp_path: Path) -> None:
    """By the first bytes, whatever the suffix says; an encoding that was named."""
    text = "a,b\n1,ä\n"
    packed = {
        "gz": gzip.compress(text.encode()[:5]) + gzip.compress(text.encode()[5:]),
        "bz2": bz2.compress(text.encode()),
        "zst": pa.compress(text.encode(), "zstd", asbytes=True),
    }
    for suffix, data in packed.items():
        for name in (f"t.csv.{suffix}", f"{suffix}.csv"):
            (tmp_path / name).write_bytes(data)
            assert str(infer_schema((str(tmp_path / name),), "csv", {})) == "(a: int64?, b: string?)"
        (tmp_path / "cut").write_bytes(data[:-6])
        with pytest.raises(MalformedData, match="cut or damaged"):
            infer_schema((str(tmp_path / "cut"),), "csv", {})
        (tmp_path / f"plain.csv.{suffix}").write_text(text)
        with pytest.raises(MalformedData, match="its suffix says .*, its bytes are something else"):
            infer_schema((str(tmp_path / f"plain.csv.{suffix}"),), "csv", {})
    (tmp_path / "t.xz").write_bytes(lzma.compress(text.encode()))
    with pytest.raises(SchemaMismatch, match="is packed with xz, which is not read yet"):
        infer_schema((str(tmp_path / "t.xz"),), "csv", {})


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16le", "utf-16be", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """Read by option, refused without it."""
    text = "a,b\n1,ä\n"
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    assert str(infer_schema((str(tmp_path / "t.csv"),), "csv", {"encoding": encoding})) == "(a: int64?, b: string?)"
    with pytest.raises(MalformedData, match="encoding="):
        infer_schema((str(tmp_path / "t.csv"),), "csv", {})


def test_ragged(tmp_path: Path) -> None:
    text = "a,b,c\n1,x,2.5\n2\n\n3,y\n"
    assert found(tmp_path, "csv", text, ragged="null") == "(a: int64?, b: string?, c: float64?)"
    with pytest.raises(MalformedData, match="line 3: 1 fields where 3 are expected"):
        found(tmp_path, "csv", text)
    with pytest.raises(MalformedData, match="line 2: 3 fields where 2"):
        found(tmp_path, "csv", "a,b\n1,2,3\n", ragged="null")


@pytest.mark.parametrize(
    ("format", "text", "error", "words"),
    [
        ("json", '{"a":1}\n{"a":\n', MalformedData, "0.json: line 2: not valid JSON"),
        ("json", '{"a":NaN}\n', MalformedData, "line 1: not valid JSON: NaN is not a JSON number"),
        ("json", '{"a":1}\n[1]\n', SchemaMismatch, "line 2: a line must hold a JSON object"),
        ("json", "\n", SchemaMismatch, "holds no rows to find a schema in: give read"),
        ("csv", "", SchemaMismatch, "holds no rows"),
        ("csv", "a,b\n1,2\n1\n", MalformedData, "0.csv: line 3: 1 fields where 2 are expected"),
        ("csv", "a,a\n1,2\n", SchemaMismatch, "two columns of the header have the same name"),
    ],
)
def test_failures(tmp_path: Path, format: str, text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        found(tmp_path, format, text)


def test_skipped_lines(tmp_path: Path) -> None:
    assert found(tmp_path, "json", '{"a":1}\nx\n[1]\n', on_error="skip") == "(a: int64?)"
    assert found(tmp_path, "csv", "a,b\n1,2\n1\n", on_error="skip") == "(a: int64?, b: int64?)"


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b'{"a":1}\n{"a":"\xff"}\n')
    with pytest.raises(MalformedData, match="line 2: not valid UTF-8"):
        infer_schema((str(tmp_path / "t.json"),), "json", {})


def test_files_that_differ(tmp_path: Path) -> None:
    with pytest.raises(SchemaMismatch, match="0.csv' has the columns a, b, '.*1.csv' has a, c"):
        found(tmp_path, "csv", "a,b\n1,2\n", "a,c\n1,2\n")


def test_missing_file_and_format(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="No such file"):
        infer_schema((str(tmp_path / "none"),), "json", {})
    with pytest.raises(InvalidDataflow, match="unknown format 'xml'"):
        infer_schema((str(tmp_path),), "xml", {})
