"""DuckDB's types, and the types in which their values travel through a dataflow."""

from __future__ import annotations

import datetime
import decimal as pydecimal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jumpgate.client.duckdb.reasons import Stays
from jumpgate.dataflow import types as t
from jumpgate.dataflow.expressions import Literal, Value
from jumpgate.dataflow.types import DataType

_EPOCH = datetime.date(1970, 1, 1)
_START = datetime.datetime(1970, 1, 1)
#: widest integers first are carried by decimals: values beyond 38 digits end a job, and DuckDB answers
_CARRIERS: Mapping[str, DataType] = {
    "BOOLEAN": t.bool_, "TINYINT": t.int8, "SMALLINT": t.int16, "INTEGER": t.int32, "BIGINT": t.int64,
    "UTINYINT": t.int16, "USMALLINT": t.int32, "UINTEGER": t.int64, "UBIGINT": t.decimal(20), "HUGEINT": t.decimal(38),
    "FLOAT": t.float32, "DOUBLE": t.float64, "VARCHAR": t.string, "BLOB": t.binary, "DATE": t.date,
    "TIMESTAMP": t.timestamp, "TIME": t.time,
}  # fmt: skip
SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
INTEGERS = (*SIGNED, *UNSIGNED, "HUGEINT")


@dataclass(frozen=True)
class SqlType:
    """A type of DuckDB's. width, scale: of DECIMAL. `strange`: it has properties that are not known by name, as an
    alias, a collation or parts; nothing is computed on it."""

    id: str
    width: int = 0
    scale: int = 0
    strange: bool = False

    @property
    def carrier(self) -> DataType:
        """The type of its values in a dataflow. Raises Stays."""
        if not self.strange:
            if self.id == "DECIMAL":
                return t.decimal(self.width, self.scale)
            if self.id in _CARRIERS:
                return _CARRIERS[self.id]
        raise Stays(f"type {self} is not offloaded")

    @property
    def is_carried(self) -> bool:
        """Return whether it has a carrier."""
        return not self.strange and (self.id == "DECIMAL" or self.id in _CARRIERS)

    def __str__(self) -> str:
        return f"DECIMAL({self.width},{self.scale})" if self.id == "DECIMAL" else self.id


BOOLEAN, BIGINT, DOUBLE = SqlType("BOOLEAN"), SqlType("BIGINT"), SqlType("DOUBLE")


def read_type(data: Any) -> SqlType:
    """A type in a plan. Raises Stays."""
    if not isinstance(data, dict) or data.keys() != {"id", "type_info"}:
        raise Stays("a type is written in a way that is not known")
    info = data["type_info"]
    if info is None:
        return SqlType(str(data["id"]), strange=data["id"] == "DECIMAL")
    expected = {"type": "DECIMAL_TYPE_INFO", "alias": "", "extension_info": None}
    if data["id"] == "DECIMAL" and info == {**info, **expected} and info.keys() == {*expected, "width", "scale"}:
        return SqlType("DECIMAL", info["width"], info["scale"])
    return SqlType(str(data["id"]), strange=True)


def read_literal(data: Any) -> tuple[SqlType, Literal]:
    """A constant in a plan, with DuckDB's type. Raises Stays."""
    if not isinstance(data, dict) or not data.keys() <= {"type", "is_null", "value"} or "is_null" not in data:
        raise Stays("a constant is written in a way that is not known")
    type = read_type(data["type"])
    carrier = type.carrier
    if data["is_null"]:
        return type, Literal(carrier.with_nullable(True), None)
    try:
        value = _value(type, carrier, data["value"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Stays(f"a constant of type {type} is written in a way that is not known: {error}") from None
    return type, Literal(carrier.with_nullable(False), value)


def _value(type: SqlType, carrier: DataType, value: Any) -> Value:
    if type.id in INTEGERS or type.id == "DECIMAL":
        number = whole_number(value)
        if carrier.kind != "decimal":
            return number
        if abs(number) >= 10**carrier.precision:
            raise Stays(f"a constant of type {type} has more than {carrier.precision} digits")
        return pydecimal.Decimal(number).scaleb(-type.scale, pydecimal.Context(prec=60))
    if carrier.is_float:
        if not isinstance(value, int | float):
            raise ValueError(repr(value))
        return float(value)
    if type.id == "DATE":
        return _EPOCH + datetime.timedelta(days=whole_number(value))
    if type.id == "TIMESTAMP":
        return _START + datetime.timedelta(microseconds=whole_number(value))
    if type.id == "BOOLEAN" and isinstance(value, bool):
        return value
    if type.id == "VARCHAR" and isinstance(value, str):
        return value
    raise ValueError(repr(value))


def whole_number(value: Any) -> int:
    """A whole number, which may have 128 bits. Raises ValueError."""
    if isinstance(value, dict) and value.keys() == {"upper", "lower"}:
        return (int(value["upper"]) << 64) + int(value["lower"])
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(repr(value))
    return value
