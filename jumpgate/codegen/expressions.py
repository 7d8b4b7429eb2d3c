"""Expressions → C++ statements with exact arithmetic and three-valued logic.

A value is a pair of C++ texts: the value, and the condition under which it is NULL (None: never). Texts are built from
generated names only; nothing of a request (names, literals) is ever pasted. The oracle is jumpgate/dataflow/bodies.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from jumpgate.codegen import calls, literals, measures
from jumpgate.codegen.cpp import compare, constant, cpp_type, equal, hash_of
from jumpgate.codegen.program import Finished, InParameter, MarkValue, Null, Parameter, RowField, SourceColumn
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Call, Case, Cast, Expression
from jumpgate.dataflow.functions import FUNCTIONS
from jumpgate.dataflow.types import DataType

_RANGES = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_PARTS = {"year": 0, "month": 1, "day": 2, "quarter": 3, "day_of_week": 4}
_CLOCK = {"hour": (3_600_000_000, 24), "minute": (60_000_000, 60), "second": (1_000_000, 60)}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True)
class Value:
    """C++ texts: the value, valid unless `null` (None: never NULL) holds."""

    text: str
    null: str | None = None


def any_null(*values: Value) -> str | None:
    """The condition that one of the values is NULL."""
    found = list(dict.fromkeys(v.null for v in values if v.null is not None))
    return " || ".join(found) if found else None


class ExpressionWriter:
    """Writes the statements that compute expressions into `lines`. One writer per loop body: names never repeat."""

    def __init__(self, dialect: Dialect, site: Callable[[Expression], int]) -> None:
        self.dialect = dialect
        self.site = site
        self.lines: list[str] = []
        self.names = 0
        #: source columns and row pointers that the body reads; the step declares them before its loop
        self.columns: dict[int, DataType] = {}
        self.pointers: set[int] = set()
        self.marks: set[int] = set()
        #: pointers that are not read from the chunk but named otherwise (a probe's candidate row)
        self.named: dict[int, str] = {}

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def write(self, e: Expression) -> Value:
        """The value of `e`; its statements are appended to `lines`."""
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
            case Finished():
                return self._finished(e)
            case InParameter():
                return self._in(e)
            case Case():
                return self._case(e)
            case Cast():
                return self._cast(e)
            case Call():
                return self._call(e)
        raise TypeError(f"no C++ for {type(e).__name__}")

    def condition(self, e: Expression) -> str:
        """C++ text that is true when `e` is TRUE (neither FALSE nor NULL)."""
        v = self.write(e)
        return f"!({v.null}) && {v.text}" if v.null else v.text

    def _local(self, type: DataType, text: str, null: str | None) -> Value:
        v = self.name("e")
        if null is None:
            self.lines.append(f"const {cpp_type(type)} {v} = {text};")
            return Value(v)
        n = self.name("n")
        self.lines.append(f"const bool {n} = {null};")
        self.lines.append(f"const {cpp_type(type)} {v} = {text};")
        return Value(v, n)

    def _guarded(
        self,
        e: Expression,
        null: str | None,
        statements: Callable[[str, Callable[[str, str], str]], list[str]],
        nulls_on_failure: bool,
    ) -> Value:
        """A result computed by statements only where no argument is NULL; they may fail. `statements(out, fail)`."""
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
        writing = measures.Writing(self._local, self._guarded)
        return measures.STATES[e.function].value(e, [self.write(f) for f in e.states], writing)

    # ---- composites ----

    def _in(self, e: InParameter) -> Value:
        v = self.write(e.input)
        kind = {"i": "int", "d": "wide", "f": "double", "f32": "double", "s": "str"}[literals.member(e.input.type)]
        test = f"jg_in_{kind}(t->params[{e.index}].list, {v.text})"
        if e.input.type.is_float and self.dialect.nan == "ieee":  # in the list's order NaN equals itself
            test = f"({v.text} == {v.text} && {test})"
        found = self._local(e.type.with_nullable(False), f"(uint8_t){test}", None)
        null = any_null(v, Value("", f"!{found.text}") if e.has_null else Value(""))
        return Value(found.text, f"({null})" if null else None)

    def _block(self, e: Expression, v: str, n: str | None) -> str:
        """Statements that compute `e` into the declared variables v and n (which stands false), as one block."""
        outer, self.lines = self.lines, []
        value = self.write(e)
        inner, self.lines = self.lines, outer
        null = f"{n} = {value.null}; " if n and value.null else ""
        return "{ " + " ".join(inner) + f" {null}{v} = {value.text}; }}"

    def _case(self, e: Case) -> Value:
        v, n = self.name("e"), self.name("n") if e.type.nullable else None
        self.lines.append(f"{cpp_type(e.type)} {v}{{}};" + (f" bool {n} = false;" if n else ""))
        depth = 0
        for condition, value in zip(e.branches[::2], e.branches[1::2], strict=True):
            self.lines.append("{")  # the condition's statements see only their own scope
            depth += 1
            test = self.condition(condition)
            self.lines.append(f"if ({test}) {self._block(value, v, n)} else")
        self.lines.append(self._block(e.otherwise, v, n) + " }" * depth)
        return Value(v, n)

    def _logic(self, e: Call) -> Value:
        """AND and OR, left to right; a term is computed only while the outcome is open: later failures do not count."""
        decisive = "false" if e.function == "and" else "true"
        v, n = self.name("e"), self.name("n") if e.type.nullable else None
        neutral = "true" if e.function == "and" else "false"
        self.lines.append(f"bool {v} = {neutral};" + (f" bool {n} = false;" if n else ""))
        depth = 0
        for term in e.args:
            self.lines.append("{")
            depth += 1
            a = self.write(term)
            known = f"!({a.null}) && " if a.null else ""
            negation = "!" if decisive == "false" else ""
            decided = f"{known}{negation}({a.text})"
            undecided = f"if ({a.null}) {n} = true; " if a.null and n else ""
            settle = f"{v} = {decisive};" + (f" {n} = false;" if n else "")
            self.lines.append(f"if ({decided}) {{ {settle} }} else {{ {undecided}")
        self.lines.append(" }" * (2 * depth))
        return Value(v, n)

    # ---- calls ----

    def _call(self, e: Call) -> Value:
        f = e.function
        if f in ("and", "or"):
            return self._logic(e)
        if f == "coalesce":
            return self._coalesce(e)
        shape = FUNCTIONS[f].shape
        args = [self.write(a) for i, a in enumerate(e.args) if i not in shape]
        null = any_null(*args)
        if f in _COMPARISONS:
            return self._local(e.type, self._comparison(f, args[0].text, args[1].text, e.args[0].type), null)
        if f in ("is_null", "is_not_null"):
            sign = "" if f == "is_null" else "!"
            return self._local(e.type, f"{sign}({args[0].null or 'false'})", None)
        if f in ("is_distinct", "is_not_distinct"):
            return self._distinctness(e, args)
        if f == "fingerprint":
            hashes = [_hash(v, a.type) for v, a in zip(args, e.args, strict=True)]
            combined = functools.reduce(lambda a, b: f"jg_hash_combine({a}, {b})", hashes)
            return self._local(e.type, f"(int64_t){combined}", None)
        if f == "null_if":
            a, b = args
            same = self._comparison("eq", a.text, b.text, e.args[0].type)
            both = f"!({b.null}) && " if b.null else ""
            equal_now = f"({both}{same})"
            return self._local(e.type, a.text, f"({a.null}) || {equal_now}" if a.null else equal_now)
        if f == "not":
            return self._local(e.type, f"!{args[0].text}", null)
        if f in (
            "add",
            "subtract",
            "multiply",
            "divide",
            "int_divide",
            "modulo",
            "negate",
            "abs",
            "round",
            "sqrt",
            "date_add_days",
        ):
            return self._fallible(e, [a.text for a in args], null)
        if f in ("least", "greatest"):
            return self._extreme(e, args)
        if f == "concat_ws":
            return self._concat_ws(e, args)
        if f in calls.CALLS:
            return self._call_of_table(e, [a.text for a in args], null)
        return self._simple(e, [a.text for a in args], null)

    def _extreme(self, e: Call, args: list[Value]) -> Value:
        """The least or greatest argument that is not NULL."""
        v, n = self.name("e"), self.name("n")
        self.lines.append(f"{cpp_type(e.type)} {v}{{}}; bool {n} = true;")
        sign = "<" if e.function == "least" else ">"
        order = (lambda a, b, type: f"jg_order_double({a}, {b})") if e.type.is_float else compare
        for a in args:
            known = f"!({a.null}) && " if a.null else ""
            better = f"{n} || {order(a.text, v, e.type)} {sign} 0"
            self.lines.append(f"if ({known}({better})) {{ {v} = {a.text}; {n} = false; }}")
        return Value(v, n if e.type.nullable else None)

    def _concat_ws(self, e: Call, args: list[Value]) -> Value:
        parts = self.name("parts")
        known = [f"({a.null}) ? JG_NO_STR : {a.text}" if a.null else a.text for a in args[1:]]
        self.lines.append(f"const JgStr {parts}[] = {{{', '.join(known)}}};")
        text = f"jg_concat_ws(t, {args[0].text}, {parts}, {len(known)})"
        null = args[0].null
        return self._local(e.type, f"({null}) ? JgStr{{}} : {text}" if null else text, null)

    def _call_of_table(self, e: Call, a: list[str], null: str | None) -> Value:
        if not calls.CALLS[e.function].checked:
            return self._local(e.type, calls.text(e, a), null)
        code = self.name("q")
        return self._guarded(
            e,
            null,
            lambda out, fail: [f"int {code} = {calls.text(e, a, out)};", fail(f"{code} != JG_OK", code)],
            self.dialect.on_overflow == "null" and FUNCTIONS[e.function].fallible,
        )

    def _comparison(self, f: str, a: str, b: str, type: DataType) -> str:
        op = _COMPARISONS[f]
        if type.is_text:
            if f in ("eq", "ne"):
                return ("" if f == "eq" else "!") + f"jg_equal_str({a}, {b})"
            return f"(jg_compare_str({a}, {b}) {op} 0)"
        if type.is_float and self.dialect.nan == "largest":
            return f"(jg_compare_double({a}, {b}) {op} 0)"
        return f"(({a}) {op} ({b}))"

    def _distinctness(self, e: Call, args: list[Value]) -> Value:
        a, b = args
        same = self._comparison("eq", a.text, b.text, e.args[0].type)
        an, bn = a.null or "false", b.null or "false"
        same = f"(({an}) || ({bn}) ? ({an}) && ({bn}) : {same})" if a.null or b.null else same
        return self._local(e.type, same if e.function == "is_not_distinct" else f"!{same}", None)

    def _coalesce(self, e: Call) -> Value:
        v, n = self.name("e"), self.name("n")
        self.lines.append(f"{cpp_type(e.type)} {v}{{}}; bool {n} = true;")
        for a in e.args:
            self.lines.append(f"if ({n}) {{ {n} = false; {self._block(a, v, n)} }}")
        return Value(v, n if e.type.nullable else None)

    def _fallible(self, e: Call, a: list[str], null: str | None) -> Value:
        f, t = e.function, e.type
        overflow_null = self.dialect.on_overflow == "null"
        zero_null = self.dialect.division_by_zero == "null"
        operand = e.args[0].type
        c = cpp_type(t)
        if f in ("add", "subtract", "multiply") and t.is_float:
            op = {"add": "+", "subtract": "-", "multiply": "*"}[f]
            return self._local(t, f"({a[0]} {op} {a[1]})", null)
        if f in ("add", "subtract", "multiply"):
            builtin = {"add": "add", "subtract": "sub", "multiply": "mul"}[f]
            digits = operand.precision + e.args[1].type.precision if f == "multiply" else t.precision + 1
            if t.kind == "decimal" and digits <= 38:  # the result type holds every value
                op = {"add": "+", "subtract": "-", "multiply": "*"}[f]
                return self._local(t, f"(({c})({a[0]}) {op} ({c})({a[1]}))", null)

            def checked(out: str, fail: Callable[[str, str], str]) -> list[str]:
                wrong = f"__builtin_{builtin}_overflow(({c})({a[0]}), ({c})({a[1]}), &{out})"
                wrong += f" || !jg_fits({out}, {t.precision})" if t.kind == "decimal" else ""
                return [fail(wrong, "JG_OVERFLOW")]

            return self._guarded(e, null, checked, overflow_null)
        if f in ("divide", "int_divide", "modulo"):
            return self._division(e, a, null, zero_null, overflow_null)
        if f in ("negate", "abs") and (t.is_float or t.kind == "decimal"):
            negative = f"-({a[0]})"
            magnitude = f"(({a[0]}) < 0 ? {negative} : ({a[0]}))" if not t.is_float else f"__builtin_fabs({a[0]})"
            return self._local(t, f"({c})" + (negative if f == "negate" else magnitude), null)
        if f in ("negate", "abs"):
            low = f"({a[0]}) == ({c})(-1ll << {_RANGES[t.kind] - 1})"
            value = f"-({a[0]})" if f == "negate" else f"(({a[0]}) < 0 ? -({a[0]}) : ({a[0]}))"
            return self._guarded(
                e, null, lambda out, fail: [fail(low, "JG_OVERFLOW"), f"else {out} = ({c}){value};"], overflow_null
            )
        if f == "round":
            return self._round(e, a, null, overflow_null)
        if f == "sqrt":
            return self._guarded(
                e, null, lambda out, fail: [fail(f"{a[0]} < 0", "JG_COMPUTE"), f"else {out} = jg_sqrt({a[0]});"], False
            )
        assert f == "date_add_days" and operand.kind == "date"
        return self._guarded(
            e,
            null,
            lambda out, fail: [
                f"int64_t d = (int64_t){a[0]} + {a[1]};",
                f"{out} = (int32_t)d;",
                fail("d < -719162 || d > 2932896", "JG_OVERFLOW"),
            ],
            overflow_null,
        )

    def _division(self, e: Call, a: list[str], null: str | None, zero_null: bool, overflow_null: bool) -> Value:
        t, c = e.type, cpp_type(e.type)
        if t.is_float and self.dialect.division_by_zero == "ieee":
            quotient = f"({a[0]}) / ({a[1]})" if e.function == "divide" else f"({c})jg_fmod({a[0]}, {a[1]})"
            return self._local(t, quotient, null)
        v, n = self.name("e"), self.name("n")
        self.lines.append(f"{c} {v}{{}}; bool {n} = {null or 'false'};")
        site = self.site(e)
        zero = f"{n} = true" if zero_null else f"jg_fail(t, JG_DIVISION_BY_ZERO, {site})"
        overflow = f"{n} = true" if overflow_null else f"jg_fail(t, JG_OVERFLOW, {site})"
        if e.function == "modulo" and t.is_float:
            result = f"{v} = ({c})jg_fmod({a[0]}, {a[1]});"
        elif e.function == "modulo":
            result = f"{v} = ({a[1]}) == -1 ? 0 : ({c})(({a[0]}) % ({a[1]}));"
        elif e.function == "int_divide":
            low = f"({a[1]}) == -1 && ({a[0]}) == ({c})(-1ll << {_RANGES[t.kind] - 1})"
            result = f"if ({low}) {overflow}; else {v} = ({c})(({a[0]}) / ({a[1]}));"
        else:
            result = f"{v} = ({a[0]}) / ({a[1]});"
        self.lines.append(f"if (!{n}) {{ if (JG_UNLIKELY(({a[1]}) == 0)) {zero}; else {{ {result} }} }}")
        return Value(v, n if null or zero_null or overflow_null else None)

    def _round(self, e: Call, a: list[str], null: str | None, overflow_null: bool) -> Value:
        operand, t = e.args[0].type, e.type
        digits = calls.shape_digits(e)
        if t.is_float:
            return self._local(t, f"({cpp_type(t)})jg_round({a[0]}, {digits})", null)
        if digits >= operand.scale:
            return self._local(t, a[0], null)
        back = f"w = w * jg_power_of_ten({-digits});" if digits < 0 else ""
        out_of_range = f"w != ({cpp_type(t)})w" if t.is_integer else f"!jg_fits(w, {t.precision})"
        return self._guarded(
            e,
            null,
            lambda out, fail: [
                f"jg_i128 w = {a[0]}; jg_rescale(w, {digits - operand.scale}, 38, &w); {back}",
                fail(out_of_range, "JG_OVERFLOW"),
                f"else {out} = ({cpp_type(t)})w;",
            ],
            overflow_null,
        )

    def _simple(self, e: Call, a: list[str], null: str | None) -> Value:
        """Functions that cannot fail, computed from argument texts."""
        f, t, operand = e.function, e.type, e.args[0].type
        c = cpp_type(t)
        if f in ("floor", "ceil"):
            if operand.is_float:
                return self._local(t, f"({c})jg_{f}({a[0]})", null)
            power = constant(10**operand.scale, cpp_type(operand))
            step = f"- (({a[0]}) % {power} < 0)" if f == "floor" else f"+ (({a[0]}) % {power} > 0)"
            return self._local(t, f"({c})(({a[0]}) / {power} {step})", null)
        if f in _PARTS:
            days = a[0] if operand.kind == "date" else calls.days(a[0])
            return self._local(t, f"({c})jg_date_part({_PARTS[f]}, {days})", null)
        if f in _CLOCK:
            unit, count = _CLOCK[f]
            within = f"(({a[0]}) % {calls.DAY_US}ll + {calls.DAY_US}ll) % {calls.DAY_US}ll"
            return self._local(t, f"({within}) / {unit}ll % {count}", null)
        if f in ("like", "ilike"):
            escape = f"(unsigned char){a[2]}.data[0]" if len(a) > 2 else "-1"
            return self._local(t, f"(uint8_t)jg_{f}({a[0]}, {a[1]}, {escape})", null)
        if f == "concat":
            parts = self.name("parts")
            self.lines.append(f"const JgStr {parts}[] = {{{', '.join(a)}}};")
            text = f"jg_concat(t, {parts}, {len(a)})"
            return self._local(t, f"({null}) ? JgStr{{}} : {text}" if null else text, null)
        if f in ("trim", "ltrim", "rtrim"):
            return self._local(t, f"jg_trim({a[0]}, {int(f != 'rtrim')}, {int(f != 'ltrim')})", null)
        if f == "char_length":
            return self._local(t, f"jg_char_length({a[0]})", null)
        if f in ("starts_with", "ends_with"):
            start = f"{a[0]}.data" if f == "starts_with" else f"{a[0]}.data + {a[0]}.size - {a[1]}.size"
            return self._local(
                t, f"{a[0]}.size >= {a[1]}.size && jg_equal_str(JgStr{{{start}, {a[1]}.size}}, {a[1]})", null
            )
        assert f == "contains", f"no C++ for function {f}"
        return self._local(t, f"(uint8_t)jg_contains({a[0]}, {a[1]})", null)

    # ---- casts ----

    def _cast(self, e: Cast) -> Value:
        v = self.write(e.input)
        source, target = e.input.type, e.type
        c, null = cpp_type(target), v.null
        if source.same(target):
            return v
        if target.kind == "string" and source.kind != "binary":
            return self._local(target, self._to_text(v.text, source), null)
        if source.kind == "date" and target.kind == "timestamp":
            return self._local(target, f"(int64_t){v.text} * {calls.DAY_US}ll", null)
        if source.kind == "timestamp" and target.kind == "date":
            return self._local(target, calls.days(v.text), null)
        if target.kind == "binary" or source.kind == "bool":
            return self._local(target, f"({c}){v.text}" if source.kind == "bool" else v.text, null)
        if target.kind == "bool" and source.is_numeric:
            return self._local(target, f"({v.text}) != 0", null)
        if target.is_float and source.is_numeric:
            divided = f" / 1e{source.scale}" if source.scale else ""
            value = f"(double)({v.text}){divided}" if source.kind == "decimal" else v.text
            return self._local(target, f"({c})({value})", null)
        if source.is_integer and target.is_integer and _RANGES[source.kind] <= _RANGES[target.kind]:
            return self._local(target, f"({c})({v.text})", null)
        if target.kind == "decimal" and not source.is_float and source.is_numeric and _widens(source, target):
            power = constant(10 ** (target.scale - source.scale), c)
            return self._local(target, f"({c})({v.text}) * {power}", null)
        return self._guarded(
            e, null, lambda out, fail: self._checked_cast(v.text, source, target, out, fail), e.on_failure == "null"
        )

    def _to_text(self, v: str, source: DataType) -> str:
        if source.is_integer:
            return f"jg_int_to_text(t, {v})"
        if source.kind == "decimal":
            return f"jg_decimal_to_text(t, {v}, {source.scale})"
        return f"jg_bool_to_text({v})" if source.kind == "bool" else f"jg_{source.kind}_to_text(t, {v})"

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
            kind = "int" if target.is_integer else "float" if target.is_float else target.kind
            function = f"jg_text_to_{kind}" if target.is_numeric else f"jg_cast_to_{kind}"
            return [
                f"{wide} w{{}}; int {code} = {function}({v}, {extra}&w); {out} = ({c})w;",
                fail(f"{code} != JG_OK", code),
            ]
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
        return [
            f"jg_i128 w = 0; int ok = jg_rescale({v}, {target.scale - source.scale}, {target.precision}, &w);",
            f"{out} = ({c})w;",
            fail("!ok", "JG_OVERFLOW"),
        ]


def _hash(v: Value, type: DataType) -> str:
    """Numbers' hashes do not depend on their width."""
    found = f"jg_hash_wide({v.text})" if type.kind == "decimal" else hash_of(v.text, type)
    return f"(({v.null}) ? JG_HASH_NULL : {found})" if v.null else found


def _widens(source: DataType, target: DataType) -> bool:
    digits = {"int8": 3, "int16": 5, "int32": 10, "int64": 19}
    precision = source.precision if source.kind == "decimal" else digits[source.kind]
    return source.scale <= target.scale and precision - source.scale <= target.precision - target.scale


__all__ = ["ExpressionWriter", "Value", "any_null", "compare", "equal"]
