"""Schemas found in files: types, options, several files, damage."""

from __future__ import annotations

from pathlib import Path

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
    (["1", "-5", "0"], "int64"), (["1", "2.5"], "float64"), (["1e3"], "float64"), (["12345678901234567890"], "float64"),
    (["true", "false"], "bool"), (["true", "1"], "string"), (["2001-02-03"], "date"),
    (["2001-02-03", "2001-02-03 04:05:06"], "timestamp"), (["2001-02-03T04:05:06.789"], "timestamp"),
    (["2001-02-03", "1"], "string"), (["x"], "string"), ([], "string"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "type_"), VALUES)
def test_types(tmp_path: Path, values: list[str], type_: str) -> None:
    csv = "a,b\n" + "".join(f"{v},\n" for v in [*values, ""])
    assert found(tmp_path, "csv", csv) == f"(a: {type_}?, b: string?)"
    if "true" in values and "1" in values:
        return  # JSON's own 1 is no text
    quoted = [f'"{v}"' if v[:1].isalpha() and v not in ("true", "false") or v[4:5] == "-" else v for v in values]
    json = "".join(f'{{"a":{v},"b":null}}\n' for v in [*quoted, "null"])
    assert found(tmp_path, "json", json) == f"(a: {type_}?, b: string?)"


def test_json_text_stays_text(tmp_path: Path) -> None:
    assert found(tmp_path, "json", '{"a":"12","b":"true","c":""}\n') == "(a: string?, b: string?, c: string?)"


def test_json_fields(tmp_path: Path) -> None:
    """Fields in the order of their first appearance; nested ones are left out."""
    text = '{"b":1}\n\n{"a":2.5,"c":[1]}\r\n{"c":1,"b":null,"d":{"x":1}}\n'
    assert found(tmp_path, "json", text, '{"e":true}') == "(b: int64?, a: float64?, e: bool?)"
    with pytest.raises(SchemaMismatch, match="line 1: every column holds objects or arrays, as 'c' does"):
        found(tmp_path, "json", '{"c":[]}\n')


def test_csv_options(tmp_path: Path) -> None:
    text = "'a|b'|c\n1|NA\nNA|'2|'\n"
    assert found(tmp_path, "csv", text, delimiter="|", quote="'", null="NA") == "(a|b: int64?, c: string?)"
    assert found(tmp_path, "csv", "1,x\n2,y\n", header="false") == "(column0: int64?, column1: string?)"
    assert found(tmp_path, "csv", '\ufeffa,b\r\n"1\n",2\r\n') == "(a: int64?, b: int64?)"


def test_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line or record that the sample's end cuts tells nothing."""
    monkeypatch.setattr(schemas, "SAMPLE_BYTES", 100)
    assert found(tmp_path, "json", '{"a":1}\n' * 12 + '{"a":2.5}\n') == "(a: int64?)"
    assert found(tmp_path, "csv", "a\n" + "11\n" * 32 + "2.55\n" * 10) == "(a: int64?)"


@pytest.mark.parametrize(
    ("format", "text", "error", "words"),
    [
        ("json", '{"a":1}\n{"a":\n', MalformedData, "0.json: line 2: not valid JSON"),
        ("json", '{"a":NaN}\n', MalformedData, "line 1: not valid JSON: NaN is no JSON number"),
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
    with pytest.raises(InvalidDataflow, match="no schema can be found in files of format 'xml'"):
        infer_schema((str(tmp_path),), "xml", {})
