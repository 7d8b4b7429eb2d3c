"""The state of measures in a group: for each aggregate of dataflow/aggregates the fields of its state, the C++ that
updates and merges them, and the result. STATES is complete against the declarations.

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
from jumpgate.codegen.program import Finished, Held, RowField, SortField, Table, ValueList
from jumpgate.dataflow.aggregates import AGGREGATES, COMOMENTS, MOMENTS
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import Measure, WindowFunction, partial_state
from jumpgate.dataflow.types import DataType, bool_, decimal, float64, int64

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
    return STATES[m.declaration.plain].fields(m)


def held(m: Measure, table: Table, lists: dict[object, int], options: tuple[int, ...]) -> Held:
    """Place a measure in the next fields of a table of groups. `lists`: the table's lists of values, by their content;
    measures over other values get one of their own. `options`: the parameters that hold the measure's options."""
    types, _ = m.row_types
    order = tuple((k.expression.type, k.descending, k.nulls_first) for k in m.order)
    texts = tuple(f"t->params[{i}].{literals.member(o.type)}" for i, o in zip(options, m.options, strict=True))
    found = Held(m.declaration.plain, len(table.fields), types, order, texts)
    values = STATES[found.function].list_of(m)
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
    return STATES[m.function].partial(m, states)


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


class Moments(State):
    """Welford's (count, mean, sum of squared differences), merged as in Chan et al."""

    def fields(self, m: Measure) -> Types:
        return (_COUNT, _DOUBLE, _DOUBLE)

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        n, mean, squares = (f"row->f{h.first + i}" for i in range(3))
        v = _number(values[0], h.types[0])
        steps = (
            f"const double v = {v}, d = v - {mean}; {n}++; {mean} += d / (double){n}; {squares} += d * (v - {mean});"
        )
        return [_where(values, steps)]

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        return [self._add([f"row->f{h.first + i}" for i in range(3)], [v.text for v in values])]

    def merge_rows(self, h: Held) -> str:
        return self._add(*([f"{r}->f{h.first + i}" for i in range(3)] for r in "ab"))

    def _add(self, mine: list[str], other: list[str]) -> str:
        (count, mean, squares), (n, other_mean, other_squares) = mine, other
        return (
            f"if ({n}) {{ double d = {other_mean} - {mean}; int64_t all = {count} + {n};"
            f" {squares} += {other_squares} + d * d * (double){count} * (double){n} / (double)all;"
            f" {mean} += d * (double){n} / (double)all; {count} = all; }}"
        )

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        missing, root = MOMENTS[e.function]
        count, squares = states[0].text, states[2].text
        value = f"{squares} / (double)({count} - {missing})"
        value = f"jg_sqrt({value})" if root else value
        return w.local(e.type, f"{count} > {missing} ? {value} : 0", f"{count} <= {missing}")


#: C++ of a comoment's value, using the names that `Comoments.value` declares
_COMOMENTS = {
    "covar_pop": "yx / n",
    "covar_samp": "yx / (n - 1)",
    "corr": "yx / jg_sqrt(yy) / jg_sqrt(xx)",
    "regr_slope": "yx / xx",
    "regr_intercept": "y - yx / xx * x",
    "regr_r2": "yx * yx / (xx * yy)",
    "regr_avgx": "x",
    "regr_avgy": "y",
    "regr_sxx": "xx",
    "regr_syy": "yy",
    "regr_sxy": "yx",
}
assert set(_COMOMENTS) == set(COMOMENTS)


class Comoments(State):
    """Moments of pairs: (count, means of y and x, sums of squares of y and x, sum of products)."""

    def fields(self, m: Measure) -> Types:
        return (_COUNT, *[_DOUBLE] * 5)

    def update(self, h: Held, values: list[Value], table: int) -> list[str]:
        n, y, x, yy, xx, yx = (f"row->f{h.first + i}" for i in range(6))
        vy, vx = (_number(v, t) for v, t in zip(values, h.types, strict=True))
        steps = (
            f"const double vy = {vy}, vx = {vx}, dy = vy - {y}, dx = vx - {x}; {n}++;"
            f" {y} += dy / (double){n}; {x} += dx / (double){n};"
            f" {yy} += dy * (vy - {y}); {xx} += dx * (vx - {x}); {yx} += dx * (vy - {y});"
        )
        return [_where(values, steps)]

    def merge_columns(self, h: Held, values: list[Value], table: int) -> list[str]:
        return [self._add([f"row->f{h.first + i}" for i in range(6)], [v.text for v in values])]

    def merge_rows(self, h: Held) -> str:
        return self._add(*([f"{r}->f{h.first + i}" for i in range(6)] for r in "ab"))

    def _add(self, mine: list[str], other: list[str]) -> str:
        (n, y, x, yy, xx, yx), (m, other_y, other_x, other_yy, other_xx, other_yx) = mine, other
        return (
            f"if ({m}) {{ const double all = (double)({n} + {m}), dy = {other_y} - {y}, dx = {other_x} - {x},"
            f" part = (double){m} / all, weight = (double){n} * part;"
            f" {yy} += {other_yy} + dy * dy * weight; {xx} += {other_xx} + dx * dx * weight;"
            f" {yx} += {other_yx} + dy * dx * weight; {y} += dy * part; {x} += dx * part; {n} += {m}; }}"
        )

    def value(self, e: Finished, states: list[Value], w: ExpressionWriter) -> Value:
        how = COMOMENTS[e.function]
        names = ("n", "y", "x", "yy", "xx", "yx")
        state = dict(zip(names, (v.text for v in states), strict=True))
        null = " || ".join(
            [f"{state['n']} < {how.least}", *(f"{state[v + v]} == 0" for v in how.varying)]
            + [f"{state[v + v]} != {state[v + v]}" for v in how.varying if how.finite]
        )
        used = set(re.findall(r"\w+", _COMOMENTS[e.function])) & set(names)
        known = [f"const double {n} = (double){state[n]};" for n in names if n in used]
        return w.guarded(e, null, lambda out, fail: [*known, f"{out} = {_COMOMENTS[e.function]};"], False)


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
        """Fill the list; of measures that share one, the first does."""
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
            if i and h.elements.types[i].nullable:
                lines.append(f"entry->n{i} = {f'(uint8_t)({v.null})' if v.null else '0'};")
            lines.append(f"if (!({v.null})) {store}" if v.null and i else store)
        return [_where(values[:1], " ".join(lines))]

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


class QuantileCont(Values):
    def result(self, h: Held, out: str) -> list[str]:
        kind = h.elements
        return [
            f"const double at = {h.options[0]} * (double)(n - 1);",
            "const int64_t low = (int64_t)at, high = low + (at > (double)low);",
            f"const double a = {kind.value('jg_select_int(values, 0, n, low)')};",
            f"if (low == high) {out} = a;",
            f"else {{ const double b = {kind.value('jg_select_int(values, high, n, high)')};",
            f"{out} = a + (b - a) * (double)(int64_t)((at - (double)low) * 1e6) / 1e6; }}",
        ]


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


# ---- pieces of C++ --------------------------------------------------------------------------------------------------


def _where(values: list[Value], steps: str) -> str:
    """Return the steps, guarded so that they run only if none of the values is NULL."""
    nulls = any_null(*values)
    return (f"if (!({nulls})) " if nulls else "") + f"{{ {steps} }}"


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


STATES: dict[str, State] = {
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
    **dict.fromkeys(MOMENTS, Moments()),
    **dict.fromkeys(COMOMENTS, Comoments()),
    "first_value": First(),
    "median": Median(),
    "quantile_cont": QuantileCont(),
    "quantile_disc": QuantileDisc(),
    "mode": Mode(),
    "string_agg": Texts(),
}
assert set(STATES) == {a.plain for a in AGGREGATES.values() if not a.expanded}
