"""Drives a C++ file reader from Python, batch by batch, for tests: columns as lists of physical values."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpgate.codegen import toolchain
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import from_dict

BATCH_ROWS_MAX = 2048
_TYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "float32",
    "float64",
    "decimal64",
    "decimal128",
    "date",
    "timestamp",
    "time",
    "timestamp_ns",
    "string",
    "binary",
)
_C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_uint8,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "decimal64": ctypes.c_int64,
    "date": ctypes.c_int32,
    **dict.fromkeys(("timestamp", "time", "timestamp_ns"), ctypes.c_int64),
}


class _Column(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("precision", ctypes.c_int32),
        ("scale", ctypes.c_int32),
        ("nullable", ctypes.c_int32),
        ("early", ctypes.c_int32),
    ]


class _Bound(ctypes.Structure):
    _fields_ = [
        ("column", ctypes.c_int32),
        ("op", ctypes.c_char_p),
        ("value", ctypes.c_char_p),
        ("value_bytes", ctypes.c_int64),
    ]


class _Option(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _Col(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("valid", ctypes.POINTER(ctypes.c_uint8)),
        ("codes", ctypes.c_void_p),
        ("dictionary", ctypes.c_uint64),
        ("code_count", ctypes.c_uint32),
        ("entries", ctypes.c_void_p),
    ]


class _Str(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_uint64)]


class _Batch(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_int32), ("cols", ctypes.POINTER(_Col)), ("unread", ctypes.c_void_p)]


@functools.cache
def library() -> ctypes.CDLL:
    """The runtime library, with the probe's signatures."""
    lib = ctypes.CDLL(str(toolchain.runtime().library))
    lib.jg_probe_open.restype = ctypes.c_void_p
    lib.jg_probe_error.restype = ctypes.c_char_p
    return lib


@dataclass(frozen=True)
class Scan:
    """The result of a scan: one list of physical values (None is NULL) a column, and the source's counters."""

    columns: tuple[list[Any], ...]
    rows: int
    bytes: int
    pruned_bytes: int
    skipped_rows: int


def scan(
    format: str,
    files: Sequence[str],
    schema: Schema,
    late: Sequence[int] = (),
    select: Callable[[int], list[int]] | None = None,
    bounds: Sequence[tuple[int, str, bytes]] = (),
    options: Mapping[str, str] | None = None,
    share: tuple[int, int] = (0, 1),
    threads: int = 1,
    cancel_after: int | None = None,
) -> Scan:
    """Reads `schema` from `files`. `select(rows)` names the rows that survive in each batch (all if None): only they
    are returned, and the columns `late` are loaded for them alone. The scan is cancelled after `cancel_after` batches.
    Raises the reader's error as its Python type."""
    lib = library()
    paths = (ctypes.c_char_p * len(files))(*[f.encode() for f in files])
    columns = (_Column * len(schema))(
        *[
            _Column(
                f.name.encode(),
                _TYPES.index(_physical(f.type)),
                f.type.precision,
                f.type.scale,
                f.type.nullable,
                i not in late,
            )
            for i, f in enumerate(schema)
        ]
    )
    limits = (_Bound * len(bounds))(*[_Bound(c, op.encode(), value, len(value)) for c, op, value in bounds])
    settings = (_Option * len(options or {}))(*[_Option(n.encode(), v.encode()) for n, v in (options or {}).items()])
    probe = ctypes.c_void_p(
        lib.jg_probe_open(
            format.encode(),
            paths,
            len(files),
            columns,
            len(columns),
            limits,
            len(limits),
            settings,
            len(settings),
            *share,
            threads,
        )
    )
    try:
        _check(lib, probe)
        lists: tuple[list[Any], ...] = tuple([] for _ in schema)
        for count, (worker, batch) in enumerate(_batches(lib, probe, threads), 1):
            if count == cancel_after:
                lib.jg_probe_cancel(probe)
            wanted = list(range(batch.rows)) if select is None else select(batch.rows)
            if not wanted:
                continue
            for i in late:
                sel = (ctypes.c_int32 * len(wanted))(*wanted)
                lib.jg_probe_load(probe, worker, i, sel, len(wanted))
                _check(lib, probe)
            for i, f in enumerate(schema):
                lists[i].extend(_values(batch.cols[i], f.type, wanted))
        counters = (ctypes.c_int64 * 4)()
        lib.jg_probe_counters(probe, counters)
        return Scan(lists, *counters)
    finally:
        lib.jg_probe_close(probe)


def _batches(lib: ctypes.CDLL, probe: ctypes.c_void_p, workers: int) -> Iterator[tuple[int, _Batch]]:
    """Batches of all workers in turn."""
    active = list(range(workers))
    batch = _Batch()
    while active:
        for worker in tuple(active):
            more = lib.jg_probe_next(probe, worker, ctypes.byref(batch))
            _check(lib, probe)
            if not more:
                active.remove(worker)
                continue
            assert 0 < batch.rows <= BATCH_ROWS_MAX
            yield worker, batch


def _check(lib: ctypes.CDLL, probe: ctypes.c_void_p) -> None:
    message = ctypes.c_char_p()
    code = lib.jg_probe_error(probe, ctypes.byref(message))
    if code is None:
        return
    fields: dict[str, str] = {}
    name, value = ctypes.c_char_p(), ctypes.c_char_p()
    while lib.jg_probe_error_field(probe, len(fields), ctypes.byref(name), ctypes.byref(value)):
        fields[(name.value or b"").decode()] = (value.value or b"").decode(errors="replace")
    words = (message.value or b"").decode(errors="replace")
    raise from_dict({"code": code.decode(), "message": words, "fields": fields})


def _physical(type_: DataType) -> str:
    if type_.kind == "decimal":
        return "decimal64" if type_.precision <= 18 else "decimal128"
    return "int64" if type_.kind == "duration" else type_.kind.replace("tz", "")


def _values(column: _Col, type_: DataType, rows: list[int]) -> list[Any]:
    """Return the physical values of rows. Cells are taken from memory at once, as ctypes takes long for each one; those
    of NULLs and of other rows may hold anything."""
    kind, count = _physical(type_), max(rows) + 1
    is_pair = kind in ("string", "binary", "decimal128")
    c_type = ctypes.c_uint64 if is_pair else _C_TYPES[kind]
    cells = (c_type * (count << is_pair)).from_address(column.data)[:]
    if column.valid:
        valid = column.valid[:count]
        there = [row for row in rows if valid[row]]
        if kind in ("string", "binary"):  # jg/batch.h: of texts under NULL no byte is read
            assert not any(cells[2 * row + 1] for row in rows if not valid[row])
    else:
        there = rows
    if kind == "decimal128":  # two words, the lower one first
        values: list[Any] = [cells[2 * r] | (cells[2 * r + 1] - (cells[2 * r + 1] >> 63 << 64)) << 64 for r in there]
    elif is_pair:  # address and bytes
        values = [ctypes.string_at(cells[2 * r], cells[2 * r + 1]) if cells[2 * r + 1] else b"" for r in there]
    else:
        values = [bool(cells[r]) for r in there] if kind == "bool" else [cells[r] for r in there]
    if len(there) == len(rows):
        return values
    rest = iter(values)
    return [next(rest) if valid[row] else None for row in rows]
