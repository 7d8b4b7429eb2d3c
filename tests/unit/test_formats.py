"""Formats are declared once: what a declaration must hold, and that nobody else knows one by its name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from test_tidy import may_name_what_it_checks, texts

from jumpgate.converters.csv import CSV
from jumpgate.dataflow.formats import BUILT_IN, Formats, Option, formats
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Field, Schema, int64
from jumpgate.dataflow.validate import problems
from jumpgate.errors import ConfigError, InvalidDataflow

#: who may name one format: its own folder, where formats are listed, and what makes files of tests
MAY_NAME_ORC = {
    "clients/jvm/src/main/java/io/jumpgate/client/Work.java",  # made from the declarations
    "pyproject.toml",
    "jumpgate/dataflow/formats.py",
    "tests/support/hostile.py",
    "tests/support/nested_tables.py",
    "tests/support/orc_tail.py",
    *(f"tests/support/spark_{name}.py" for name in ("cases", "files", "lakes", "nested", "random", "times", "tpcds")),
}


def test_a_format_touches_few_files() -> None:
    code = [(p, text) for p, text in texts() if not may_name_what_it_checks(p)]
    naming = {
        path.as_posix() for path, text in code if path.suffix not in (".md", ".yml") and re.search(r"(?i)\borc\b", text)
    }
    assert {name for name in naming if not name.startswith("converters/orc/")} == MAY_NAME_ORC


def test_all_are_there() -> None:
    known = formats()
    assert tuple(known)[: len(BUILT_IN)] == tuple(BUILT_IN) and not known.broken
    assert {suffix: known.by_suffix[suffix].name for suffix in (".tsv", ".ndjson", ".pq", ".orc")} == {
        ".tsv": "csv", ".ndjson": "json", ".pq": "parquet", ".orc": "orc",
    }  # fmt: skip
    for format in known.values():
        assert format.duckdb or format.dataset, "tests compare with another engine"
        assert all(not option.wrong(option.default) for option in format.options)
        assert not format.problems(format.written_options)


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(ConfigError, match="two formats are called 'csv'"):
        Formats([CSV, CSV])
    with pytest.raises(ConfigError, match="files with suffix .csv are of the formats 'csv' and 'other'"):
        Formats([CSV, replace(CSV, name="other")])
    with pytest.raises(ConfigError, match="'A b' cannot name a format"):
        Formats([replace(CSV, name="A b", suffixes=())])


def test_what_cannot_be_loaded_takes_nobody_down() -> None:
    known = Formats([CSV])
    known.load("gone", "no.such.module:FORMAT")
    known.load("wrong", "jumpgate.converters.csv:TABS")
    known.load("another", "jumpgate.converters.orc:ORC")
    assert list(known) == ["csv"] and set(known.broken) == {"gone", "wrong", "another"}
    with pytest.raises(ConfigError, match=r"format 'gone' \(no.such.module:FORMAT\) cannot be loaded"):
        known["gone"]
    with pytest.raises(ConfigError, match="no Format of that name"):
        known["another"]
    with pytest.raises(InvalidDataflow, match="unknown format 'xml'; Jumpgate reads csv"):
        known["xml"]


def test_a_broken_one_is_named_where_a_plan_reads_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = Formats([CSV])
    known.load("gone", "no.such.module:FORMAT")
    monkeypatch.setattr("jumpgate.dataflow.validate.formats", lambda: known)
    read = Read((str(tmp_path / "t"),), "gone", Schema((Field("a", int64),)), (0,))
    (problem,) = problems(read)
    assert "format 'gone' (no.such.module:FORMAT) cannot be loaded" in problem


def test_options() -> None:
    option = Option("level", "1", ("1", "2"), canonical=str.strip)
    format = replace(CSV, options=(option,))
    assert format.canonical({"level": " 2 ", "other": " "}) == {"level": "2", "other": " "}
    assert format.problems({"level": "2", "partitions": "a"}) == []
    assert format.problems({"level": "3", "levl": "1"}) == [
        "read: csv has no option 'levl'; did you mean 'level'?",
        "read: option level is '3'; it can be 1 or 2",
    ]
