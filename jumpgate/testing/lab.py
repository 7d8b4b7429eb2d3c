"""Runs dataflows over tables that a test writes, and compares each answer with DuckDB's.

    lab = Lab(session, folder, "json")
    sales = lab.table({"item": "int64", "price": "decimal(7, 2)"}, [(1, Decimal("9.99")), (None, None)])
    lab.check(sales.aggregate(by=["item"], total=sum_("price")))

Whatever a table's format, DuckDB reads a Parquet file with the same rows: its readers of text have limits of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet

from jumpgate.dataflow.builder import Dataflow, read
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Operator, Read, rewrite
from jumpgate.dataflow.types import DataType, Field, Schema, parse_type
from jumpgate.testing import oracle

if TYPE_CHECKING:
    from jumpgate.client.session import Session

#: small, so that small tables have several
ROW_GROUP_ROWS = 4096

Rows: TypeAlias = "Sequence[Sequence[Any]] | pa.Table"


class Lab:
    """A session, a folder for tables, and their format."""

    def __init__(self, session: Session, folder: Path, format: str = "parquet") -> None:
        self.session, self.folder, self.format = session, folder, format
        self._truths: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._tables = 0

    def table(self, types: Mapping[str, DataType | str], rows: Rows, files: int = 1) -> Dataflow:
        """A new table of those rows (values as Literal holds them), spread over `files` files. Columns are nullable
        unless their type is a DataType that says otherwise."""
        schema = Schema(
            tuple(
                Field(n, t if isinstance(t, DataType) else parse_type(t).with_nullable(True)) for n, t in types.items()
            )
        )
        whole = rows if isinstance(rows, pa.Table) else _arrow(schema, rows)
        name = f"t{self._tables}"
        self._tables += 1
        paths, truths = [], []
        found = formats()[self.format]
        for i in range(files):
            bounds = (whole.num_rows * i // files, whole.num_rows * (i + 1) // files)
            part = whole.slice(bounds[0], bounds[1] - bounds[0])
            paths.append(self.folder / f"{name}-{i}.{self.format}")
            truths.append(self.folder / f"{name}-{i}.parquet")
            pa.parquet.write_table(part, truths[-1], row_group_size=ROW_GROUP_ROWS)
            found.write(part, paths[-1], part_rows=ROW_GROUP_ROWS)
        flow = read(paths, schema=schema, **found.written_options)
        assert isinstance(flow.root, Read)
        self._truths[flow.root.files] = tuple(map(str, truths))
        return flow

    def run(self, flow: Dataflow, dialect: Dialect = DEFAULT) -> pa.Table:
        return self.session.run(flow, dialect).to_arrow()

    def check(self, flow: Dataflow, dialect: Dialect = DEFAULT) -> pa.Table:
        """The answer, which is DuckDB's: fails with the first difference."""
        answer = self.run(flow, dialect)
        oracle.assert_same(answer, self.truth(flow.root), dialect)
        return answer

    def truth(self, root: Operator) -> Operator:
        """Return the same dataflow over the Parquet files that DuckDB reads."""

        def change(node: Operator) -> Operator:
            if not isinstance(node, Read) or node.files not in self._truths:
                return node
            return replace(node, files=self._truths[node.files], format="parquet", options=())

        return rewrite(root, change)


def _arrow(schema: Schema, rows: Sequence[Sequence[Any]]) -> pa.Table:
    columns = [pa.array([r[i] for r in rows], t.type) for i, t in enumerate(oracle.arrow_schema(schema))]
    return pa.Table.from_arrays(columns, schema=oracle.arrow_schema(schema))
