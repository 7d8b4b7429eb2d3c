"""The state of measures in a group: for each aggregate of dataflow/aggregates the fields of its state, the C++ that
updates and merges them, and the result. A declaration has the C++ itself, or _STATES has it here.

In the C++, `row` is a group's row; `a` and `b` are rows of one group, of which b is merged into a.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jumpgate.codegen import literals
from jumpgate.codegen.cpp import Value, any_null, compare, cpp_type
from jumpgate.codegen.program import Finished, Held, Program, RowField, SortField, Table, ValueList
from jumpgate.dataflow.aggregate import AggregateFunction, StateCode
from jumpgate.dataflow.aggregates import AGGREGATES, find_aggregate
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import Measure, WindowFunction, partial_state
from jumpgate.dataflow.types import DataType, bool_, decimal, float64, int64
from jumpgate.errors import ConfigError

if TYPE_CHECKING:
    from jumpgate.codegen.expressions import ExpressionWriter

Types = tuple[DataType, ...]
Fields = tuple[RowField, ...]
_COUNT = int64.with_nullable(False)
_FLAG = bool_.with_nullable(False)
_WIDE = decimal(38, 0, nullable=False)
_DOUBLE = float64.with_nullable(False)


def measure_of(f: WindowFunction) -> Measure:
    return Measure(f.function, f.arguments, f.type, f.name)


def row_expressions(m: Measure) -> tuple[Expression, ...]:
    """Return what a measure needs of each row: its values and the order's keys."""
    return (*m.values, *(k.expression for k in m.order))


def state_types(m: Measure) -> Types:
    """Return the fields of a group that hold one measure."""
    return state_of(m.declaration.plain).fields(m)


def held(m: Measure, table: Table, lists: dict[object, int], program: Program) -> Held:
    """Place a measure in the next fields of a table of groups. `lists`: the table's lists of values, by their content;
    measures over other values get one of their own. Note the measure's options as parameters of the program, and the
    code of a package's aggregate."""
    code = m.declaration.code
    if code is not None and m.declaration.plain not in AGGREGATES:
        program.installed[f"aggregate {m.declaration.plain}"] = repr(code), code.source
    options = [program.parameter(literals.scalar(o.value, o.type)) for o in m.options]
    types, _ = m.row_types
    order = tuple((k.expression.type, k.descending, k.nulls_first) for k in m.order)
    texts = tuple(f"t->params[{i}].{literals.member(o.type)}" for i, o in zip(options, m.options, strict=True))
    found = Held(m.declaration.plain, len(table.fields), types, order, texts)
    values = state_of(found.function).list_of(m)
    if values is None:
        return found
    key = m if m.declaration.distinct_of else (m.values, m.order, values)
    fills = key not in lists
    if fills:
        lists[key] = len(table.lists)
        table.lists.append(values)
    return replace(found, list=lists[key], list_type=values, fills=fills)


def finished(m: Measure, states: Fields) -> Expression:
    """Return the measure's value."""
    scale = m.argument.type.scale if m.argument is not None else 0
    return Finished(m.type, m.declaration.plain, states, scale)


def partial_output(m: Measure, states: Fields) -> tuple[Expression, ...]:
    """Return the columns that a partial aggregate emits for a measure (operators.partial_state)."""
    return state_of(m.function).partial(m, states)


class State(ABC):
    """A way to hold a measure. `values` may be NULL; a row counts if none of its values is."""

    @abstractmethod
    def fields(self, m: Measure) -> Types: ...

    @abstractmethod
    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        """Add the values of a row."""

    @abstractmethod
    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        """Merge a partial state that arrived as columns."""

    @abstractmethod
    def merge_rows(self, h: Held) -> str: ...

    @abstractmethod
    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value: ...

    def partial(self, m: Measure, states: Fields) -> tuple[Expression, ...]:
        return states

    def list_of(self, m: Measure) -> ValueList | None:
        """Return the list of a group's values that must be contiguous, if any."""
        return None

    def finish(self, h: Held) -> list[str]:
        """Return statements that finish a group whose n `values` are complete."""
        return []


class Count(State):
    def fields(self, m: Measure) -> Types:
        return (_COUNT,)

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        nulls = any_null(*values)
        return [f"row->f{h.first} += !({nulls});" if nulls else f"row->f{h.first}++;"]

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        return [f"row->f{h.first} += {values[0].text};"]

    def merge_rows(self, h: Held) -> str:
        return f"a->f{h.first} += b->f{h.first};"

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        return states[0]


class Sum(State):
    """Sums integers and decimals in 128 bits; the second field says whether there was a value."""

    def fields(self, m: Measure) -> Types:
        return (_DOUBLE if m.values[0].type.is_float else _WIDE, _FLAG)

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        add = f"row->f{h.first} += {values[0].text};"
        if h.types[0].width == 16 and h.types[0].kind == "decimal":
            add = _add_checked(h.first, values[0].text)
        return [_where(values, f"{add} {self.seen(h, 'row', '')}")]

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        v = values[0].text
        add = f"row->f{h.first} += {v};" if h.types[0].is_float else _add_checked(h.first, v)
        return [_where(values[:1], f"{add} {self.seen(h, 'row', *(x.text for x in values[1:]))}")]

    def merge_rows(self, h: Held) -> str:
        a, b = f"a->f{h.first}", f"b->f{h.first}"
        add = f"{a} += {b};"
        if not h.types[0].is_float:
            add = f"if (__builtin_add_overflow({a}, {b}, &{a})) jg_fail(t, JG_OVERFLOW, -1);"
        return f"{{ {add} }} " + self.seen_in_both(h)

    def seen(self, h: Held, row: str, count: str = "") -> str:
        return f"{row}->f{h.first + 1} = 1;"

    def seen_in_both(self, h: Held) -> str:
        return f"a->f{h.first + 1} |= b->f{h.first + 1};"

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        total, seen = (s.text for s in states)
        if e.type.is_float:
            return w.local(e.type, total, f"!{seen}")
        if e.type.is_integer:
            return w.guarded(
                e,
                f"!{seen}",
                lambda out, fail: [f"{out} = (int64_t){total};", fail(f"{total} != {out}", "JG_OVERFLOW")],
                False,
            )
        return w.guarded(
            e,
            f"!{seen}",
            lambda out, fail: [f"{out} = {total};", fail(f"!jg_fits({out}, {e.type.precision})", "JG_OVERFLOW")],
            False,
        )

    def partial(self, m: Measure, states: Fields) -> tuple[Expression, ...]:
        return (Finished(partial_state(m)[0], "sum", states),)


class Average(Sum):
    """A sum whose second field counts the values."""

    def fields(self, m: Measure) -> Types:
        return (super().fields(m)[0], _COUNT)

    def seen(self, h: Held, row: str, count: str = "") -> str:
        return f"{row}->f{h.first + 1} += {count};" if count else f"{row}->f{h.first + 1}++;"

    def seen_in_both(self, h: Held) -> str:
        return f"a->f{h.first + 1} += b->f{h.first + 1};"

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        total = f"(double){states[0].text}" + (f" / 1e{e.scale}" if e.scale else "")
        count = states[1].text
        return w.local(e.type, f"{count} ? {total} / (double){count} : 0", f"{count} == 0")

    def partial(self, m: Measure, states: Fields) -> tuple[Expression, ...]:
        return (*super().partial(m, states), states[1])  # the sum is NULL while the count is 0


@dataclass(frozen=True)
class Extreme(State):
    """The best value so far, and whether there is one."""

    sign: str

    def fields(self, m: Measure) -> Types:
        return (m.values[0].type.with_nullable(False), _FLAG)

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        held, v = f"row->f{h.first}", values[0]
        better = f"{compare(v.text, held, h.types[0])} {self.sign} 0"
        kept = v.text if h.in_place else _kept(v.text, h.types[0], table, held)
        guard = f"if (!({v.null})) " if v.null else ""
        return [f"{guard}if (!row->f{h.first + 1} || {better}) {{ {held} = {kept}; row->f{h.first + 1} = 1; }}"]

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        return self.update(h, values, table)

    def merge_rows(self, h: Held) -> str:
        f, seen = h.first, h.first + 1
        better = f"{compare(f'b->f{f}', f'a->f{f}', h.types[0])} {self.sign} 0"
        return f"if (b->f{seen} && (!a->f{seen} || {better})) {{ a->f{f} = b->f{f}; a->f{seen} = 1; }}"

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        return w.local(e.type, states[0].text, f"!{states[1].text}")

    def partial(self, m: Measure, states: Fields) -> tuple[Expression, ...]:
        return (Finished(partial_state(m)[0], m.function, states),)


class Bits(State):
    """The bits so far, and whether there was a value; `operator` is that of C++."""

    def __init__(self, operator: str) -> None:
        self.operator = operator

    def fields(self, m: Measure) -> Types:
        return (m.values[0].type.with_nullable(False), _FLAG)

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        return [_where(values, self._join(h, "row", values[0].text))]

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        return self.update(h, values, table)

    def merge_rows(self, h: Held) -> str:
        return f"if (b->f{h.first + 1}) {{ {self._join(h, 'a', f'b->f{h.first}')} }}"

    def _join(self, h: Held, row: str, value: str) -> str:
        held, seen, type = f"{row}->f{h.first}", f"{row}->f{h.first + 1}", cpp_type(h.types[0])
        return f"{held} = {seen} ? ({type})({held} {self.operator} {value}) : ({type}){value}; {seen} = 1;"

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        return w.local(e.type, states[0].text, f"!{states[1].text}")

    def partial(self, m: Measure, states: Fields) -> tuple[Expression, ...]:
        return (Finished(partial_state(m)[0], m.function, states),)


@dataclass(frozen=True)
class Coded(State):
    """The columns of a declaration's partial states, by its code."""

    function: AggregateFunction

    @property
    def code(self) -> StateCode:
        assert self.function.code is not None
        return self.function.code

    def fields(self, m: Measure) -> Types:
        assert self.function.states is not None
        found = self.function.states.types(*m.row_types)
        wrong = [t.name for t in found if t.nullable or not (t.is_numeric or t.kind == "bool")]
        if wrong:
            raise ConfigError(f"aggregate '{m.function}': a column of its states is {wrong[0]}, no number without NULL")
        return found

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        numbers = self.function.numeric
        types = ["double" if numbers else cpp_type(t) for t in h.types]
        texts = [_number(v, t) if numbers else v.text for v, t in zip(values, h.types, strict=True)]
        known = [f"const {t} v{i} = {v};" for i, (t, v) in enumerate(zip(types, texts, strict=True))]
        return [_where(values, " ".join([*known, _named(self.code.update, s=self._row("row", h))]))]

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        return [self._merged(self._row("row", h), [v.text for v in values])]

    def merge_rows(self, h: Held) -> str:
        return self._merged(self._row("a", h), self._row("b", h))

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        state = [v.text for v in states]
        value = _named(self.code.value, s=state)
        null = _named(self.code.null, s=state) or None
        return w.guarded(e, null, lambda out, fail: [f"{out} = {value};"], False)

    def _row(self, row: str, h: Held) -> list[str]:
        assert self.function.states is not None
        count = len(self.function.states.types(h.types, ()))
        return [f"{row}->f{h.first + i}" for i in range(count)]

    def _merged(self, mine: list[str], other: list[str]) -> str:
        return f"{{ {_named(self.code.merge, s=mine, o=other)} }}"


class First(State):
    """The argument and the order's keys of the first row so far, and whether there is one."""

    def fields(self, m: Measure) -> Types:
        values, order = m.row_types
        return (*(t.with_nullable(True) for t in (*values, *order)), _FLAG)

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        types = h.row_types
        seen = f"row->f{h.first + len(types)}"
        lines = [
            f"int c = {seen} ? 0 : -1;",
            *_before(h, [(v.text, v.null) for v in values], [self._field("row", h, i) for i in range(len(types))]),
        ]
        lines.append("if (c < 0) {")
        for i, (v, type) in enumerate(zip(values, types, strict=True)):
            kept = _kept(v.text, type, table, f"row->f{h.first + i}")
            store = f"row->f{h.first + i} = {kept};"
            null = f"row->n{h.first + i} = {f'(uint8_t)({v.null})' if v.null else '0'};"
            lines.append(f"{null} if (!row->n{h.first + i}) {store}" if v.null else f"{null} {store}")
        return [*lines, f"{seen} = 1; }}"]

    def _field(self, row: str, h: Held, i: int) -> tuple[str, str]:
        return f"{row}->f{h.first + i}", f"{row}->n{h.first + i}"

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        return [f"if ({values[-1].text}) {{", *self.update(h, values[:-1], table), "}"]

    def merge_rows(self, h: Held) -> str:
        count = 1 + len(h.order)
        seen = h.first + count
        mine = [self._field("b", h, i) for i in range(count)]
        lines = [f"if (b->f{seen}) {{ int c = a->f{seen} ? 0 : -1;"]
        lines += _before(h, mine, [self._field("a", h, i) for i in range(count)])
        copies = [
            f"a->f{h.first + i} = b->f{h.first + i}; a->n{h.first + i} = b->n{h.first + i};" for i in range(count)
        ]
        return " ".join([*lines, "if (c < 0) {", *copies, f"a->f{seen} = 1; }} }}"])

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        return w.local(e.type, states[0].text, f"(!{states[-1].text} || {states[0].null})")


def _before(h: Held, values: Sequence[tuple[str, str | None]], held: Sequence[tuple[str, str]]) -> list[str]:
    """Return statements that set `c`, if it is 0, to how a row's values compare with the held ones: by the order's
    keys, then by the argument with NULL last."""
    lines = []
    keys = [*zip(values[1:], held[1:], h.order, strict=True), (values[0], held[0], (h.types[0], False, False))]
    for (new, new_null), (text, null), (type, descending, nulls_first) in keys:
        plain = compare(new, text, type)
        plain = f"-({plain})" if descending else plain
        mine = f"({new_null})" if new_null else "0"
        nulls = f"({mine} ? 1 : 0) - ({null} ? 1 : 0)"
        nulls = f"-({nulls})" if nulls_first else nulls
        lines.append(f"if (!c) c = ({mine} | {null}) ? {nulls} : {plain};")
    return lines


class Values(State):
    """All values of a group in list `h.list` of its row; the fields are the result and whether there is one."""

    def list_of(self, m: Measure) -> ValueList | None:
        type = m.values[0].type
        number = m.type.is_float
        kind = "text" if type.is_text else "wide" if type.width == 16 and not number else "int"
        return ValueList(kind, (type.with_nullable(False),), is_number=number)

    def fields(self, m: Measure) -> Types:
        return (m.type.with_nullable(False), _FLAG)

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        """Fill the list; of measures that share one, the first does. A NULL is an element where elements may be so."""
        if not h.fills:
            return []
        entry, text = h.elements.entry(table, h.list), values[0].text
        place = f"({entry}*)jg_collect(t, {table}, &row->v{h.list}, sizeof({entry}))"
        if h.elements.kind != "rows":
            return [_where(values, f"*{place} = {h.elements.key(_kept(text, h.types[0], table))};")]
        types = h.row_types
        lines = [f"{entry}* entry = {place};"]
        for i, (v, type) in enumerate(zip(values, types, strict=True)):
            store = f"entry->f{i} = {_kept(v.text, type, table)};"
            nullable = h.elements.types[i].nullable
            if nullable:
                lines.append(f"entry->n{i} = {f'(uint8_t)({v.null})' if v.null else '0'};")
            lines.append(f"if (!({v.null})) {store}" if v.null and nullable else store)
        return [_where([] if h.elements.types[0].nullable else values[:1], " ".join(lines))]

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        raise AssertionError("the rows of such a group are brought together, not its states")

    def merge_rows(self, h: Held) -> str:
        return f"jg_join_values(&a->v{h.list}, &b->v{h.list});" if h.fills else ""

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        return w.local(e.type, states[0].text, f"!{states[1].text}")

    def finish(self, h: Held) -> list[str]:
        return ["if (n) {", *self.result(h, f"row->f{h.first}"), f"row->f{h.first + 1} = 1;", "}"]

    @abstractmethod
    def result(self, h: Held, out: str) -> list[str]:
        """Return statements that set `out`, given the n > 0 values."""


class Median(Values):
    def result(self, h: Held, out: str) -> list[str]:
        kind = h.elements
        low = kind.value(f"jg_select_{kind.kind}(values, 0, n, (n - 1) / 2)")
        high = kind.value(f"jg_select_{kind.kind}(values, n / 2, n, n / 2)")
        both = "(low + high) / 2" if kind.is_number else f"({cpp_type(h.types[0])})jg_middle(low, high)"
        return [
            f"const auto low = {low};",
            f"if (n & 1) {out} = low;",
            f"else {{ const auto high = {high}; {out} = {both}; }}",
        ]


class Between(Values):
    """A number between the values around a share of them, `a` and `b`, which are `low` and `high` in their order."""

    #: the number, as C++
    between: str

    def result(self, h: Held, out: str) -> list[str]:
        kind = h.elements
        return [
            f"const double at = {h.options[0]} * (double)(n - 1);",
            "const int64_t low = (int64_t)at, high = low + (at > (double)low);",
            f"const double a = {kind.value('jg_select_int(values, 0, n, low)')};",
            f"if (low == high) {out} = a;",
            f"else {{ const double b = {kind.value('jg_select_int(values, high, n, high)')};",
            f"{out} = {self.between}; }}",
        ]


class QuantileCont(Between):
    between = "a + (b - a) * (double)(int64_t)((at - (double)low) * 1e6) / 1e6"


class Percentile(Between):
    between = "a == b ? a : ((double)high - at) * a + (at - (double)low) * b"


class QuantileDisc(Values):
    def result(self, h: Held, out: str) -> list[str]:
        kind = h.elements
        found = kind.value(f"jg_select_{kind.kind}(values, 0, n, k - (k > 0))")
        return [
            f"const double at = {h.options[0]} * (double)n;",
            "const int64_t whole = (int64_t)at, k = whole + (at > (double)whole);",
            f"{out} = {found};",
        ]


class Mode(Values):
    def result(self, h: Held, out: str) -> list[str]:
        kind = h.elements
        return [f"{out} = {kind.value(f'values[jg_mode_{kind.kind}(values, n)]')};"]


class Texts(Values):
    def list_of(self, m: Measure) -> ValueList | None:
        types = (m.values[0].type.with_nullable(False), *(k.expression.type for k in m.order))
        keys = (SortField(i, k.descending, k.nulls_first) for i, k in enumerate(m.order, 1))
        return ValueList("rows", types, (*keys, SortField(0, False, False)))

    def result(self, h: Held, out: str) -> list[str]:
        return [f"jg_join_texts(t, memory, values, n, sizeof(*values), order, {h.options[0]}, &{out});"]


@dataclass(frozen=True)
class Lists(Values):
    """keeps_nulls: elements may be NULL, and so is the list of no rows, which is else empty."""

    keeps_nulls: bool

    def list_of(self, m: Measure) -> ValueList | None:
        element = m.values[0].type.with_nullable(self.keeps_nulls and m.values[0].type.nullable)
        keys = (SortField(i, k.descending, k.nulls_first) for i, k in enumerate(m.order, 1))
        types = (element, *(k.expression.type for k in m.order))
        return ValueList("rows", types, (*keys, SortField(0, False, False)))

    def finish(self, h: Held) -> list[str]:
        return super().finish(h) if self.keeps_nulls else ["{", *super().finish(h)[1:]]

    def result(self, h: Held, out: str) -> list[str]:
        element = h.elements.types[0]
        null = "(int)((const char*)&values->n0 - (const char*)values)" if element.nullable else "-1"
        width = 0 if element.is_text else element.width
        return [f"jg_make_list(t, memory, values, n, sizeof(*values), order, {width}, {null}, &{out});"]


# ---- pieces of C++ --------------------------------------------------------------------------------------------------


def _where(values: list[Value], steps: str) -> str:
    """Return the steps, guarded so that they run only if none of the values is NULL."""
    nulls = any_null(*values)
    return (f"if (!({nulls})) " if nulls else "") + f"{{ {steps} }}"


def _named(code: str, **texts: Sequence[str]) -> str:
    """Return code with the columns of states, s0 or o1, in place of their names."""
    letters = "".join(texts)
    return re.sub(rf"\b([{letters}])(\d+)\b", lambda found: texts[found[1]][int(found[2])], code).replace("\n", " ")


def _number(v: Value, type: DataType) -> str:
    return f"(double){v.text}" + (f" / 1e{type.scale}" if type.scale else "")


def _kept(text: str, type: DataType, table: int, instead: str = "") -> str:
    """Return a copy of the value that the group owns; `instead` is a previous one to replace."""
    if not type.is_text:
        return text
    return f"jg_keep_instead(t, {table}, {instead}, {text})" if instead else f"jg_keep(t, {table}, 0, {text})"


def _add_checked(f: int, value: str) -> str:
    """Add to a 128-bit sum, with an overflow check."""
    return f"if (__builtin_add_overflow(row->f{f}, (jg_i128){value}, &row->f{f})) jg_fail(t, JG_OVERFLOW, -1);"


_STATES: dict[str, State] = {
    "count_star": Count(),
    "count": Count(),
    "regr_count": Count(),
    "sum": Sum(),
    "avg": Average(),
    "min": Extreme("<"),
    "max": Extreme(">"),
    "bit_and": Bits("&"),
    "bit_or": Bits("|"),
    "bit_xor": Bits("^"),
    "first_value": First(),
    "median": Median(),
    "quantile_cont": QuantileCont(),
    "percentile": Percentile(),
    "quantile_disc": QuantileDisc(),
    "mode": Mode(),
    "string_agg": Texts(),
    "array_agg": Lists(keeps_nulls=True),
    "collect_list": Lists(keeps_nulls=False),
}
assert set(_STATES) == {a.plain for a in AGGREGATES.values() if not a.expanded and a.code is None}


def state_of(function: str) -> State:
    """Return the way to hold an aggregate, which is one that is computed after equal values are dropped."""
    declaration = find_aggregate(function)
    return _STATES[function] if declaration.code is None else Coded(declaration)
