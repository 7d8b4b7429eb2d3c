"""One object: the store computes over it or, where it is busy or refuses, this process does. Exact either way."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import Any, TypeVar

import pyarrow as pa

from jumpgate.errors import FileUnreadable, Overflow
from jumpgate.ncas.s3_select import asking, fields, local, ranged, seeking
from jumpgate.ncas.s3_select.asking import Broken, Busy, Counted, Refused, Wrong
from jumpgate.ncas.s3_select.fields import Unfit
from jumpgate.ncas.s3_select.forms import Form
from jumpgate.ncas.s3_select.intervals import TABLE_REQUESTS
from jumpgate.ncas.s3_select.pushback import Window, is_calm
from jumpgate.stores import web
from jumpgate.stores.indexes import Interval
from jumpgate.stores.objects import Grant

#: requests about an object of which no row has been handed on, before it is read by ranges
ATTEMPTS = 3
T = TypeVar("T")
Values = list[dict[str, Any]]


class Source:
    """`columns` are those of the object that statements name; text objects need their types."""

    def __init__(
        self,
        told: dict[str, Any],
        columns: Sequence[str],
        window: Window,
        counted: Counted,
        form: Form | None = None,
        types: pa.Schema | None = None,
    ) -> None:
        self._told, self._columns, self._window, self._counted = told, columns, window, counted
        self._form, self._types = form or Form(), types
        self._grant = Grant(
            told["url"], told["tag"], told["modified"], told["size"], authorization=told["authorization"]
        )

    @property
    def file(self) -> str:
        return str(self._told["file"])

    def by_ranges(self) -> Source:
        """Return the same object, about which the store is not asked."""
        found = copy(self)
        found._window = Window(0)
        found._window.close()
        return found

    def rows(self, statement: str, wanted: pa.Schema, instead: str = "") -> Iterator[pa.RecordBatch]:
        """Yield the rows of a statement, all in the version that was planned for. instead: of another one where they
        are read by ranges. Raises FileUnreadable, FileChanged, Forbidden."""
        found = self.selected_rows(statement, wanted)
        yield from self._ranged_rows(instead or statement, wanted) if found is None else found

    def filtered(self, statement: str, exact: str, instead: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `exact`, computed here over those of a statement, which has the columns of the source's
        types; of `instead` where the object is read by ranges. Raises FileUnreadable, FileChanged, Forbidden,
        MalformedData, Overflow."""
        assert self._types is not None
        found = self.sampled(statement, exact, wanted)
        yield from self._ranged_rows(instead, wanted) if found is None else found

    def sampled(self, statement: str, exact: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        """Return the rows of `exact`, computed here over those of a statement; None if the store does not compute
        these."""
        assert self._types is not None
        found = self.selected_rows(statement, self._types)
        return None if found is None else self._exact_rows(exact, found, wanted)

    def _exact_rows(self, exact: str, found: Iterator[pa.RecordBatch], wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        with local.answered(exact, "S3Object", self._types, found) as result:
            yield from _batches(result, wanted)

    def sought(self, intervals: Sequence[Interval], exact: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `exact`, computed here over those that the object's index table has for the intervals, or
        over all where there is no table. Raises FileUnreadable, FileChanged, Forbidden, MalformedData, Overflow."""
        types = self._types
        assert types is not None
        table = self._told.get("table")
        found = None if table is None else seeking.ranges(table, intervals)
        self._counted["requests"] += 0 if table is None else TABLE_REQUESTS * ("grant" in table)
        if table is None or found is None:
            yield from self._ranged_rows(exact, wanted)
            return
        self._counted["sought_rows"] += len(found)
        texts = seeking.records(self.file, self._grant, found, table["header"], self._read)
        batches = (b for text in texts for b in fields.ranged(io.BytesIO(text), self._form, types, self.file))
        yield from self._exact_rows(exact, batches, wanted)

    def _read(self, bytes: int) -> None:
        self._counted["requests"] += 1
        self._counted["returned_bytes"] += bytes

    def selected_rows(self, statement: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        """Return the rows of a statement from the store; None if it does not compute them."""

        def read() -> Iterator[pa.RecordBatch]:
            for text in asking.records(self._told, self._form.request(statement, self.file), self._counted):
                if self._form.is_text:
                    yield from fields.answered(text, self._form, wanted, self.file)
                else:
                    yield from asking.parsed(text, wanted, self.file)

        return self._asked(read)

    def selected(self, statement: str) -> Values | None:
        """Return the few rows of a statement from the store; None if it does not compute them."""

        def read() -> Iterator[Values]:
            for text in asking.records(self._told, self._form.request(statement, self.file, True), self._counted):
                yield [json.loads(line) for line in text.splitlines()]

        found = self._asked(read)
        return None if found is None else [row for rows in found for row in rows]

    def exact(self, statement: str) -> Values:
        """Return the few rows of a statement, computed here. Raises FileUnreadable, FileChanged, Forbidden."""
        self._counted["ranged_objects"] += 1
        with self._ranged(statement) as result:
            names = [column[0] for column in result.description]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def _ranged_rows(self, statement: str, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
        self._counted["ranged_objects"] += 1
        with self._ranged(statement) as result:
            yield from _batches(result, wanted)

    def _ranged(self, statement: str) -> AbstractContextManager[Any]:
        if self._types is not None:
            return ranged.answered_text(statement, self.file, self._grant, self._form, self._types)
        return ranged.answered(statement, self.file, self._grant, self._columns)

    def _asked(self, read: Callable[[], Iterator[T]]) -> Iterator[T] | None:
        """Return what `read` yields; None if the store is to be spared or does not compute, and has yielded nothing."""
        for _ in range(ATTEMPTS):
            if not (taken := self._window.enter()):
                return None
            begun = time.monotonic()
            calm: bool | None = False
            items = self._checked(read())
            try:
                first = next(items, None)
                at_once = max(taken, self._window.taken)
                calm = is_calm(time.monotonic() - begun, at_once, self._told["ranged_s"])
            except Broken:
                calm = True  # it was not too much for it
                continue
            except (Busy, Unfit):
                return None
            except Refused as error:
                if not (self._form.is_text and isinstance(error, Wrong)):  # another object may have other text
                    self._window.close()
                return None
            finally:
                self._window.leave(calm)
            return iter(()) if first is None else self._rest(first, items)
        return None

    def _checked(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items; the last one, once the object is known to be still the one that was planned for: Select
        itself does not compare."""
        held: list[T] = []
        for item in items:
            yield from held
            held = [item]
        self._counted["requests"] += 1
        web.ranged(self.file, self._grant, 0, 1)
        yield from held

    def _rest(self, first: T, items: Iterator[T]) -> Iterator[T]:
        try:
            yield first
            yield from items
        except (Broken, Busy, Refused, Unfit) as error:
            raise FileUnreadable(
                f"cannot read '{self.file}' by S3 Select: {error}; run the query again, or leave out "
                "select in its [[store]]",
                file=self.file,
            ) from None


def _batches(result: Any, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield what DuckDB found in the types that are wanted."""
    for batch in result.to_arrow_reader():
        columns = [_cast(c, f) for c, f in zip(batch.columns, wanted, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=wanted)


def _cast(values: pa.Array, field: pa.Field) -> pa.Array:
    try:
        return values.cast(field.type)
    except pa.ArrowInvalid:
        raise Overflow(f"'{field.name}' does not fit into {field.type}") from None
