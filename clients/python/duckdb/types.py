"""DuckDB's types, and the types in which their values travel through a dataflow."""

from __future__ import annotations

import datetime
import decimal as pydecimal
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb
from duckdb.sqltypes import DuckDBPyType

from jumpgate.client.duckdb.reasons import Stays
from jumpgate.dataflow import types as t
from jumpgate.dataflow.expressions import Literal, Value
from jumpgate.dataflow.types import DataType, Field

_EPOCH = datetime.date(1970, 1, 1)
_START = datetime.datetime(1970, 1, 1)
#: microseconds
_DAY = 86_400_000_000
#: bytes as DuckDB writes them, and one that is no letter
_BYTES, _BYTE = re.compile(r"([ -\[\]-~]|\\x[0-9A-F]{2})*"), re.compile(r"\\x([0-9A-F]{2})")
#: DuckDB's name of moments, which people see in the session's zone
ZONED = "TIMESTAMP WITH TIME ZONE"
#: widest integers first are carried by decimals: values beyond 38 digits end a job, and DuckDB answers. Moments are
#: counted in UTC, and coarse timestamps in microseconds
_CARRIERS: Mapping[str, DataType] = {
    "BOOLEAN": t.bool_, "TINYINT": t.int8, "SMALLINT": t.int16, "INTEGER": t.int32, "BIGINT": t.int64,
    "UTINYINT": t.int16, "USMALLINT": t.int32, "UINTEGER": t.int64, "UBIGINT": t.decimal(20), "HUGEINT": t.decimal(38),
    "FLOAT": t.float32, "DOUBLE": t.float64, "VARCHAR": t.string, "BLOB": t.binary, "DATE": t.date, "TIME": t.time,
    "TIMESTAMP": t.timestamp, "TIMESTAMP_S": t.timestamp, "TIMESTAMP_MS": t.timestamp, "TIMESTAMP_NS": t.timestamp_ns,
    ZONED: t.timestamptz("UTC"),
}  # fmt: skip
#: only passed on, compared or tested for NULL: bytes in the order of UUIDs, numbers of an ENUM's values, and an
#: INTERVAL's parts, which are not compared, as DuckDB takes 30 days for a month
_PASSED: Mapping[str, DataType] = {
    "UUID": t.binary, "ENUM": t.int32,
    "INTERVAL": t.struct(Field("months", t.int32), Field("days", t.int32), Field("micros", t.int64)),
}  # fmt: skip
SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
INTEGERS = (*SIGNED, *UNSIGNED, "HUGEINT")
NESTED = ("STRUCT", "LIST", "MAP")
#: microseconds of the unit that a type counts
MICROS = {"TIMESTAMP": 1, "TIMESTAMP_MS": 1000, "TIMESTAMP_S": 1_000_000, ZONED: 1}


@dataclass(frozen=True)
class SqlType:
    """A type of DuckDB's. width, scale: of DECIMAL. parts: a struct's fields, a list's element, a map's key and value,
    with their names. values: of an ENUM, in their order. `strange`: it has properties that are not known by name, as an
    alias or a collation; nothing is computed on it."""

    id: str
    width: int = 0
    scale: int = 0
    strange: bool = False
    parts: tuple[tuple[str, SqlType], ...] = ()
    values: tuple[str, ...] = ()

    @property
    def carrier(self) -> DataType:
        """The type of its values in a dataflow. Raises Stays."""
        if not self.strange:
            if self.id == "DECIMAL":
                return t.decimal(self.width, self.scale)
            if self.id in _CARRIERS:
                return _CARRIERS[self.id]
            if self.parts:
                return _nested(self)
            if self.is_passed:
                return _PASSED[self.id]
        raise Stays(f"type {self} is not offloaded")

    @property
    def is_carried(self) -> bool:
        """Return whether it has a carrier, of values that are not nested."""
        return not self.strange and (self.id == "DECIMAL" or self.id in _CARRIERS)

    @property
    def is_passed(self) -> bool:
        """Return whether its values have a form of their own in a dataflow, in which only some things are done."""
        return not self.strange and self.id in _PASSED

    def __str__(self) -> str:
        if self.id == "DECIMAL":
            return f"DECIMAL({self.width},{self.scale})"
        if self.values:
            return "ENUM({})".format(", ".join("'{}'".format(value.replace("'", "''")) for value in self.values))
        return _text(self) if self.parts else self.id


BOOLEAN, BIGINT, DOUBLE = SqlType("BOOLEAN"), SqlType("BIGINT"), SqlType("DOUBLE")


def _nested(type: SqlType) -> DataType:
    if passed := [part for _, part in type.parts if part.is_passed]:
        raise Stays(f"type {type} is not offloaded: it has parts of type {passed[0]}")
    carriers = [(name, part.carrier) for name, part in type.parts]
    try:
        if type.id == "STRUCT":
            return t.struct(*(Field(name, carrier) for name, carrier in carriers))
        return t.list_(carriers[0][1]) if type.id == "LIST" else t.map_(carriers[0][1], carriers[1][1])
    except ValueError as error:
        raise Stays(f"type {type} is not offloaded: {error}") from None


@lru_cache(1024)
def _text(type: SqlType) -> str:
    """Return a nested type as DuckDB writes it, which knows the names that are in quotes. Raises Stays."""
    try:
        return str(_native(type))
    except duckdb.Error as error:  # of parts that are no types by their names, as ARRAY
        raise Stays(f"a type {type.id} has parts that are not known: {error}") from None


def _native(type: SqlType) -> DuckDBPyType:
    if type.id == "STRUCT":
        return DuckDBPyType({name: _native(part) for name, part in type.parts})
    if type.parts:
        inner = [_native(part) for _, part in type.parts]
        return duckdb.list_type(*inner) if type.id == "LIST" else duckdb.map_type(*inner)
    return DuckDBPyType(str(type))


def read_type(data: Any) -> SqlType:
    """A type in a plan. Raises Stays."""
    if not isinstance(data, dict) or data.keys() != {"id", "type_info"}:
        raise Stays("a type is written in a way that is not known")
    id, info = str(data["id"]), data["type_info"]
    if info is None:
        return SqlType(id, strange=id in ("DECIMAL", "ENUM", *NESTED))
    named = {"alias": "", "extension_info": None}
    if isinstance(info, dict) and {**info, **named} == info and id in _INFOS:
        kind, names, read = _INFOS[id]
        if info.get("type") == kind and info.keys() == {"type", *named, *names}:
            return read(id, info)
    return SqlType(id, strange=True)


def _struct(id: str, info: Any) -> SqlType:
    parts = tuple((str(part["first"]), read_type(part["second"])) for part in info["child_types"])
    names = {name for name, _ in parts}
    if len(names) < len(parts) or "" in names or not parts or any(part.strange for _, part in parts):
        return SqlType(id, strange=True)
    return SqlType(id, parts=parts)


def _list(id: str, info: Any) -> SqlType:
    element = read_type(info["child_type"])
    if element.strange:
        return SqlType(id, strange=True)
    if id == "LIST":
        return SqlType(id, parts=(("element", element),))
    if [name for name, _ in element.parts] != ["key", "value"]:
        raise Stays("a MAP is written in a way that is not known")
    return SqlType(id, parts=element.parts)


def _enum(id: str, info: Any) -> SqlType:
    values = tuple(map(str, info["values"]))
    return SqlType(id, values=values, strange=len(values) != info["values_count"] or not values)


#: the name and the own fields of a type's properties, and what reads them
_INFOS: Mapping[str, tuple[str, tuple[str, ...], Callable[[str, Any], SqlType]]] = {
    "DECIMAL": ("DECIMAL_TYPE_INFO", ("width", "scale"), lambda id, info: SqlType(id, info["width"], info["scale"])),
    "STRUCT": ("STRUCT_TYPE_INFO", ("child_types",), _struct),
    "LIST": ("LIST_TYPE_INFO", ("child_type",), _list),
    "MAP": ("LIST_TYPE_INFO", ("child_type",), _list),
    "ENUM": ("ENUM_TYPE_INFO", ("values_count", "values"), _enum),
}


def read_literal(data: Any) -> tuple[SqlType, Literal]:
    """A constant in a plan, with DuckDB's type. Raises Stays."""
    if not isinstance(data, dict) or not data.keys() <= {"type", "is_null", "value"} or "is_null" not in data:
        raise Stays("a constant is written in a way that is not known")
    type = read_type(data["type"])
    carrier = type.carrier
    if data["is_null"]:
        return type, Literal(carrier.with_nullable(True), None)
    if carrier.is_nested:
        raise Stays(f"a constant of type {type} is not offloaded")
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
    if type.id in MICROS:
        return _START + datetime.timedelta(microseconds=whole_number(value) * MICROS[type.id])
    if type.id == "TIMESTAMP_NS" or (type.id == "ENUM" and 0 <= whole_number(value) < len(type.values)):
        return whole_number(value)
    if type.id == "UUID":
        return uuid_bytes(value)
    if type.id == "TIME" and 0 <= whole_number(value) < _DAY:
        return (_START + datetime.timedelta(microseconds=value)).time()
    if type.id == "BLOB" and isinstance(value, str) and _BYTES.fullmatch(value):
        return _BYTE.sub(lambda found: chr(int(found[1], 16)), value).encode("latin-1")
    if type.id == "BOOLEAN" and isinstance(value, bool):
        return value
    if type.id == "VARCHAR" and isinstance(value, str):
        return value
    raise ValueError(repr(value))


def uuid_bytes(value: Any) -> bytes:
    """A UUID, which DuckDB has as a number of 128 bits with the sign turned. Raises ValueError, OverflowError."""
    return (whole_number(value) + (1 << 127)).to_bytes(16, "big")


def whole_number(value: Any) -> int:
    """A whole number, which may have 128 bits. Raises ValueError."""
    if isinstance(value, dict) and value.keys() == {"upper", "lower"}:
        return (int(value["upper"]) << 64) + int(value["lower"])
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(repr(value))
    return value
