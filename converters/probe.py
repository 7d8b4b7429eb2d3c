"""A look into files for planning: as schema.infer_schema and statistics.estimate, but in a process of its own.

What was found is kept by the files' states (path, size, time, inode), also that a file cannot be read; only what is new
is asked of the prober.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from jumpgate.converters.prober import prober
from jumpgate.dataflow.file_state import FileState, file_state
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import JumpgateError, MalformedData, MemoryLimit
from jumpgate.nca.interface import ColumnStatistics, Selection, Statistics

#: schemas, files and columns of files that are kept
SCHEMAS_MAX, FILES_MAX, COLUMNS_MAX, SELECTIONS_MAX = 1000, 100_000, 10_000, 10_000

Options = tuple[tuple[str, str], ...]


def infer_schema(files: tuple[str, ...], format: str, options: Mapping[str, str]) -> Schema:
    """The schema that `files` share, see schema.infer_schema.

    Raises as that does; MalformedData, which names the file, if a file ended the process that read it.
    """
    return _schema(files, tuple(map(file_state, files)), format, tuple(sorted(options.items())))


def estimate(files: tuple[str, ...], format: str, options: Options = ()) -> Statistics:
    """Rows and bytes of all files together, see statistics.estimate; unknown where a file cannot be read."""
    rows, size = 0.0, 0.0
    largest: tuple[str, FileState] | None = None
    for file in files:
        try:
            state = file_state(file)
            known = _size(file, state, format, options)
        except JumpgateError:
            return Statistics()
        if known.rows is None or known.bytes is None:
            return Statistics()
        rows, size = rows + known.rows, size + known.bytes
        if largest is None or state.size > largest[1].size:
            largest = file, state
    if largest is None:
        return Statistics(rows, size)
    column = functools.partial(_column_or_nothing, *largest, format, options, rows)
    select = functools.partial(_selection_or_nothing, files, tuple(map(file_state, files)), format, options)
    return Statistics(rows, size, column, select)


@functools.lru_cache(SCHEMAS_MAX)
def _schema(files: tuple[str, ...], _states: tuple[FileState, ...], format: str, options: Options) -> Schema:
    found = prober.ask("schema", files, format, dict(options))
    assert isinstance(found, Schema)
    return found


@functools.lru_cache(FILES_MAX)
def _size(file: str, _state: FileState, format: str, options: Options) -> Statistics:
    try:
        found = prober.ask("estimate", (file,), format, options)
    except (MalformedData, MemoryLimit):
        return Statistics()
    assert isinstance(found, Statistics)
    return found


def _column_or_nothing(
    file: str, state: FileState, format: str, options: Options, rows: float, name: str, type: DataType
) -> ColumnStatistics:
    try:
        return _column(file, state, format, options, rows, name, type)
    except JumpgateError:
        return ColumnStatistics()


@functools.lru_cache(COLUMNS_MAX)
def _column(
    file: str, _state: FileState, format: str, options: Options, rows: float, name: str, type: DataType
) -> ColumnStatistics:
    try:
        found = prober.ask("column", (file,), format, options, rows, name, type)
    except (MalformedData, MemoryLimit):
        return ColumnStatistics()
    assert isinstance(found, ColumnStatistics)
    return found


def _selection_or_nothing(
    files: tuple[str, ...],
    states: tuple[FileState, ...],
    format: str,
    options: Options,
    filter: Operator,
    names: tuple[str, ...],
) -> Selection | None:
    from jumpgate.dataflow import proto

    try:
        dataflow = proto.encode(filter).SerializeToString(deterministic=True)
        return _selection(files, states, format, options, dataflow, names)
    except JumpgateError:
        return None


@functools.lru_cache(SELECTIONS_MAX)
def _selection(
    files: tuple[str, ...],
    _states: tuple[FileState, ...],
    format: str,
    options: Options,
    dataflow: bytes,
    names: tuple[str, ...],
) -> Selection | None:
    try:
        found = prober.ask("selection", files, format, options, dataflow, names)
    except (MalformedData, MemoryLimit):
        return None
    assert found is None or isinstance(found, Selection)
    return found
