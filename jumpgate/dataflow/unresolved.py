"""User-facing expressions over column names, without types. `resolve.py` turns them into typed trees.

    col("price") * 2 > 10     (col("a") == 1) & ~col("b").is_null()      when(col("x") > 0).then("pos").otherwise("neg")

In expressions plain Python values are literals; columns are always `col(name)`. Where a column is expected (keys, sort,
select, the argument of a measure) a string is a column's name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.functions import BUILT_IN, find, installed, known
from jumpgate.dataflow.types import DataType, parse_type
from jumpgate.errors import InvalidDataflow

#: the most levels of nesting; a chain of & or | counts once
DEPTH_MAX = 100


@dataclass(frozen=True, eq=False)
class Unresolved:
    """An expression by column names. Operators build larger ones; nothing is checked until it meets a schema."""

    depth: int = field(default=1, init=False, repr=False)

    @property
    def parts(self) -> tuple[Unresolved, ...]:
        """Return the expressions of which it is made."""
        return ()

    def __post_init__(self) -> None:
        depth = 1 + max((p.depth for p in self.parts), default=0)
        if depth > DEPTH_MAX:
            raise InvalidDataflow(f"an expression nests more than {DEPTH_MAX} levels deep; split it with with_columns")
        object.__setattr__(self, "depth", depth)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a column expression has no truth value; use &, |, ~ and .isin() instead of and, or, not, in")

    def __eq__(self, other: object) -> Unresolved:  # type: ignore[override]
        return call("eq", self, other)

    def __ne__(self, other: object) -> Unresolved:  # type: ignore[override]
        return call("ne", self, other)

    def __lt__(self, other: object) -> Unresolved:
        return call("lt", self, other)

    def __le__(self, other: object) -> Unresolved:
        return call("le", self, other)

    def __gt__(self, other: object) -> Unresolved:
        return call("gt", self, other)

    def __ge__(self, other: object) -> Unresolved:
        return call("ge", self, other)

    def __and__(self, other: object) -> Unresolved:
        return _chain("and", self, other)

    def __rand__(self, other: object) -> Unresolved:
        return _chain("and", other, self)

    def __or__(self, other: object) -> Unresolved:
        return _chain("or", self, other)

    def __ror__(self, other: object) -> Unresolved:
        return _chain("or", other, self)

    def __invert__(self) -> Unresolved:
        return call("not", self)

    def __add__(self, other: object) -> Unresolved:
        return call("add", self, other)

    def __radd__(self, other: object) -> Unresolved:
        return call("add", other, self)

    def __sub__(self, other: object) -> Unresolved:
        return call("subtract", self, other)

    def __rsub__(self, other: object) -> Unresolved:
        return call("subtract", other, self)

    def __mul__(self, other: object) -> Unresolved:
        return call("multiply", self, other)

    def __rmul__(self, other: object) -> Unresolved:
        return call("multiply", other, self)

    def __truediv__(self, other: object) -> Unresolved:
        return call("divide", self, other)

    def __rtruediv__(self, other: object) -> Unresolved:
        return call("divide", other, self)

    def __mod__(self, other: object) -> Unresolved:
        return call("modulo", self, other)

    def __neg__(self) -> Unresolved:
        return call("negate", self)

    def is_null(self) -> Unresolved:
        """Test for NULL; never NULL itself."""
        return call("is_null", self)

    def is_not_null(self) -> Unresolved:
        """Test for a value; never NULL itself."""
        return call("is_not_null", self)

    def between(self, low: object, high: object) -> Unresolved:
        """Test low <= self and self <= high."""
        return (self >= low) & (self <= high)

    def isin(self, options: Iterable[Value]) -> Unresolved:
        """SQL's IN over literals: NULL if self is NULL, or if it equals none and one of them is None."""
        return UnresolvedIn(self, tuple(options))

    def like(self, pattern: str, escape: str | None = None) -> Unresolved:
        """SQL's LIKE: % is any run of characters, _ one character."""
        return call("like", self, pattern, *(() if escape is None else (escape,)))

    def cast(self, type: DataType | str) -> Unresolved:
        """Convert; a value that does not convert is an error (InvalidCast, Overflow)."""
        return UnresolvedCast(self, as_type(type), "error")

    def try_cast(self, type: DataType | str) -> Unresolved:
        """Convert; a value that does not convert becomes NULL."""
        return UnresolvedCast(self, as_type(type), "null")

    def field(self, name: str) -> Unresolved:
        """A field of a struct; NULL where the struct is."""
        return UnresolvedMember(self, name)

    def alias(self, name: str) -> Unresolved:
        """Return the same values under another name."""
        return Alias(self, name)

    def desc(self, nulls_first: bool = False) -> Order:
        """Return a sort key, the greatest first; NULLs last unless `nulls_first`."""
        return Order(self, True, nulls_first)

    def asc(self, nulls_first: bool = False) -> Order:
        """Return a sort key, the least first; NULLs last unless `nulls_first`."""
        return Order(self, False, nulls_first)


@dataclass(frozen=True, eq=False)
class UnresolvedColumn(Unresolved):
    """A column by its name."""

    name: str


@dataclass(frozen=True, eq=False)
class UnresolvedLiteral(Unresolved):
    """A Python value whose type its surroundings decide."""

    value: Value


@dataclass(frozen=True, eq=False)
class UnresolvedCall(Unresolved):
    """A scalar function of expressions."""

    function: str
    args: tuple[Unresolved, ...]

    @property
    def parts(self) -> tuple[Unresolved, ...]:
        return self.args


@dataclass(frozen=True, eq=False)
class UnresolvedCast(Unresolved):
    """A value as another type: `cast` fails where it does not fit, `try_cast` gives NULL."""

    input: Unresolved
    type: DataType
    on_failure: str

    @property
    def parts(self) -> tuple[Unresolved, ...]:
        return (self.input,)


@dataclass(frozen=True, eq=False)
class UnresolvedCase(Unresolved):
    """condition, value, condition, value, … and the default."""

    branches: tuple[Unresolved, ...]
    default: Unresolved

    @property
    def parts(self) -> tuple[Unresolved, ...]:
        return (*self.branches, self.default)

    def when(self, condition: Unresolved) -> When:
        """A further branch; the default must not have been given yet."""
        return When(condition, self.branches)

    def otherwise(self, value: object) -> Unresolved:
        """Set the value if no condition is true (NULL unless given)."""
        return UnresolvedCase(self.branches, as_expression(value))


@dataclass(frozen=True, eq=False)
class UnresolvedIn(Unresolved):
    """A test whether a value is one of some plain values."""

    input: Unresolved
    options: tuple[Value, ...]

    @property
    def parts(self) -> tuple[Unresolved, ...]:
        return (self.input,)


@dataclass(frozen=True, eq=False)
class UnresolvedMember(Unresolved):
    """A field of a struct."""

    input: Unresolved
    name: str

    @property
    def parts(self) -> tuple[Unresolved, ...]:
        return (self.input,)


@dataclass(frozen=True, eq=False)
class Alias(Unresolved):
    """An expression under a name of its own."""

    input: Unresolved
    name: str

    @property
    def parts(self) -> tuple[Unresolved, ...]:
        return (self.input,)


@dataclass(frozen=True, eq=False)
class Order:
    """A sort key; NULLs come last unless asked for first."""

    expression: Unresolved
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class When:
    """Half a branch: `when(condition)` waits for `.then(value)`."""

    condition: Unresolved
    before: tuple[Unresolved, ...] = ()

    def then(self, value: object) -> UnresolvedCase:
        """Set the value if the condition is true; `when` and `otherwise` continue from there."""
        return UnresolvedCase(
            (*self.before, as_expression(self.condition), as_expression(value)), UnresolvedLiteral(None)
        )


@dataclass(frozen=True)
class Aggregation:
    """A measure by name: `sum_("x")`, `string_agg("s", ",", order_by="t")`. `options` are plain values."""

    function: str
    arguments: tuple[Unresolved, ...]
    options: tuple[Value, ...] = ()
    order: tuple[Order, ...] = ()
    name: str | None = None

    def alias(self, name: str) -> Aggregation:
        """Return the same measure under that name."""
        return replace(self, name=name)


def col(name: str) -> Unresolved:
    """The column `name` of the operator's input."""
    if not isinstance(name, str):
        raise InvalidDataflow(f"col() takes a column's name, not {name!r}")
    return UnresolvedColumn(name)


def lit(value: Value) -> Unresolved:
    """A literal. Its type follows from what it meets (a column's type, exactly), else from the Python value."""
    return UnresolvedLiteral(value)


def when(condition: Unresolved) -> When:
    """`when(c).then(v).when(c2).then(v2).otherwise(w)`: SQL's CASE."""
    return When(condition)


def call(function: str, *args: object) -> Unresolved:
    """A call of a scalar function by name; Python values become literals."""
    return UnresolvedCall(function, tuple(as_expression(a) for a in args))


def as_expression(value: object) -> Unresolved:
    """Return expressions unchanged, anything else as a literal."""
    if isinstance(value, Aggregation | Order | When):
        raise InvalidDataflow(
            f"{type(value).__name__.lower()} cannot be part of an expression; "
            "compute on a measure with with_columns after aggregate"
        )
    return value if isinstance(value, Unresolved) else UnresolvedLiteral(value)  # type: ignore[arg-type]


def as_column(value: object) -> Unresolved:
    """Return the column of a string's name, expressions unchanged."""
    return col(value) if isinstance(value, str) else as_expression(value)


def as_type(type: DataType | str) -> DataType:
    """Parse `"decimal(7,2)"`; return a DataType unchanged."""
    if isinstance(type, DataType):
        return type
    try:
        return parse_type(type)
    except ValueError as e:
        raise InvalidDataflow(f"cast: {e}") from None


def _chain(function: str, *args: object) -> Unresolved:
    """AND and OR of many terms as one variadic call, so that long chains do not nest."""
    terms: list[Unresolved] = []
    for term in map(as_expression, args):
        terms += term.args if isinstance(term, UnresolvedCall) and term.function == function else (term,)
    return UnresolvedCall(function, tuple(terms))


class Functions:
    """The namespace `f`: every scalar function by name, `f.year(col("d"))`; `and`, `or` and `not` are &, | and ~."""

    def __getattr__(self, name: str) -> _Function:
        function = None if name.startswith("__") else known(name)
        if function is None or function.internal:
            raise AttributeError(f"there is no function {name!r}; Jumpgate has {', '.join(dir(self))}")
        return _Function(name)

    def __dir__(self) -> list[str]:
        return sorted(f.name for f in (*BUILT_IN.values(), *installed().values()) if not f.internal)


@dataclass(frozen=True)
class _Function:
    name: str

    def __call__(self, *args: object) -> Unresolved:
        return call(self.name, *args)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return find(self.name).doc


f = Functions()
