"""How notebooks show results, plans and tables: HTML that loads nothing and escapes everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

import pyarrow as pa

from jumpgate.words import counted

#: of a result, in a notebook
ROWS_SHOWN = 10
COLUMNS_SHOWN = 40
CELL_CHARACTERS = 120


def first_rows(batches: Iterable[pa.RecordBatch], schema: pa.Schema, most: int = ROWS_SHOWN) -> tuple[pa.Table, bool]:
    """At most that many rows, and whether there are more; reads no further than it must."""
    taken: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        taken.append(batch)
        rows += batch.num_rows
        if rows > most:
            break
    return pa.Table.from_batches(taken, schema).slice(0, most), rows > most


def rows(table: pa.Table, more: bool, note: str = "") -> str:
    """A table's rows with the types of its columns; `more`: there are others; note: what stands below beside that."""
    hidden = max(0, table.num_columns - COLUMNS_SHOWN)
    columns = range(table.num_columns - hidden)
    types = [table.schema.field(i).type for i in columns]
    head = "".join(
        f"<th>{escape(table.schema.field(i).name)}<br><small>{escape(str(types[i]))}</small></th>" for i in columns
    )
    right = ["" if not _is_number(type) else ' style="text-align:right"' for type in types]
    body = "".join(
        "<tr>" + "".join(f"<td{right[i]}>{_cell(row[i])}</td>" for i in columns) + "</tr>"
        for row in _rows(table, columns)
    )
    count = counted(table.num_rows, "row")
    remarks = [f"the first {count}" if more else count]
    remarks += [counted(hidden, "more column")] if hidden else []
    remarks += [note] if note else []
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape('; '.join(remarks))}</p>"


def listing(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    """A table of texts."""
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return (
        f"<table><thead><tr>{''.join(f'<th>{escape(h)}</th>' for h in head)}</tr></thead><tbody>{body}</tbody></table>"
    )


def folded(title: str, text: str) -> str:
    """Text of fixed width under a title that opens it."""
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"


def _rows(table: pa.Table, columns: range) -> Iterator[tuple[object, ...]]:
    return zip(*(table.column(i).to_pylist() for i in columns), strict=True)


def _cell(value: object) -> str:
    if value is None:
        return "<i>NULL</i>"
    text = str(value)
    return escape(text if len(text) <= CELL_CHARACTERS else f"{text[:CELL_CHARACTERS]}…")


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))
