"""Expressions → C++ statements with exact arithmetic and three-valued logic.

A value is a pair of C++ texts: the value, and the condition under which it is NULL (None: never). Texts are built from
generated names only; nothing of a request (names, literals) is ever pasted. dataflow/reference.py is the oracle.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from jumpgate.codegen import calls, calls_list, literals, measures
from jumpgate.codegen.cpp import COMPARISONS, Value, any_null, constant, cpp_type
from jumpgate.codegen.program import (
    Element,
    Finished,
    InParameter,
    MarkValue,
    Null,
    Parameter,
    RowField,
    SourceColumn,
)
from jumpgate.codegen.runs import RUN_MIN
from jumpgate.dataflow.casts import cannot_fail
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Call, Case, Cast, Expression, Member
from jumpgate.dataflow.functions_core import DAY_US
from jumpgate.dataflow.types import DataType, bool_

_RANGES = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


class ExpressionWriter:
    """Writes the statements that compute expressions into `lines`. One writer per loop body, so that names never
    repeat."""

    def __init__(self, dialect: Dialect, site: Callable[[Expression], int]) -> None:
        self.dialect = dialect
        self.site = site
        self.lines: list[str] = []
        self.names = 0
        #: source columns and row pointers that the body reads; the step declares them before its loop
        self.columns: dict[int, DataType] = {}
        self.pointers: set[int] = set()
        self.marks: set[int] = set()
        self.places: set[int] = set()
        #: pointers with a name of their own, not read from the chunk (a probe's candidate row)
        self.named: dict[int, str] = {}
        #: expressions whose statements are in the block being written, or in one around it
        self.written: ChainMap[Expression, Value] = ChainMap()

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def write(self, e: Expression) -> Value:
        """The value of `e`; its statements are appended to `lines`, unless they are there already."""
        if not isinstance(e, Call | Case | Cast | Finished | InParameter | Member):
            return self._leaf(e)
        if e not in self.written:
            self.written[e] = self._composite(e)
        return self.written[e]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Write statements whose names are not known after them."""
        self.written = self.written.new_child()
        try:
            yield
        finally:
            self.written = self.written.parents

    def unit(self, of: int) -> AbstractContextManager[None]:
        """Write one of so many units of statements; units that may become rounds of a loop do not share names."""
        return self.scope() if of >= RUN_MIN else nullcontext()

    def _leaf(self, e: Expression) -> Value:
        match e:
            case SourceColumn(index=i):
                self.columns[i] = e.type
                return Value(f"c{i}[x]", f"(v{i} && !v{i}[x])" if e.type.nullable else None)
            case RowField():
                return self._field(e)
            case Parameter(index=i):
                return Value(
                    f"(({cpp_type(e.type)})t->params[{i}].{literals.member(e.type)})"
                    if not e.type.is_text
                    else f"t->params[{i}].s"
                )
            case Null():
                return Value(f"{cpp_type(e.type)}{{}}", "true")
            case MarkValue(mark=m):
                self.marks.add(m)
                return Value(f"(uint8_t)(m{m}[i] == 1)", f"(m{m}[i] == 2)")
            case Element():
                return self._element(e)
        raise TypeError(f"no C++ for {type(e).__name__}")

    def _composite(self, e: Expression) -> Value:
        match e:
            case Finished():
                return self._finished(e)
            case InParameter():
                return self._in(e)
            case Case():
                return self._case(e)
            case Cast():
                return self._cast(e)
            case Call():
                return calls.write_call(self, e)
            case Member():
                return self._member(e)
        raise TypeError(f"no C++ for {type(e).__name__}")

    def condition(self, e: Expression, both: str = "&&") -> str:
        """C++ text that is true when `e` is TRUE (neither FALSE nor NULL). both: "&" where its value may be looked at
        even if it is NULL; loops without a branch are vectorised."""
        v = self.write(e)
        return f"(!({v.null})) {both} {v.text}" if v.null else v.text

    def local(self, type: DataType, text: str, null: str | None) -> Value:
        v = self.name("e")
        if null is None:
            self.lines.append(f"const {cpp_type(type)} {v} = {text};")
            return Value(v)
        n = self.name("n")
        self.lines.append(f"const bool {n} = {null};")
        self.lines.append(f"const {cpp_type(type)} {v} = {text};")
        return Value(v, n)

    def guarded(
        self,
        e: Expression,
        null: str | None,
        statements: Callable[[str, Callable[[str, str], str]], list[str]],
        nulls_on_failure: bool,
    ) -> Value:
        """Compute a result by statements that may fail, only where no argument is NULL. `statements(out, fail)`."""
        v, n = self.name("e"), self.name("n")
        can_be_null = null is not None or nulls_on_failure
        self.lines.append(f"{cpp_type(e.type)} {v}{{}};")
        if can_be_null:
            self.lines.append(f"bool {n} = {null or 'false'};")

        def fail(condition: str, failure: str) -> str:
            action = f"{n} = true" if nulls_on_failure else f"jg_fail(t, {failure}, {self.site(e)})"
            return f"if (JG_UNLIKELY({condition})) {action};"

        body = " ".join(statements(v, fail))
        self.lines.append(f"if (!{n}) {{ {body} }}" if can_be_null else f"{{ {body} }}")
        return Value(v, n if can_be_null else None)

    def checked(
        self, e: Expression, null: str | None, routine: Callable[[str], str], nulls_on_failure: bool = False
    ) -> Value:
        """Call a routine that returns a JgFailure and writes its value through a pointer."""
        code = self.name("q")
        return self.guarded(
            e,
            null,
            lambda out, fail: [f"int {code} = {routine(out)};", fail(f"{code} != JG_OK", code)],
            nulls_on_failure,
        )

    def compared(self, f: str, a: str, b: str, type: DataType) -> str:
        """Return the condition that the comparison `f` holds for two non-NULL values."""
        op = COMPARISONS[f]
        if type.is_text:
            if f in ("eq", "ne"):
                return ("" if f == "eq" else "!") + f"jg_equal_str({a}, {b})"
            return f"(jg_compare_str({a}, {b}) {op} 0)"
        if type.is_float and self.dialect.nan == "largest":
            return f"(jg_compare_double({a}, {b}) {op} 0)"
        return f"(({a}) {op} ({b}))"

    # ---- leaves ----

    def _field(self, e: RowField) -> Value:
        row = self.named.get(e.pointer)
        if row is None:
            self.pointers.add(e.pointer)
            row = f"((const T{e.table}*)r{e.pointer}[i])"
        value, null = f"{row}->f{e.field}", f"{row}->n{e.field}" if e.flagged else None
        if not e.optional:
            return Value(value, null)
        value = f"({row} ? {value} : {cpp_type(e.type)}{{}})"
        return Value(value, f"(!{row} || {null})" if null else f"(!{row})")

    def _finished(self, e: Finished) -> Value:
        return measures.state_of(e.function).value(e, [self.write(f) for f in e.states], self)

    # ---- composites ----

    def _in(self, e: InParameter) -> Value:
        v = self.write(e.input)
        kind = {"i": "int", "d": "wide", "f": "double", "f32": "double", "s": "str"}[literals.member(e.input.type)]
        test = f"jg_in_{kind}(t->params[{e.index}].list, {v.text})"
        if e.input.type.is_float and self.dialect.nan == "ieee":  # in the list's order NaN equals itself
            test = f"({v.text} == {v.text} && {test})"
        found = self.local(e.type.with_nullable(False), f"(uint8_t){test}", None)
        null = any_null(v, Value("", f"!{found.text}") if e.has_null else Value(""))
        return Value(found.text, f"({null})" if null else None)

    def block(self, e: Expression, v: str, n: str | None) -> str:
        """Return statements that compute `e` into the declared variables v and n (which is false initially), as one
        block."""
        outer, self.lines = self.lines, []
        with self.scope():
            value = self.write(e)
        inner, self.lines = self.lines, outer
        null = f"{n} = {value.null}; " if n and value.null else ""
        return "{ " + " ".join(inner) + f" {null}{v} = {value.text}; }}"

    def _case(self, e: Case) -> Value:
        v, n = self.name("e"), self.name("n") if e.type.nullable else None
        self.lines.append(f"{cpp_type(e.type)} {v}{{}};" + (f" bool {n} = false;" if n else ""))
        depth = 0
        with self.scope():
            for condition, value in zip(e.branches[::2], e.branches[1::2], strict=True):
                self.lines.append("{")  # the condition's statements see only their own scope
                depth += 1
                test = self.condition(condition)
                self.lines.append(f"if ({test}) {self.block(value, v, n)} else")
            self.lines.append(self.block(e.otherwise, v, n) + " }" * depth)
        return Value(v, n)

    def _member(self, e: Member) -> Value:
        """Read the field from the struct's bytes."""
        struct = self.write(e.input)
        there = f"jg_has_field({struct.text}, {e.number})"
        value = calls_list.member([part.type for part in e.input.type.parts], struct.text, e.number)
        null = f"({struct.null}) || !{there}" if struct.null else f"!{there}"
        n = self.local(bool_, null, None)
        return self.local(e.type, f"{n.text} ? {cpp_type(e.type)}{{}} : {value}", n.text)

    def _element(self, e: Element) -> Value:
        """Read the element from the list's bytes (jumpgate/ntf/README.md, "Nested values")."""
        list = self.write(e.list)
        self.places.add(e.place)
        number = f"u{e.place}[i]"
        null = f"!jg_has_element({list.text}, {number})"
        n = self.local(bool_, f"({list.null}) || {null}" if list.null else null, None)
        value = calls_list.element(e.type, list.text, number)
        return self.local(e.type, f"{n.text} ? {cpp_type(e.type)}{{}} : {value}", n.text)

    # ---- casts ----

    def _cast(self, e: Cast) -> Value:
        v = self.write(e.input)
        source, target = e.input.type, e.type
        c, null = cpp_type(target), v.null
        if source.alike(target):
            return v
        if target.kind == "string" and source.kind != "binary":
            return self.local(target, self._to_text(v.text, source), null)
        if cannot_fail(source, target) and (moved := calls.moved(v.text, source, target)):
            return self.local(target, moved, null)
        if target.kind == "binary" or source.kind == "bool":
            return self.local(target, f"({c}){v.text}" if source.kind == "bool" else v.text, null)
        if target.kind == "bool" and source.is_numeric:
            return self.local(target, f"({v.text}) != 0", null)
        if target.is_float and source.is_numeric:
            divided = f" / 1e{source.scale}" if source.scale else ""
            value = f"(double)({v.text}){divided}" if source.kind == "decimal" else v.text
            return self.local(target, f"({c})({value})", null)
        if source.is_integer and target.is_integer and _RANGES[source.kind] <= _RANGES[target.kind]:
            return self.local(target, f"({c})({v.text})", null)
        if target.kind == "decimal" and not source.is_float and source.is_numeric and _widens(source, target):
            power = constant(10 ** (target.scale - source.scale), c)
            return self.local(target, f"({c})({v.text}) * {power}", null)
        return self.guarded(
            e, null, lambda out, fail: self._checked_cast(v.text, source, target, out, fail), e.on_failure == "null"
        )

    def _to_text(self, v: str, source: DataType) -> str:
        if source.is_integer:
            return f"jg_int_to_text(t, {v})"
        if source.kind == "decimal":
            return f"jg_decimal_to_text(t, {v}, {source.scale})"
        kind = source.kind.replace("tz", "")
        return f"jg_bool_to_text({v})" if kind == "bool" else f"jg_{kind}_to_text(t, {v}, {int(source.is_zoned)})"

    def _checked_cast(
        self, v: str, source: DataType, target: DataType, out: str, fail: Callable[[str, str], str]
    ) -> list[str]:
        c = cpp_type(target)
        low, high = (
            (f"INT{_RANGES[target.kind]}_MIN", f"INT{_RANGES[target.kind]}_MAX") if target.is_integer else ("", "")
        )
        if source.is_text:
            code = self.name("q")
            if target.kind == "string":
                return [f"{out} = {v};", fail(f"!jg_valid_utf8({v})", "JG_INVALID_CAST")]
            wide = {"decimal": "jg_i128"}.get(
                target.kind, "int64_t" if target.is_integer else "double" if target.is_float else c
            )
            extra = (
                f"{low}, {high}, "
                if target.is_integer
                else f"{target.precision}, {target.scale}, "
                if target.kind == "decimal"
                else ""
            )
            kind = "int" if target.is_integer else "float" if target.is_float else target.kind.replace("tz", "")
            function = f"jg_text_to_{kind}" if target.is_numeric else f"jg_cast_to_{kind}"
            return [
                f"{wide} w{{}}; int {code} = {function}({v}, {extra}&w); {out} = ({c})w;",
                fail(f"{code} != JG_OK", code),
            ]
        if target.kind in ("timestamp_ns", "timestamptz_ns"):
            units = DAY_US * 1000 if source.kind == "date" else 1000
            return [fail(f"__builtin_mul_overflow((int64_t){v}, {units}ll, &{out})", "JG_OVERFLOW")]
        if source.is_float and target.is_integer:
            rounded = "__builtin_rint" if self.dialect.to_integer == "round" else "__builtin_trunc"
            bits = _RANGES[target.kind] - 1
            return [
                f"double w = {rounded}((double){v});",
                fail(f"!(w >= -0x1p{bits} && w < 0x1p{bits})", "JG_OVERFLOW"),
                f"else {out} = ({c})w;",
            ]
        if source.is_float:
            return [
                f"jg_i128 w = 0; int q = jg_float_to_decimal({v}, {target.precision}, {target.scale}, &w);",
                f"{out} = ({c})w;",
                fail("q != JG_OK", "q"),
            ]
        if target.is_integer:
            shift = (
                f"jg_i128 w = {v} / {constant(10**source.scale, cpp_type(source))};"
                if self.dialect.to_integer == "truncate" and source.kind == "decimal"
                else f"jg_i128 w = {v}; jg_rescale(w, {-source.scale}, 38, &w);"
                if source.kind == "decimal"
                else f"jg_i128 w = {v};"
            )
            return [shift, fail(f"w < {low} || w > {high}", "JG_OVERFLOW"), f"else {out} = ({c})w;"]
        if source.kind == "decimal" and source.scale == target.scale:
            limit = constant(10**target.precision, cpp_type(source))
            return [fail(f"{v} >= {limit} || {v} <= -{limit}", "JG_OVERFLOW"), f"else {out} = ({c}){v};"]
        return [
            f"jg_i128 w = 0; int ok = jg_rescale({v}, {target.scale - source.scale}, {target.precision}, &w);",
            f"{out} = ({c})w;",
            fail("!ok", "JG_OVERFLOW"),
        ]


def _widens(source: DataType, target: DataType) -> bool:
    digits = {"int8": 3, "int16": 5, "int32": 10, "int64": 19}
    precision = source.precision if source.kind == "decimal" else digits[source.kind]
    return source.scale <= target.scale and precision - source.scale <= target.precision - target.scale
