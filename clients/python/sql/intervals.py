"""Intervals as results: of months, days and nanoseconds is the only kind that pyarrow holds, so others become that."""

from __future__ import annotations

import datafusion
import pyarrow as pa

from jumpgate.client.sql.tokens import quoted

_OTHER_KINDS = {21: "months", 22: "days and milliseconds"}  # by Arrow's number of the type


def kind(type: pa.DataType) -> str:
    """Return the unit of an interval that pyarrow does not hold; empty for all other types."""
    return _OTHER_KINDS.get(type.id, "")


def written(frame: datafusion.DataFrame) -> datafusion.DataFrame:
    """The same columns, of types that pyarrow holds, if their names tell them apart."""
    schema = frame.schema()
    if not any(map(kind, schema.types)) or len(set(schema.names)) < len(schema):
        return frame
    columns = []
    for field in schema:
        column = datafusion.col(quoted(field.name))
        if kind(field.type):
            column = column.cast(pa.month_day_nano_interval()).alias(field.name)
        columns.append(column)
    return frame.select(*columns)
