"""Arrow columns as lists of physical values, to compare with those of readers (support.probe)."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from jumpgate.dataflow.casts import of_day
from jumpgate.dataflow.types import DataType

EPOCH = datetime.datetime(1970, 1, 1)


def physical(values: list[Any], type_: DataType) -> list[Any]:
    """Python values (None: NULL) as physical values of `type_`: scaled integers, days, microseconds, bytes of text."""
    return [None if value is None else _one(value, type_) for value in values]


def _one(value: Any, type_: DataType) -> Any:
    match type_.kind:
        case "decimal":
            return int(value.scaleb(type_.scale, decimal.Context(prec=60)))
        case "date":
            return (value - EPOCH.date()).days
        case "time":
            return of_day(value)
        case "timestamp" | "timestamptz":
            return (value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)
        case "string":
            return value.encode()
    return value
