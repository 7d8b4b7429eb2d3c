"""Columns in names of folders, as Hive writes them: …/year=2024/country=de/part-0.parquet."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, unquote

from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import SchemaMismatch

#: Hive's name for NULL
NULL = "__HIVE_DEFAULT_PARTITION__"
INT64_MAX = 2**63 - 1


def values_of(file: str) -> dict[str, str | None]:
    """Return the columns of a path with their text. Of several folders with one name, the innermost counts."""
    pairs = (folder.partition("=") for folder in file.split("/")[:-1] if "=" in folder)
    return {unquote(name): None if value == NULL else unquote(value) for name, _, value in pairs if name}


def partition_fields(files: Sequence[str]) -> tuple[Field, ...]:
    """Return the columns that the paths of all files have: int64, date or string, whichever fits all values.

    Raises SchemaMismatch if the files' folders have different names.
    """
    found: dict[str, set[str]] = {}
    first: tuple[str, ...] | None = None
    for file in files:
        values = values_of(file)
        names = tuple(values)
        first = names if first is None else first
        if set(names) != set(first):
            raise SchemaMismatch(
                f"files of one read differ in the columns of their folders: '{files[0]}' has {_listed(first)}, "
                f"'{file}' has {_listed(names)}. Read them apart, or without these columns: partitions=False.",
                file=file,
                other=files[0],
            )
        for name, value in values.items():
            texts = found.setdefault(name, set())
            if value is not None:
                texts.add(value)
    return tuple(Field(name, _type(texts)) for name, texts in found.items())


def with_partitions(schema: Schema, fields: Iterable[Field]) -> Schema:
    """Return a file's columns, then those of its folders; a name that both have refers to the folder's."""
    fields = tuple(fields)
    names = {f.name for f in fields}
    return Schema((*(f for f in schema if f.name not in names), *fields))


def as_option(names: Iterable[str]) -> str:
    """The text of a read's option `partitions`."""
    return ",".join(quote(name, safe=" ") for name in names)


def from_option(options: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(unquote(name) for name in options.get("partitions", "").split(",") if name)


def _type(texts: set[str]) -> DataType:
    if texts and all(re.fullmatch(r"-?\d{1,19}", v) and abs(int(v)) <= INT64_MAX for v in texts):
        return t.int64
    if texts and all(_is_date(v) for v in texts):
        return t.date
    return t.string


def _is_date(text: str) -> bool:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text) is None:
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
