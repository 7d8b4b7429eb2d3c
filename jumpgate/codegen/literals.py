"""Literals as parameters of a generated program: text of the physical value, as the configuration carries it."""

from __future__ import annotations

import base64
import datetime
import decimal
from dataclasses import replace
from typing import Any

from jumpgate.codegen.program import InParameter, Null, Parameter, Program
from jumpgate.dataflow.casts import of_day
from jumpgate.dataflow.expressions import Call, Expression, InList, Literal, Value
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.functions import BUILT_IN, find
from jumpgate.dataflow.types import DataType, binary

_EPOCH = datetime.date(1970, 1, 1)
_EPOCH_TIME = datetime.datetime(1970, 1, 1)


def physical(value: Value, type: DataType) -> int | float | bytes:
    """Return the value as the runtime holds it: scaled integer, days, microseconds, bytes."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, decimal.Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        number = int("".join(map(str, digits))) * (-1 if sign else 1)
        shift = exponent + type.scale
        return number * int(10**shift) if shift >= 0 else number // int(10**-shift)
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH_TIME) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.time):
        return of_day(value)
    if isinstance(value, datetime.date):
        return (value - _EPOCH).days
    if isinstance(value, str):
        return value.encode()
    assert isinstance(value, int | float | bytes)
    return value


def text(value: Value, type: DataType) -> str:
    """Physical value as text; base64 for strings and binary; floats as hexadecimal, so that no bit is lost."""
    number = physical(value, type)
    if isinstance(number, bytes):
        return base64.b64encode(number).decode()
    if isinstance(number, float) or type.is_float:
        return float(number).hex()
    return str(number)


def scalar(value: Value, type: DataType) -> dict[str, Any]:
    """Return a parameter of the configuration."""
    return {"type": carrier(type), "value": text(value, type)}


def members(values: tuple[Value, ...], type: DataType) -> dict[str, Any]:
    """A list parameter: sorted (NaN last), distinct, NULLs removed."""
    found = sorted({physical(v, type) for v in values if v is not None}, key=lambda v: (v != v, v))
    kind = {"i": "list_int", "d": "list_wide", "f": "list_double", "f32": "list_double", "s": "list_text"}[member(type)]
    if kind == "list_text":
        return {"type": kind, "values": [base64.b64encode(v).decode() for v in found if isinstance(v, bytes)]}
    return {"type": kind, "values": [float(v).hex() if kind == "list_double" else str(v) for v in found]}


def member(type: DataType) -> str:
    """Return the member of JgParam that holds a value of this type."""
    if type.is_text:
        return "s"
    if type.is_float:
        return "f" if type.kind == "float64" else "f32"
    return "d" if type.width == 16 else "i"


def carrier(type: DataType) -> str:
    return {"i": "int", "d": "wide", "f": "double", "f32": "float", "s": "text"}[member(type)]


def parameterised(e: Expression, program: Program, alike: dict[Expression, Expression]) -> Expression:
    """Turn literals into parameters of the program (NULLs and a function's shape stay); note the functions of installed
    packages that the expression calls. alike: results for expressions, so that equal ones have the same parameters."""
    if isinstance(e, Literal):
        return Null(e.type) if e.value is None else Parameter(e.type, program.parameter(scalar(e.value, e.type)))
    if not e.children:
        return e
    if e not in alike:
        made = _parameterised(e, program, alike)
        if any(isinstance(x, Literal) and x.type.is_float and not x.value for x in e.walk()):
            return made  # zeros are equal, whatever their signs
        alike[e] = made
    return alike[e]


def _parameterised(e: Expression, program: Program, alike: dict[Expression, Expression]) -> Expression:
    if isinstance(e, InList):
        values = tuple(o.value for o in e.options)
        index = program.parameter(members(values, e.input.type))
        return InParameter(e.type, parameterised(e.input, program, alike), index, None in values)
    if isinstance(e, Call):
        function = find(e.function)
        if function.name not in BUILT_IN:
            program.installed[function.name] = function.cpp, function.cpp_source
        return replace(e, args=tuple(_argument(function, i, a, program, alike) for i, a in enumerate(e.args)))
    return e.with_children(tuple(parameterised(c, program, alike) for c in e.children))


def _argument(
    function: Function, i: int, argument: Expression, program: Program, alike: dict[Expression, Expression]
) -> Expression:
    if i in function.shape:
        return argument
    if function.encode is not None and i in function.literals and isinstance(argument, Literal):
        argument = Literal(binary.with_nullable(False), function.encode(argument.value))
    return parameterised(argument, program, alike)
