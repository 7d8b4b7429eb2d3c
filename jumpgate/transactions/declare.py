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
    from jumpgate.transactions.coordinator import Coordinator, Outcome, Transaction

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
    """Computes a number or another value from the arguments of a call, and from what the steps in `needs` saw."""

    def __init__(
        self, evaluate: Callable[[Mapping[Any, Any]], Any], text: str, needs: frozenset[int] = frozenset()
    ) -> None:  # fmt: skip
        self.evaluate, self.text, self.needs = evaluate, text, needs

    def _with(self, other: Any, compute: Callable[[Any, Any], Any], text: str) -> Expression:
        operand = other.expression() if isinstance(other, Value) else other
        needs = self.needs | needed(operand)
        return Expression(lambda given: compute(self.evaluate(given), valued(operand, given)), text, needs)

    def __add__(self, other: int | Expression | Value) -> Expression:
        return self._with(other, operator.add, f"({self.text} + {named(other)})")

    def __sub__(self, other: int | Expression | Value) -> Expression:
        return self._with(other, operator.sub, f"({self.text} - {named(other)})")

    def __mul__(self, other: int | Expression | Value) -> Expression:
        return self._with(other, operator.mul, f"{self.text} * {named(other)}")

    def __rsub__(self, other: int) -> Expression:
        return -self + other

    def __neg__(self) -> Expression:
        return self * -1

    def __ge__(self, bound: int | Expression | Value) -> Condition:
        if not (self - bound).needs:
            self._refuse()
        return Condition(self - bound, 0)

    def __gt__(self, bound: int | Expression | Value) -> Condition:
        return self >= bound + 1

    __radd__, __rmul__ = __add__, __mul__
    __lt__ = __le__ = _Symbol._refuse


@dataclass(frozen=True, eq=False)
class Condition(_Symbol):
    """Holds if a value in the switch, or what is computed from some, is so much at least. `require` it."""

    value: Value | Expression
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

    def expression(self) -> Expression:
        """Return what is computed with it."""
        return Expression(operator.itemgetter(self.step), self.text, frozenset([self.step])) + self.more

    def __add__(self, other: int | Expression | Value) -> Any:
        if isinstance(other, Value) or needed(other):
            return self.expression() + other
        return replace(self, more=self.more + other)

    def __sub__(self, other: int | Expression | Value) -> Any:
        return self + -other

    def __rsub__(self, other: int | Expression) -> Expression:
        return -self + other

    def __mul__(self, other: int | Expression | Value) -> Expression:
        return self.expression() * other

    def __neg__(self) -> Expression:
        return -self.expression()

    def __ge__(self, bound: int | Expression | Value) -> Condition:
        if isinstance(bound, Value) or needed(bound):
            return self.expression() >= bound
        return Condition(self, bound)

    def __gt__(self, bound: int | Expression | Value) -> Condition:
        return self >= bound + 1

    def _uncompared(self, _: object) -> NoReturn:
        raise InvalidDataflow(f"{self.text} is compared: the switch requires that a value is >= or > a bound")

    __radd__, __rmul__ = __add__, __mul__
    __lt__ = __le__ = __eq__ = __ne__ = _uncompared  # type: ignore[assignment]
    __hash__ = None


def valued(what: Any, given: Mapping[Any, Any]) -> Any:
    """Return what an expression is for these arguments; anything else is what it is."""
    return what.evaluate(given) if isinstance(what, Expression) else what


def needed(what: Any) -> frozenset[int]:
    """Return the steps whose values something is computed from."""
    return what.needs if isinstance(what, Expression) else frozenset()


def named(what: Any) -> str:
    return what.text if isinstance(what, _Symbol) else repr(what)


def _computed(what: Any) -> Any:
    return what.expression() if isinstance(what, Value) else what


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
    conditions: list[Expression] = field(default_factory=list)
    is_numbered: bool = False

    @property
    def needs(self) -> frozenset[int]:
        """The steps whose values amounts, statements or conditions are computed from: they are read first."""
        computed = [s.amount for s in self.steps] + [p for _, parameters, _ in self.statements for p in parameters]
        found = frozenset[int]().union(*map(needed, (*computed, *self.conditions)))
        return found | {at for at, s in enumerate(self.steps) if s.at_least is not None} if found else found

    def step(self, wanted: _Wanted) -> Value:
        if isinstance(wanted.key, Value) or needed(wanted.key):
            raise InvalidDataflow(
                f"the row of {wanted.table}.{wanted.column} depends on {wanted.key.text}: read it in a transaction of "
                "its own, and give it as an argument"
            )
        wanted.amount = _computed(wanted.amount)
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


def add(table: str, key: Any, column: str, amount: int | Expression | Value, server: str = "") -> Any:
    """Add to a value in the switch; return the sum. An amount may be computed from values that were read."""
    return _current("add").step(_Wanted(table, key, column, server, amount)) + amount


def write(table: str, key: Any, column: str, value: int | Expression | Value, server: str = "") -> Value:
    """Set a value in the switch; return what was there before."""
    return _current("write").step(_Wanted(table, key, column, server, value, sets=True))


def require(condition: Condition) -> None:
    """Let nothing of the transaction be done unless the condition holds."""
    trace = _current("require")
    if not isinstance(condition, Condition):
        raise InvalidDataflow(
            f"require({named(condition)}) is no condition on a value in the switch: check it before the transaction"
        )
    value = condition.value
    if isinstance(value, Expression):
        trace.conditions.append(value)
        return
    step = trace.steps[value.step]
    if step.at_least is not None:
        raise InvalidDataflow(f"{value.text} is required twice: require the greater bound")
    step.at_least = condition.bound - value.more + (0 if step.sets else step.amount)


def sql(statement: str, *parameters: Any, server: str = "") -> None:
    """Execute SQL in PostgreSQL, with %s for parameters; `server`: one of the further servers."""
    trace = _current("sql")
    trace.database.transaction().sql(statement, (), server)
    trace.statements.append((statement, tuple(map(_computed, parameters)), server))


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
        outcome = self._compute(given) if self._trace.needs else self._commit(given)
        return outcome._replace(value=_resolved(self._returned, given) if outcome.done else None)

    def _commit(self, given: dict[Any, Any]) -> Outcome:
        """Execute it in one packet; put into `given` what its steps saw."""
        transaction = self.database.transaction()
        self._state(transaction, given)
        for s in self._trace.steps:
            self._step(transaction, s, given)
        outcome = self.database.commit(transaction)
        given.update(enumerate(outcome.values))
        return outcome

    def _state(self, transaction: Transaction, given: dict[Any, Any]) -> None:
        """Add the statements."""
        if self._trace.is_numbered:
            given[NUMBER] = transaction.number
        for statement, parameters, server in self._trace.statements:
            transaction.sql(statement, [valued(p, given) for p in parameters], server)

    def _step(self, transaction: Transaction, s: _Wanted, given: Mapping[Any, Any]) -> Step:
        hot = self.database.name(s.table, valued(s.key, given), s.column, s.server)
        made = Step(hot, valued(s.amount, given), s.sets, valued(s.at_least, given))
        transaction.steps.append(made)
        return made

    def _compute(self, given: dict[Any, Any]) -> Outcome:
        """Read what it is computed from, then execute it if that is the same still."""
        steps, places = self._trace.steps, dict[int, int]()
        wanted = dict.fromkeys(
            (s.table, valued(s.key, given), s.column, s.server) for at, s in enumerate(steps) if at in self._trace.needs
        )

        def build(transaction: Transaction, values: Sequence[int]) -> bool:
            names = [self.database.name(*of) for of in wanted]
            now = dict(zip(names, values, strict=True))
            for at, s in enumerate(steps):
                made = self._step(transaction, s, given)
                old = now.get(made.name)
                if old is None:
                    places[at] = len(transaction.steps) - 1
                    continue
                given[at] = old
                now[made.name] = made.amount if made.sets else old + made.amount
                if made.at_least is not None and now[made.name] < made.at_least:
                    return False
                transaction.steps.pop()
                if made.sets or made.amount:
                    transaction.steps.append(made._replace(at_least=None))
            self._state(transaction, given)
            return all(valued(condition, given) >= 0 for condition in self._trace.conditions)

        outcome = self.database.compute(list(wanted), build)
        if not outcome.done:
            return outcome
        given.update((at, outcome.values[place]) for at, place in places.items())
        return outcome._replace(values=tuple(given[at] for at in range(len(steps))))


def _resolved(returned: Any, given: Mapping[Any, Any]) -> Any:
    """Return what a function returned, with numbers for symbols."""
    if isinstance(returned, tuple):
        return tuple(_resolved(each, given) for each in returned)
    return valued(_computed(returned), given)
