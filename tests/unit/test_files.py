"""The files that a read names: globs, links in circles, URLs, what is not a file; columns in the names of folders."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import col, read
from jumpgate.dataflow.files import list_files
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.paths import braces
from jumpgate.errors import FileUnreadable, InvalidDataflow, JumpgateError, SchemaMismatch


def make(base: Path, *names: str, text: str = "a\n1\n") -> None:
    for name in names:
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def listed(base: Path, pattern: str, format: str | None = None) -> list[str]:
    return [str(Path(f).relative_to(base)) for f in list_files(f"{base}/{pattern}", format)[0]]


def test_patterns(tmp_path: Path) -> None:
    make(tmp_path, "a.csv", "b.csv", "ab.csv", "c/a.csv", "c/d/a.csv", "c/.h.csv", ".x/a.csv", "e.json", "{z}.csv")
    assert listed(tmp_path, "?.csv") == ["a.csv", "b.csv"]
    assert listed(tmp_path, "{a,b}.csv") == ["a.csv", "b.csv"]
    assert listed(tmp_path, "{a,c/{a,d/a}}.csv") == ["a.csv", "c/a.csv", "c/d/a.csv"]
    assert listed(tmp_path, "{b,no,b}.csv") == ["b.csv"]
    assert listed(tmp_path, "[!a].csv") == ["b.csv"]
    assert listed(tmp_path, "**/a.csv") == ["a.csv", "c/a.csv", "c/d/a.csv"]
    assert listed(tmp_path, "c/**/*.csv") == ["c/a.csv", "c/d/a.csv"]
    assert listed(tmp_path, "c/.*") == ["c/.h.csv"]
    assert listed(tmp_path, "{z}.csv") == ["{z}.csv"]
    assert braces("{a,b}{1,2}{x}") == ["a1{x}", "a2{x}", "b1{x}", "b2{x}"]
    with pytest.raises(InvalidDataflow, match="the braces of .* stand for over 10000 patterns"):
        list_files(f"{tmp_path}/" + "{a,b}" * 40)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", ["**/*.csv", ""])
def test_links_in_circles(tmp_path: Path, pattern: str) -> None:
    """Each file once, soon, by its first name."""
    make(tmp_path, "d/a.csv", "d/e/b.csv")
    for name in ("up", "up2", "e/up", "e/self"):
        (tmp_path / "d" / name).symlink_to(tmp_path if "self" not in name else tmp_path / "d/e")
    (tmp_path / "d/z.csv").symlink_to(tmp_path / "d/a.csv")
    assert listed(tmp_path, pattern) == ["d/a.csv", "d/e/b.csv"]
    assert list_files([tmp_path / "d/a.csv", tmp_path / "d/z.csv"])[0] == (
        f"{tmp_path}/d/a.csv",
        f"{tmp_path}/d/z.csv",
    )


def test_linked_folders_are_read(tmp_path: Path) -> None:
    make(tmp_path, "real/a.csv")
    (tmp_path / "t").mkdir()
    (tmp_path / "t/link").symlink_to(tmp_path / "real")
    for pattern in ("t", "t/**/*.csv", "t/*/a.csv"):
        assert listed(tmp_path, pattern) == ["t/link/a.csv"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("format", ["csv", "json", "parquet", "orc"])
def test_what_is_no_file(tmp_path: Path, format: str) -> None:
    """Refused at once: opening a pipe that nobody writes would wait for ever."""
    pipe, bound = tmp_path / f"pipe.{format}", tmp_path / f"socket.{format}"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(bound))
        expected: dict[Any, str] = {
            pipe: "a named pipe", tmp_path / "link": "a named pipe", f"{tmp_path}/pi*": "a named pipe",
            bound: "a socket", "/dev/null": "a device", "": "the path is empty",
        }  # fmt: skip
        for name, words in expected.items():
            with pytest.raises(FileUnreadable, match=words):
                read(name, format=format, schema={"a": "int64"})


def test_urls(tmp_path: Path) -> None:
    make(tmp_path, "a b.csv", "c.csv")
    assert list_files(f"file://{tmp_path}/a%20b.csv")[0] == (f"{tmp_path}/a b.csv",)
    assert list_files(f"file://localhost{tmp_path}/*.csv")[0] == (f"{tmp_path}/a b.csv", f"{tmp_path}/c.csv")
    with pytest.raises(InvalidDataflow, match="is on host 'elsewhere'"):
        list_files("file://elsewhere/a.csv")
    for scheme, way_out in (
        ("viewfs", "hdfs://NAMENODE:8020/PATH"),
        ("ftp", "copy"),
        ("wasbs", "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net"),
    ):
        with pytest.raises(InvalidDataflow, match=f"{scheme}:// is not read, only .*{way_out}"):
            list_files(f"{scheme}://bucket/a.csv")


def test_suffixes(tmp_path: Path) -> None:
    make(tmp_path, "a.csv.gz", "b.CSV.ZST", "c.json.bz2", "d.parquet.gz", "e.gz", "f.tsv", "g.tab.gz", "h.csv")
    assert list_files([tmp_path / "a.csv.gz", tmp_path / "b.CSV.ZST", tmp_path / "f.tsv"])[1] == "csv"
    assert list_files(tmp_path / "c.json.bz2")[1] == "json"
    for name in ("d.parquet.gz", "e.gz"):
        with pytest.raises(InvalidDataflow, match="tells no format"):
            list_files(tmp_path / name)
    schema = {"a": "int64"}
    for name in ("f.tsv", "g.tab.gz"):
        root = read(tmp_path / name, schema=schema).root
        assert isinstance(root, Read) and root.options == (("delimiter", "\t"),)
        root = read(tmp_path / name, schema=schema, delimiter="|").root
        assert isinstance(root, Read) and root.options == (("delimiter", "|"),)
    with pytest.raises(InvalidDataflow, match="files with suffix .tsv and others; give the option delimiter"):
        read([tmp_path / "f.tsv", tmp_path / "h.csv"], schema=schema)


def test_options(tmp_path: Path) -> None:
    make(tmp_path, "a.csv")
    root = read(tmp_path / "a.csv", schema={"a": "int64"}, encoding="UTF-16-LE", ragged="null").root
    assert isinstance(root, Read) and dict(root.options) == {"encoding": "utf-16le", "ragged": "null"}
    for options, words in [
        ({"encoding": "ebcdic"}, "option encoding is 'ebcdic'; it can be utf-8 or utf-16"),
        ({"ragged": "yes"}, "option ragged is 'yes'; it can be error or null"),
        ({"partitions": "a"}, "option partitions is 'a'; it can be true or false"),
    ]:
        with pytest.raises(InvalidDataflow, match=words):
            read(tmp_path / "a.csv", schema={"a": "int64"}, **options)


PARTITIONED = ("y=2024/d=2024-01-02/n=x/a.csv", "y=2023/d=2024-01-03/n=__HIVE_DEFAULT_PARTITION__/a.csv")


def test_partitions(tmp_path: Path) -> None:
    """int64, date or string, whatever all values are; behind the file's own columns."""
    make(tmp_path, *PARTITIONED)
    flow = read(tmp_path)
    assert str(flow.schema) == "(a: int64?, y: int64?, d: date?, n: string?)"
    assert isinstance(flow.root, Read) and flow.root.options == (("partitions", "y,d,n"),)
    assert str(read(tmp_path, partitions=False).schema) == "(a: int64?)"
    assert str(read(tmp_path, columns=["n", "a"]).schema) == "(n: string?, a: int64?)"
    declared = read(tmp_path, schema={"y": "int16", "a": "int32"})
    assert isinstance(declared.root, Read) and declared.root.options == (("partitions", "y"),)
    with pytest.raises(InvalidDataflow, match="unknown column 'd'"):
        declared.filter(col("d") == 1)


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (["1", "-5"], "int64"), (["01", "12"], "int64"), (["9223372036854775808"], "string"), (["1", "x"], "string"),
        (["2024-01-02"], "date"), (["2024-02-30"], "string"), (["", "1"], "string"), (["1.5"], "string"),
        (["__HIVE_DEFAULT_PARTITION__"], "string"), (["__HIVE_DEFAULT_PARTITION__", "7"], "int64"),
    ],
)  # fmt: skip
def test_partition_types(tmp_path: Path, values: list[str], type_: str) -> None:
    make(tmp_path, *[f"k={v}/a.csv" for v in values])
    assert str(read(tmp_path).schema) == f"(a: int64?, k: {type_}?)"


def test_partition_names(tmp_path: Path) -> None:
    """Percent-encoded; the folder's value wins over a column of that name; the innermost folder over others."""
    make(tmp_path, "a%20b=x%2Fy/a=5/a=6/t.csv", text="a,c\n1,2\n")
    flow = read(tmp_path)
    assert str(flow.schema) == "(c: int64?, a b: string?, a: int64?)"
    assert isinstance(flow.root, Read) and flow.root.options == (("partitions", "a b,a"),)


def test_partitions_that_differ(tmp_path: Path) -> None:
    make(tmp_path, "x=1/t.csv", "x=2/y=1/t.csv")
    with pytest.raises(
        SchemaMismatch, match="differ in the columns of their folders.*has x, '.*' has x, y.*partitions"
    ):
        read(tmp_path)
    assert str(read(tmp_path, partitions=False).schema) == "(a: int64?)"


@pytest.mark.timeout(120)
def test_many_columns(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(10_000)]
    make(tmp_path, "t.csv", text=",".join(names) + "\n" + ",".join("1" * 10_000) + "\n")
    assert read(tmp_path / "t.csv").schema.names == tuple(names)
    with pytest.raises(JumpgateError, match="two columns"):
        make(tmp_path, "d.csv", text=",".join([*names, "c5"]) + "\n")
        read(tmp_path / "d.csv")


@pytest.mark.parametrize(
    "mark, kind",
    [("_delta_log/0.json", "Delta"), (".hoodie/x", "Hudi"), ("metadata/v1.metadata.json", "Iceberg")],
)
def test_tables_whose_files_are_not_their_rows(tmp_path: Path, mark: str, kind: str) -> None:
    """Their logs tell which rows have gone; who names one file means that."""
    make(tmp_path, "t/data/p=1/a.csv", f"t/{mark}")
    for named in ("t", "t/data", "t/data/p=1", "t/data/*/*.csv", "**/a.csv"):
        with pytest.raises(InvalidDataflow, match=rf"t' is a table of {kind}, whose files hold rows that it no longer"):
            list_files(f"{tmp_path}/{named}", "csv")
    assert listed(tmp_path, "t/data/p=1/a.csv") == ["t/data/p=1/a.csv"]
