"""Every scalar function by name: those of functions_*.py, and those of installed packages.

Types are exact: `Function.operands` says to which types the arguments must be cast before the call (the builder
inserts the casts), `Function.result` what the call then has. `bind` does both, `check` verifies a call that came from
outside.

A package adds a function by an entry point of the group `jumpgate.functions`, `name = "package.module:object"`.
Packages are looked at when a name is asked for that is not built in.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from jumpgate import plugins
from jumpgate.dataflow import reference
from jumpgate.dataflow.casts import TypeMismatch, cast_type, cast_value
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Call, Cast, Expression, Literal, Value
from jumpgate.dataflow.function import GROUP, Function, Types
from jumpgate.dataflow.functions_core import CORE
from jumpgate.dataflow.functions_hash import HASHES
from jumpgate.dataflow.functions_list import LISTS
from jumpgate.dataflow.functions_math import MATH
from jumpgate.dataflow.functions_regex import REGEX
from jumpgate.dataflow.functions_text import TEXT
from jumpgate.dataflow.functions_time import TIME
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.signatures import Exactly
from jumpgate.dataflow.types import DataType
from jumpgate.errors import ComputeError, ConfigError

#: title → the declarations, as docs/functions.md has them
SECTIONS = {
    "Comparison, logic, arithmetic, text and dates": CORE,
    "Numbers": MATH,
    "Text": TEXT,
    "Hashes": HASHES,
    "Regular expressions": REGEX,
    "Lists": LISTS,
    "Dates and timestamps": TIME,
}


def by_name(functions: Iterable[Function], of: str = "name") -> Mapping[str, Function]:
    """Declarations by their names of one kind: `name`, `sql` or `substrait`. Raises ConfigError if two share one."""
    found: dict[str, Function] = {}
    for function in functions:
        names = getattr(function, of)
        for name in (names,) if isinstance(names, str) else names:
            if name in found:
                raise ConfigError(f"functions {found[name].name!r} and {function.name!r} are both called {name!r}")
            found[name] = function
    return MappingProxyType(found)


#: name → declaration of each function that is built in
BUILT_IN = by_name(f for section in SECTIONS.values() for f in section)


@functools.cache
def built_in(of: str) -> Mapping[str, Function]:
    """Return the built-in functions by their names of another kind."""
    return by_name(BUILT_IN.values(), of)


@functools.cache
def installed(of: str = "name") -> Mapping[str, Function]:
    """The functions of installed packages; looked for once a process. A defective one does not take the others down."""
    return by_name(_packages()[0], of)


def known(name: str, of: str = "name") -> Function | None:
    """The declaration with that name of a kind, built in or installed. Raises ConfigError for a defective package's."""
    found = built_in(of).get(name) or installed(of).get(name)
    if found is None and name in (problems := _packages()[1]):
        raise problems[name]
    return found


@functools.cache
def _packages() -> tuple[tuple[Function, ...], Mapping[str, ConfigError]]:
    """Return the functions that installed packages declare, and the errors of unusable ones, by name."""
    return plugins.declared(GROUP, "function", _complete)


def _complete(name: str, function: object, found: tuple[Function, ...]) -> Function:
    """Return the declaration of a package; raise ConfigError if it lacks what only Jumpgate's own may omit, or shares a
    name of any kind with another."""
    if not isinstance(function, Function) or function.name != name:
        raise ConfigError(f"it must be a jumpgate.dataflow.function.Function named {name!r}")
    if not function.cpp:
        raise ConfigError("it has no `cpp`")
    if function.literals or function.shape:
        raise ConfigError("its arguments cannot be literals only")
    wanted = function.operands.wanted if isinstance(function.operands, Exactly) else ()
    if function.sql and function.arity != (len(wanted), len(wanted)):
        raise ConfigError("SQL finds functions by types: its operands must be `exactly` so many")
    for names in ("name", "sql", "substrait"):
        by_name((*BUILT_IN.values(), *found, function), names)
    return function


def find(name: str) -> Function:
    """The declaration of `name`; raises TypeMismatch with a suggestion."""
    function = known(name)
    if function is None:
        close = difflib.get_close_matches(name, (*BUILT_IN, *installed()), 1)
        raise TypeMismatch(f"unknown function {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    return function


#: functions that do not inspect a value, and those that take nested ones apart or make them
_OF_NESTED = frozenset(("is_null", "is_not_null", "coalesce", *(f.name for f in LISTS)))


def bind(name: str, args: tuple[Expression, ...]) -> Call:
    """A well-typed call: implicit casts inserted, result type computed. Raises TypeMismatch with the reason."""
    function = find(name)
    _check_shape(function, args)
    wanted = function.operands(tuple(a.type for a in args))
    cast = tuple(cast_to(a, t) for a, t in zip(args, wanted, strict=True))
    return Call(function.type_of(cast), name, cast)


def check(call: Call) -> None:
    """Raise TypeMismatch unless `call` is what `bind` makes of its arguments."""
    function = find(call.function)
    _check_shape(function, call.args)
    types = tuple(a.type for a in call.args)
    for i, (have, want) in enumerate(zip(types, function.operands(types), strict=True)):
        if not have.same(want):
            raise TypeMismatch(f"{call.function}: argument {i + 1} is {have}, must be cast to {want}")
    if call.type != function.type_of(call.args):
        raise TypeMismatch(f"{call.function}: declared as {call.type}, its type is {function.type_of(call.args)}")


def cast_to(expression: Expression, target: DataType) -> Expression:
    """The expression as `target` (nullability aside): unchanged where it already is, literals converted now."""
    if expression.type.same(target):
        return expression
    if isinstance(expression, Literal):
        with contextlib.suppress(ComputeError):
            value = cast_value(expression.value, expression.type, target)
            return Literal(target.with_nullable(value is None), value)
    return Cast(cast_type(expression.type, target, "error"), expression)


def _check_shape(function: Function, args: tuple[Expression, ...]) -> None:
    nested = next((a.type for a in args if a.type.is_nested), None)
    if nested is not None and function.name not in _OF_NESTED:
        raise TypeMismatch(f"{function.name} takes no {nested.name}; name fields of it")
    least, most = function.arity
    if not (least <= len(args) and (most is None or len(args) <= most)):
        wanted = f"{least}" if least == most else f"{least} or more" if most is None else f"{least} to {most}"
        raise TypeMismatch(f"{function.name} takes {wanted} arguments, not {len(args)}")


def apply(name: str, types: Types, result: DataType, dialect: Dialect, values: tuple[Value, ...]) -> Value:
    """The oracle: the function's value for operands of `types`, with its NULL rule and the dialect applied."""
    function = find(name)
    if function.strict and any(v is None for v in values):
        return None
    return reference.guarded(function.body, Site(types, result, dialect), values)
