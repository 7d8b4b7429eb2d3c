"""Intervals of months as results, which pyarrow cannot hold: they become intervals of months, days and nanoseconds."""

from __future__ import annotations

import datafusion
import pyarrow as pa

from jumpgate.client.sql.tokens import quoted


def is_of(type: pa.DataType) -> bool:
    """Whether values of this type are months."""
    return bool(type.id == pa.lib.Type_INTERVAL_MONTHS)


def written(frame: datafusion.DataFrame) -> datafusion.DataFrame:
    """The same columns, of types that pyarrow holds, if their names tell them apart."""
    schema = frame.schema()
    if not any(map(is_of, schema.types)) or len(set(schema.names)) < len(schema):
        return frame
    columns = []
    for field in schema:
        column = datafusion.col(quoted(field.name))
        if is_of(field.type):
            column = column.cast(pa.month_day_nano_interval()).alias(field.name)
        columns.append(column)
    return frame.select(*columns)
