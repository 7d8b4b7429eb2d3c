"""Samples the text of a JSON or CSV file: its number of rows, and values of its columns."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from jumpgate.converters.text_files import Beginning, beginning, is_plain
from jumpgate.converters.text_rows import CsvField, csv_line_end, csv_rows, json_rows
from jumpgate.dataflow.formats import Sample
from jumpgate.dataflow.opening import opened, size_of, version
from jumpgate.dataflow.types import DataType
from jumpgate.errors import MalformedData
from jumpgate.stores.names import is_remote

#: bytes of a file from which its rows are estimated
COUNTED_BYTES = 64 << 10
#: number and bytes of the pieces of a file that are sampled for values
PIECES, PIECE_BYTES = 8, 32 << 10

Options = tuple[tuple[str, str], ...]


def json_row_count(file: str, options: Mapping[str, str]) -> float:
    """Estimate the rows from the mean length of those at the beginning."""
    sample = beginning(file, options, COUNTED_BYTES)
    text = sample.data.decode(errors="replace")
    if text.lstrip().startswith("["):
        rows = sum(1 for _ in json_rows(text, sample.whole))
    else:
        rows = _lines_in(text, "\n", sample.whole)
    return _extrapolated(file, rows, sample)


def csv_row_count(file: str, options: Mapping[str, str]) -> float:
    """Estimate the rows as `json_row_count` does."""
    sample = beginning(file, options, COUNTED_BYTES)
    text = sample.data.decode(errors="replace")
    return _extrapolated(file, _lines_in(text, csv_line_end(text, options.get("quote", '"')), sample.whole), sample)


def _lines_in(text: str, end: str, whole: bool) -> int:
    return text.count(end) + (whole and bool(text) and not text.endswith(end))


def _extrapolated(file: str, rows: int, sample: Beginning) -> float:
    if sample.whole:
        return float(rows)
    return size_of(file) / (sample.raw_bytes / rows) if rows else 1.0


def json_sample(file: str, options: Mapping[str, str], name: str, type: DataType) -> Sample:
    """Sample lines at several offsets; for an array or a packed file, those at the front."""
    return Sample(_json_values(file, *_state(file), tuple(options.items())).get(name, []))


def csv_sample(file: str, options: Mapping[str, str], name: str, type: DataType) -> Sample:
    """Sample as `json_sample` does."""
    return Sample(_csv_values(file, *_state(file), tuple(options.items())).get(name, []))


def _state(file: str) -> tuple[int, int]:
    return version(file)


@functools.lru_cache(maxsize=200)
def _json_values(file: str, _modified_ns: int, size: int, options: Options) -> dict[str, list[Any]]:
    return _json_columns(_pieces(file, size, dict(options)))


@functools.lru_cache(maxsize=200)
def _csv_values(file: str, _modified_ns: int, size: int, options: Options) -> dict[str, list[Any]]:
    return _csv_columns(file, _pieces(file, size, dict(options)), dict(options))


def _pieces(file: str, size: int, options: Mapping[str, str]) -> list[str]:
    if is_remote(file) or not is_plain(file, options):
        return [beginning(file, options, PIECES * PIECE_BYTES).data.decode(errors="replace")]
    pieces: list[str] = []
    with opened(file) as f:
        for piece in range(PIECES):
            f.seek(max(0, size - PIECE_BYTES) * piece // (PIECES - 1))
            pieces.append(f.read(PIECE_BYTES).decode("utf-8-sig", errors="replace"))
            if f.tell() == size:
                break
    return pieces


def _json_columns(pieces: list[str]) -> dict[str, list[Any]]:
    """Return the columns of lines, or of the beginning of an array."""
    found = json_rows(pieces[0], whole=False) if pieces[0].lstrip().startswith("[") else None
    texts = [line for _, line in found] if found else _whole_lines(pieces, "\n")
    rows = [row for text in texts if (row := _json(text)) is not None]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _whole_lines(pieces: list[str], end: str) -> list[str]:
    """Return the whole lines of pieces: each piece except the first begins, and each except a file's last ends, within
    a line."""
    lines: list[str] = []
    for i, piece in enumerate(pieces):
        parts = piece.split(end)
        lines += parts[1 if i else 0 : -1 if i < PIECES - 1 and len(pieces) > 1 else None]
    return lines


def _json(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _csv_columns(file: str, pieces: list[str], options: dict[str, str]) -> dict[str, list[Any]]:
    null = options.get("null", "")
    end = csv_line_end(pieces[0], options.get("quote", '"'))
    lines = _whole_lines(pieces, end)
    records = [r for line in lines if (r := _record(file, line + end, options)) is not None]
    if not records:
        return {}
    header = options.get("header") != "false"
    names = [f.text if header else f"column{i}" for i, f in enumerate(records[0])]
    rows = [r for r in records[header:] if len(r) == len(names)]
    return {name: [None if r[i].text == null else r[i].text for r in rows] for i, name in enumerate(names)}


def _record(file: str, line: str, options: dict[str, str]) -> Sequence[CsvField] | None:
    """Parse a record; None if the line is part of a record of several lines."""
    try:
        return next((fields for _, fields in csv_rows(file, line, True, options)), None)
    except MalformedData:
        return None
