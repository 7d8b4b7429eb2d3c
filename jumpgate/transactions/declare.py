"""Declares transactions as typed Python functions: each is called once, with symbols, and what it does is kept.

    @database.declare
    def transfer(source: int, target: int, amount: int) -> Value:
        sql("INSERT INTO history VALUES (%s, %s)", source, amount)
        left = add("accounts", source, "balance", -amount)
        require(left >= 0)
        add("accounts", target, "balance", amount)
        return left

    outcome = transfer(1, 2, 50)

While the function is traced, an argument is an `Expression`. A value in the switch is a `Value`: what a step sees, and
what is added to it. What the switch cannot do is refused with a reason then, not when the transaction is executed.
"""

from __future__ import annotations

import contextvars
import inspect
import operator
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from jumpgate.errors import InvalidDataflow
from jumpgate.p4.programs.transactions import INSTRUCTIONS_MAX
from jumpgate.transactions.steps import Step

if TYPE_CHECKING:
    from jumpgate.transactions.coordinator import Coordinator, Outcome

NUMBER = "number()"


class _Symbol:
    """Stands for something that is not known while a function is traced; `text` is how a reason names it."""

    text: str

    def _refuse(self, *_: object) -> NoReturn:
        raise InvalidDataflow(
            f"{self.text} decides what is done: a transaction is traced once, for all arguments. Decide before it is "
            "called, and declare a transaction for each case"
        )

    __bool__ = __iter__ = __len__ = __index__ = __eq__ = __ne__ = _refuse
    __str__ = __format__ = _refuse  # a text would have the symbol's name for good
    __hash__ = None  # type: ignore[assignment]


class Expression(_Symbol):
    """Computes a number or another value from the arguments of a call."""

    def __init__(self, evaluate: Callable[[Mapping[str, Any]], Any], text: str) -> None:
        self.evaluate, self.text = evaluate, text

    def __add__(self, other: int | Expression) -> Expression:
        return Expression(lambda given: self.evaluate(given) + valued(other, given), f"({self.text} + {named(other)})")

    def __sub__(self, other: int | Expression) -> Expression:
        return Expression(lambda given: self.evaluate(given) - valued(other, given), f"({self.text} - {named(other)})")

    def __mul__(self, other: int | Expression) -> Expression:
        return Expression(lambda given: self.evaluate(given) * valued(other, given), f"{self.text} * {named(other)}")

    def __rsub__(self, other: int) -> Expression:
        return -self + other

    def __neg__(self) -> Expression:
        return self * -1

    __radd__, __rmul__ = __add__, __mul__
    __lt__ = __le__ = __gt__ = __ge__ = _Symbol._refuse


@dataclass(frozen=True, eq=False)
class Condition(_Symbol):
    """Holds if a value in the switch is so much at least. `require` it."""

    value: Value
    bound: int | Expression

    @property
    def text(self) -> str:  # type: ignore[override]
        return f"'{self.value.text} >= {named(self.bound)}'"


@dataclass(frozen=True, eq=False)
class Value(_Symbol):
    """A value in the switch as a step saw it, and `more`."""

    step: int
    text: str
    more: int | Expression = 0

    def __add__(self, other: int | Expression) -> Value:
        if isinstance(other, Value):
            raise InvalidDataflow(f"{self.text} and {other.text} are computed with each other: return both instead")
        return replace(self, more=self.more + other)

    def __sub__(self, other: int | Expression) -> Value:
        if isinstance(other, Value):
            raise InvalidDataflow(f"{self.text} and {other.text} are computed with each other: return both instead")
        return replace(self, more=self.more - other)

    def __ge__(self, bound: int | Expression) -> Condition:
        if isinstance(bound, Value):
            raise InvalidDataflow(f"{self.text} is compared with {bound.text}: the switch compares with a bound")
        return Condition(self, bound)

    def __gt__(self, bound: int | Expression) -> Condition:
        return self >= bound + 1

    def _uncompared(self, _: object) -> NoReturn:
        raise InvalidDataflow(f"{self.text} is compared: the switch requires that a value is >= or > a bound")

    __radd__ = __add__
    __lt__ = __le__ = __eq__ = __ne__ = _uncompared  # type: ignore[assignment]
    __hash__ = None


def valued(what: Any, given: Mapping[str, Any]) -> Any:
    """Return what an expression is for these arguments; anything else is what it is."""
    return what.evaluate(given) if isinstance(what, Expression) else what


def named(what: Any) -> str:
    return what.text if isinstance(what, _Symbol) else repr(what)


@dataclass
class _Wanted:
    """A step, with expressions."""

    table: str
    key: Any
    column: str
    server: str
    amount: Any = 0
    sets: bool = False
    at_least: Any = None


@dataclass
class _Trace:
    database: Coordinator
    steps: list[_Wanted] = field(default_factory=list)
    statements: list[tuple[str, tuple[Any, ...], str]] = field(default_factory=list)
    is_numbered: bool = False

    def step(self, wanted: _Wanted) -> Value:
        for what, is_key in ((wanted.key, True), (wanted.amount, False)):
            if isinstance(what, Value):
                raise InvalidDataflow(
                    f"{'the row' if is_key else 'the amount'} of {wanted.table}.{wanted.column} depends on "
                    f"{what.text}: read it in a transaction of its own, and give it as an argument"
                )
        self.database.relation(wanted.table, wanted.server)
        self.steps.append(wanted)
        if len(self.steps) > INSTRUCTIONS_MAX:
            raise InvalidDataflow(
                f"a transaction has more than {INSTRUCTIONS_MAX} steps in the switch: release some of its rows, and "
                "change them by SQL"
            )
        return Value(len(self.steps) - 1, f"{wanted.table}[{named(wanted.key)}].{wanted.column}")


_TRACE: contextvars.ContextVar[_Trace] = contextvars.ContextVar("trace")


def _current(verb: str) -> _Trace:
    found = _TRACE.get(None)
    if found is None:
        raise InvalidDataflow(f"{verb}() belongs into a function that a database declares: `@database.declare`")
    return found


def read(table: str, key: Any, column: str, server: str = "") -> Value:
    """Read a value in the switch."""
    return _current("read").step(_Wanted(table, key, column, server))


def add(table: str, key: Any, column: str, amount: int | Expression, server: str = "") -> Value:
    """Add to a value in the switch; return the sum."""
    return _current("add").step(_Wanted(table, key, column, server, amount)) + amount


def write(table: str, key: Any, column: str, value: int | Expression, server: str = "") -> Value:
    """Set a value in the switch; return what was there before."""
    return _current("write").step(_Wanted(table, key, column, server, value, sets=True))


def require(condition: Condition) -> None:
    """Let nothing of the transaction be done unless the condition holds: there is one."""
    trace = _current("require")
    if not isinstance(condition, Condition):
        raise InvalidDataflow(
            f"require({named(condition)}) is no condition on a value in the switch: check it before the transaction"
        )
    first = next((s for s in trace.steps if s.at_least is not None), None)
    if first is not None:
        raise InvalidDataflow(
            f"{first.table}[{named(first.key)}].{first.column} and {condition.text} are both required: a transaction "
            "in the switch has one requirement. Release the row of one of them, and check it by SQL"
        )
    value, step = condition.value, trace.steps[condition.value.step]
    step.at_least = condition.bound - value.more + (0 if step.sets else step.amount)


def sql(statement: str, *parameters: Any, server: str = "") -> None:
    """Execute SQL in PostgreSQL, with %s for parameters; `server`: one of the further servers."""
    trace = _current("sql")
    trace.database.transaction().sql(statement, (), server)
    hot = next((p for p in parameters if isinstance(p, Value)), None)
    if hot is not None:
        raise InvalidDataflow(
            f"'{statement}' needs {hot.text}, which the switch tells only after PostgreSQL is done: offload the rows "
            "that it changes, too, or release that value, so that the transaction is cold. Or join with "
            "jumpgate.outcomes on number()"
        )
    trace.statements.append((statement, parameters, server))


def number() -> Expression:
    """Return the transaction's number, under which `jumpgate.outcomes` is given what its steps saw."""
    _current("number").is_numbered = True
    return Expression(lambda given: given[NUMBER], NUMBER)


class Declared:
    """A transaction that was traced. Call it with the function's arguments; `outcome.value` is what that returns."""

    def __init__(self, database: Coordinator, function: Callable[..., Any]) -> None:
        self.database, self.name = database, function.__name__
        self._signature = inspect.signature(function)
        hints = typing.get_type_hints(function)
        untyped = [name for name in self._signature.parameters if name not in hints]
        if untyped:
            raise InvalidDataflow(f"{self.name}: parameter '{untyped[0]}' has no type: annotate it")
        self._types = {name: hints[name] for name in self._signature.parameters}
        trace = _Trace(database)
        token = _TRACE.set(trace)
        try:
            symbols = [Expression(operator.itemgetter(name), name) for name in self._signature.parameters]
            self._returned = function(*symbols)
        except InvalidDataflow as error:
            raise InvalidDataflow(f"{self.name}: {error}") from error
        except TypeError as error:
            raise InvalidDataflow(f"{self.name}: {error}: arguments are computed with +, - and *") from error
        finally:
            _TRACE.reset(token)
        self._trace = trace

    def __call__(self, *positional: Any, **named: Any) -> Outcome:
        """Execute it, as `Coordinator.commit` does."""
        bound = self._signature.bind(*positional, **named)
        bound.apply_defaults()
        given = bound.arguments
        for name, type_ in self._types.items():
            if isinstance(type_, type) and not isinstance(given[name], type_):
                raise InvalidDataflow(f"{self.name}: {name} is {given[name]!r}, and no {type_.__name__}")
        transaction = self.database.transaction()
        if self._trace.is_numbered:
            given[NUMBER] = transaction.number
        for statement, parameters, server in self._trace.statements:
            transaction.sql(statement, [valued(p, given) for p in parameters], server)
        for s in self._trace.steps:
            hot = self.database.name(s.table, valued(s.key, given), s.column, s.server)
            at_least = valued(s.at_least, given)
            transaction.steps.append(Step(hot, valued(s.amount, given), s.sets, at_least))
        outcome = self.database.commit(transaction)
        return replace(outcome, value=_resolved(self._returned, outcome.values, given) if outcome.done else None)


def _resolved(returned: Any, values: Sequence[int | None], given: Mapping[str, Any]) -> Any:
    """Return what a function returned, with numbers for symbols."""
    if isinstance(returned, tuple):
        return tuple(_resolved(each, values, given) for each in returned)
    if isinstance(returned, Value):
        seen = values[returned.step]
        assert seen is not None
        return seen + valued(returned.more, given)
    return valued(returned, given)
