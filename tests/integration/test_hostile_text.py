"""Text files that want to hurt: the right rows or one typed error, soon; for the planner's look at them as well."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from jumpgate.client import read
from jumpgate.converters.statistics import estimate
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import Field, Schema
from jumpgate.errors import DataError, JumpgateError, MalformedData, SchemaMismatch
from tests.support import probe

#: an end that does not come is one that fails
pytestmark = pytest.mark.timeout(400)
ONE = Schema((Field("a", t.int64),))


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def planned(path: str) -> None:
    """Schema, rows and column statistics: found, or a typed error."""
    format = "json" if ".json" in path else "csv"
    column = estimate((path,), format).column
    if column is not None:
        column("a", t.int64)
    try:
        read(path, format=format)
    except JumpgateError as error:
        assert path in str(error)


def test_ten_thousand_columns(tmp_path: Path) -> None:
    """In the file, wanted or not; in rows that are alike and that are not."""
    names = [f"c{i}" for i in range(10_000)]
    schema = Schema(tuple(Field(name, t.int64) for name in names))
    rng = random.Random(1)
    shuffled = [rng.sample(range(10_000), 10_000) for _ in range(10)]
    csv = ",".join(names) + "\n" + (",".join(map(str, range(10_000))) + "\n") * 20
    lines = [{names[i]: i for i in order} for order in [list(range(10_000))] * 10 + shuffled]
    paths = {
        "csv": write(tmp_path / "t.csv", csv),
        "json": write(tmp_path / "t.json", "".join(json.dumps(x) + "\n" for x in lines)),
    }
    for format, path in paths.items():
        assert read(path).schema.names == schema.names
        found = probe.scan(format, [path], schema)
        assert [column[0] for column in found.columns] == list(range(10_000))
        assert all(len(set(column)) == 1 and len(column) == 20 for column in found.columns)
        assert probe.scan(format, [path], Schema((Field("c7", t.int64),))).columns == ([7] * 20,)


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting(tmp_path: Path, deep: str) -> None:
    for text in (deep, f'{{"a":{deep}}}', f'{{"a":1,"b":{deep}}}\n{{"a":2}}\n', f"[{{}},{deep}]"):
        path = write(tmp_path / "t.json", text)
        planned(path)
        for schema in (ONE, Schema((Field("b", t.string),)), Schema(())):
            try:
                assert probe.scan("json", [path], schema).rows <= 2
            except DataError as error:
                assert path in str(error)


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("text", [
    b"\0" * 200_000, b'"' * 200_001, b'"' * 200_000, b"," * 200_000, b"\r" * 200_000, b"\r\n" * 100_000,
    b'{"a":' * 1000 + b"\n", b'{"":' * 3, b"a\n" + b'"\n' * 100_001, b"\xff\xfe" * 1000, b"\xef\xbb\xbf",
    b"\x1f\x8b\x08", b"BZh91AY&SY", b"\x28\xb5\x2f\xfd", b"a,a\n1,2\n", b"[", b"[]" * 1000, b"a\n" + b"9" * 100_000,
    b"a\n-\n", b"\\" * 100_000, b'{"a":1e' + b"9" * 100_000 + b"}\n", b'{"' + b"\\u0061" * 100_000 + b'":1}\n',
    b"a" * 1_000_000, b'a\n"' + b'""' * 500_000,
])  # fmt: skip
@pytest.mark.parametrize("format", ["json", "csv"])
def test_odd_files(tmp_path: Path, format: str, text: bytes) -> None:
    """Whatever it is; packed as well."""
    for name, data in ((f"t.{format}", text), (f"p.{format}.gz", gzip.compress(text))):
        path = write(tmp_path / name, data)
        planned(path)
        for options in ({}, {"on_error": "skip"}, {"header": "false", "ragged": "null"}):
            if format == "json" and "header" in options:
                continue
            try:
                probe.scan(format, [path], ONE, options=options, threads=2)
            except JumpgateError as error:
                assert path in str(error)


def test_a_packed_file_that_grows_a_thousandfold(tmp_path: Path) -> None:
    """Memory depends on the longest row, so a row without end is refused."""
    path = write(tmp_path / "t.json.gz", gzip.compress(b'{"a":1}\n' * 1_000_000 + b'{"a":"' + b"x" * (80 << 20)))
    with pytest.raises(MalformedData, match=r"line 1000001 .*: a line is longer than 64 MiB"):
        probe.scan("json", [path], ONE, select=lambda _: [])
    path = write(tmp_path / "t.csv.gz", gzip.compress(b"a\n" + b"1\n" * 1_000_000))
    assert probe.scan("csv", [path], ONE, select=lambda _: []).rows == 1_000_000


@pytest.mark.parametrize("format", ["json", "csv"])
def test_cut_anywhere(tmp_path: Path, format: str) -> None:
    """Of plain lines that are cut, the whole ones are right and the last is whole or an error."""
    text = '{"a":12,"b":"x"}\n' * 3 if format == "json" else "a,b\n" + '12,"x"\n' * 3
    for size in range(len(text)):
        path = write(tmp_path / f"t.{format}", text[:size])
        planned(path)
        try:
            found = probe.scan(format, [path], ONE).columns[0]
        except (MalformedData, SchemaMismatch) as error:
            assert path in str(error)
        else:
            assert set(found[:-1]) <= {12}
