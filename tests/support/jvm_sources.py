"""Java sources of clients/jvm that are made from the Python declarations: functions, errors, dialects, cost units."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from jumpgate import errors
from jumpgate.cli.serve import DEFAULT_PORT
from jumpgate.dataflow.aggregate import AggregateFunction
from jumpgate.dataflow.aggregates import AGGREGATES
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.dialect import CHOICES, DEFAULT
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal
from jumpgate.dataflow.function import Function, Types
from jumpgate.dataflow.functions import BUILT_IN
from jumpgate.dataflow.operator_parts import WINDOW_FUNCTIONS, window_type
from jumpgate.dataflow.types import DataType, bool_, date, decimal, float64, int32, int64, string
from jumpgate.errors import JumpgateError
from jumpgate.nca.speeds import assumed
from jumpgate.ntf import frames

MADE = "Made from the Python declarations: {@code ./dev golden --update-golden}."
#: Python's rules of result types → constants of TypeRule.java
_RULES = {
    "first": "FIRST", "second": "SECOND", "sum_type": "SUM", "product_type": "PRODUCT", "round_type": "ROUND",
    "whole_type": "WHOLE", "coalesced": "COALESCED", "nullable_first": "NULLABLE_FIRST", "_declared": "DECLARED",
    "_as_separator": "AS_SEPARATOR", "three_valued": "THREE_VALUED", "_summed": "SUMMED", "_same": "NULLABLE_FIRST",
    "_integral": "NULLABLE_FIRST", "_middle": "MIDDLE", "_listed": "LISTED", "_collected": "COLLECTED",
    "element_type": "ELEMENT", "value_type": "VALUE", "key_list_type": "KEYS", "value_list_type": "VALUES",
    "map_type": "MAP", "list_type": "COLLECTED", "struct_type": "STRUCT", "zip_type": "ZIP",
}  # fmt: skip
#: rules that only refuse some arguments: their type is that of any argument
_CONSTANT = {"never_null", "_comparable", "_text"}
_NEVER_NULL = {"bool": "CERTAIN", "int64": "COUNT", "float64": "NUMBER"}
_INT = int32.with_nullable(False)
#: types of arguments, some of them never NULL
_SAMPLES = (bool_, _INT, int64, float64, decimal(7, 2), decimal(20, 4, False), date, string)
_PROBE, _SUM = decimal(7, 2), decimal(38, 2)


def sources() -> Mapping[str, str]:
    """Return the text of each file below clients/jvm/src/main/java/io/jumpgate."""
    return {
        "dataflow/ScalarFunction.java": _scalars(),
        "dataflow/MeasureFunction.java": _measures(),
        "dataflow/WindowFunction.java": _windows(),
        "dataflow/Dialect.java": _dialect(),
        "ErrorCode.java": _errors(),
        "client/Work.java": _work(),
        "Defaults.java": _defaults(),
    }


# ---- functions -------------------------------------------------------------------------------------------------------


def _scalars() -> str:
    constants = (_constant(f.name, _nulls(f), _rule(f.result, (), ())) for f in BUILT_IN.values() if not f.internal)
    return _file("dataflow", f"""\
        /** Functions of docs/functions.md, and the types of their calls. {MADE} */
        public enum ScalarFunction {{
        {_listed(constants)}

          private enum Nulls {{ OF_ARGUMENTS, ALWAYS, BY_RULE }}

          private final String text;
          private final Nulls nulls;
          private final TypeRule rule;

          ScalarFunction(String text, Nulls nulls, TypeRule rule) {{
            this.text = text;
            this.nulls = nulls;
            this.rule = rule;
          }}

          /** The name in requests. */
          public String text() {{
            return text;
          }}

          /** Calls it; the arguments have the types that it takes. */
          public Expression of(Expression... arguments) {{
            List<Expression> all = List.of(arguments);
            DataType type = rule.of(all);
            return Expression.call(text, switch (nulls) {{
              case OF_ARGUMENTS -> type.withNullable(all.stream().anyMatch(a -> a.type().nullable()));
              case ALWAYS -> type.withNullable(true);
              case BY_RULE -> type;
            }}, all);
          }}
        }}
        """, "java.util.List")  # fmt: skip


def _nulls(function: Function) -> str:
    return "Nulls." + ("BY_RULE" if not function.strict else "ALWAYS" if function.fallible else "OF_ARGUMENTS")


def _measures() -> str:
    constants = (_constant(a.name, _rule(a.result, (int32,)), *_states(a)) for a in AGGREGATES.values())
    return _file("dataflow", f"""\
        /** Aggregate functions of docs/functions.md, their types, and those of their partial states. {MADE} */
        public enum MeasureFunction {{
        {_listed(constants)}

          private final String text;
          private final TypeRule rule;
          private final List<TypeRule> states;

          MeasureFunction(String text, TypeRule rule, TypeRule... states) {{
            this.text = text;
            this.rule = rule;
            this.states = List.of(states);
          }}

          /** The name in requests. */
          public String text() {{
            return text;
          }}

          /** The form over distinct values. Raises IllegalArgumentException where there is none. */
          public MeasureFunction distinct() {{
            return valueOf(name() + "_DISTINCT");
          }}

          /** The function of that name; empty: there is none. */
          public static Optional<MeasureFunction> named(String text) {{
            return Arrays.stream(values()).filter(f -> f.text.equals(text)).findFirst();
          }}

          /** The type of its result. */
          public DataType type(List<Expression> arguments) {{
            return rule.of(arguments);
          }}

          /** Types of the columns of a partial aggregate; empty: it is not computed in parts. */
          List<DataType> states(List<Expression> arguments) {{
            return states.stream().map(state -> state.of(arguments)).toList();
          }}
        }}
        """, "java.util.Arrays", "java.util.List", "java.util.Optional")  # fmt: skip


def _states(function: AggregateFunction) -> list[str]:
    """Return the rules of the types of partial states; none where they depend on an order."""
    if not function.has_parts or function.states is None or function.ordered:
        return []
    try:
        probes: Types = (_PROBE,) * function.arity
        types = function.states.types(probes, ())
    except TypeMismatch:
        probes = (int32,) * function.arity
        types = function.states.types(probes, ())
    return [_state(t, probes) for t in types]


def _state(type: DataType, probes: Types) -> str:
    if type == _SUM:
        return "TypeRule.SUMMED"
    return "TypeRule.NULLABLE_FIRST" if type in probes else _always(type)


def _windows() -> str:
    constants = (_constant(name, _window_rule(name)) for name in WINDOW_FUNCTIONS)
    return _file("dataflow", f"""\
        /** Window functions, and the types of their results. {MADE} */
        public enum WindowFunction {{
        {_listed(constants)}

          private final String text;
          private final TypeRule rule;

          WindowFunction(String text, TypeRule rule) {{
            this.text = text;
            this.rule = rule;
          }}

          /** The name in requests. */
          public String text() {{
            return text;
          }}

          /** The type of its result. */
          public DataType type(List<Expression> arguments) {{
            return rule.of(arguments);
          }}
        }}
        """, "java.util.List")  # fmt: skip


def _window_rule(name: str) -> str:
    if name in AGGREGATES:
        return _rule(AGGREGATES[name].result, (int32,))
    type = window_type(name, (_PROBE,))
    return "TypeRule.NULLABLE_FIRST" if type == _PROBE else _always(type)


def _rule(rule: object, *probe: object) -> str:
    """Return the Java of a rule of result types; `probe`: arguments for one whose result is constant."""
    name = getattr(rule, "__name__", "")
    if name in _RULES:
        return f"TypeRule.{_RULES[name]}"
    assert callable(rule) and (name in _CONSTANT or hasattr(rule, "type")), f"TypeRule.java does not know {rule}"
    if name == "_text":
        return "TypeRule.always(DataType.STRING)"
    return _always(rule(*probe))


def _always(type: DataType) -> str:
    if not type.nullable and type.kind in _NEVER_NULL:
        return f"TypeRule.{_NEVER_NULL[type.kind]}"
    constant = f"DataType.{type.kind.upper()}"
    if type.kind == "list":
        constant = f"DataType.list(DataType.{type.parts[0].type.kind.upper()})"
    return f"TypeRule.always({constant}{'' if type.nullable else '.withNullable(false)'})"


# ---- errors, dialects, costs, defaults -------------------------------------------------------------------------------


def _errors() -> str:
    kinds = [k for k in errors.kinds() if k.__module__ == "jumpgate.errors" and k is not JumpgateError]
    constants = (_constant(k.code, str(k.is_unreachable).lower()) for k in kinds)
    return _file("", f"""\
        /** Codes of errors, which docs/errors.md describes. {MADE} */
        public enum ErrorCode {{
        {_listed(constants)}

          private final String text;
          private final boolean isUnreachable;

          ErrorCode(String text, boolean isUnreachable) {{
            this.text = text;
            this.isUnreachable = isUnreachable;
          }}

          /** The name on the wire. */
          public String text() {{
            return text;
          }}

          /** Return whether trying again, or elsewhere, may succeed. */
          public boolean isUnreachable() {{
            return isUnreachable;
          }}

          /** The code of that name; empty: a newer service has it. */
          public static Optional<ErrorCode> named(String text) {{
            return Arrays.stream(values()).filter(code -> code.text.equals(text)).findFirst();
          }}
        }}
        """, "java.util.Arrays", "java.util.Optional")  # fmt: skip


def _dialect() -> str:
    names = {choice: "".join(part.title() for part in choice.split("_")) for choice in CHOICES}
    members = {choice: f"{name[0].lower()}{name[1:]}" for choice, name in names.items()}
    enums = "\n\n".join(
        f"  public enum {names[choice]} {{ {', '.join(v.upper() for v in values)} }}"
        for choice, values in CHOICES.items()
    )
    defaults = ", ".join(f"{names[c]}.{getattr(DEFAULT, c).upper()}" for c in CHOICES)
    setters = "\n".join(f"        .set{names[c]}(text({members[c]}))" for c in CHOICES)
    return _file("dataflow", f"""\
        /**
         * The choices of an engine where engines differ; docs/functions.md lists them, and jumpgate/dataflow/dialect.py
         * defines each. {MADE}
         */
        public record Dialect({", ".join(f"Dialect.{names[c]} {members[c]}" for c in CHOICES)}) {{
        {enums}

          public static final Dialect DEFAULT = new Dialect({defaults});

          io.jumpgate.v1.Dialect toProto() {{
            return io.jumpgate.v1.Dialect.newBuilder()
        {setters}
                .build();
          }}

          private static String text(Enum<?> choice) {{
            return choice.name().toLowerCase(Locale.ROOT);
          }}
        }}
        """, "java.util.Locale")  # fmt: skip


def _work() -> str:
    constants = (_constant(kind) for kind in sorted(assumed()))
    return _file("client", f"""\
        /** Units of the cost model (jumpgate/nca/speeds.py). {MADE} */
        public enum Work {{
        {_listed(constants)}

          private final String text;

          Work(String text) {{
            this.text = text;
          }}

          /** The name in requests. */
          public String text() {{
            return text;
          }}
        }}
        """)  # fmt: skip


def _defaults() -> str:
    return _file("", f"""\
        /** Settings and limits that clients share with the service. {MADE} */
        public final class Defaults {{
          public static final String ADDRESS = "127.0.0.1:{DEFAULT_PORT}";

          /** The most rows, and bytes, of a frame. */
          public static final int FRAME_ROWS_MAX = {frames.ROWS_MAX};

          public static final int FRAME_DATA_BYTES_MAX = {frames.DATA_BYTES_MAX};
          public static final int FRAME_CONTROL_BYTES_MAX = {frames.CONTROL_BYTES_MAX};

          /** The most bytes of an error frame's code and sentence. */
          public static final int ERROR_CODE_BYTES_MAX = {frames.TEXT_MAX["code"]};

          public static final int ERROR_MESSAGE_BYTES_MAX = {frames.TEXT_MAX["message"]};

          private Defaults() {{}}
        }}
        """)  # fmt: skip


# ---- examples of types ---------------------------------------------------------------------------------------------


def typed_calls() -> list[dict[str, object]]:
    """Return calls, with the types of their arguments (or literals) and of their results."""
    return [*_scalar_calls(), *_other_calls()]


def _scalar_calls() -> Iterator[dict[str, object]]:
    literals = {"round": (0, 1, 2, 3, -1), "divide_decimal": (12, 4), "float_to_decimal": (12, 4), "truncate": (1,)}
    for function in BUILT_IN.values():
        digits = literals.get(function.name, ())
        if function.internal or function.literals and not digits:
            continue
        choices = [(d,) for d in digits] if function.name == "round" else [digits]
        count = function.arity[0] if function.name == "round" else function.arity[0] - len(digits)
        for types in itertools.product(_SAMPLES, repeat=min(count, 3)):
            for values in choices:
                arguments = tuple(ColumnRef(t, i) for i, t in enumerate(types)) + tuple(
                    Literal(_INT, v) for v in values
                )
                with contextlib.suppress(TypeMismatch, ValueError):
                    if function.operands(tuple(a.type for a in arguments)) == tuple(a.type for a in arguments):
                        yield _call("scalar", function.name, arguments, function.type_of(arguments))


def _other_calls() -> Iterator[dict[str, object]]:
    for aggregate in AGGREGATES.values():
        for type in _SAMPLES:
            with contextlib.suppress(TypeMismatch):
                columns = tuple(ColumnRef(type, i) for i in range(aggregate.arity))
                types = tuple(c.type for c in columns)
                if not aggregate.options:
                    yield _call("measure", aggregate.name, columns, aggregate.type_of(types))
    for name in WINDOW_FUNCTIONS:
        for type in _SAMPLES:
            with contextlib.suppress(TypeMismatch):
                columns = () if name == "count_star" else (ColumnRef(type, 0),)
                yield _call("window", name, columns, window_type(name, tuple(c.type for c in columns)))


def _call(kind: str, function: str, arguments: Sequence[Expression], type: DataType) -> dict[str, object]:
    texts = [str(a.value) if isinstance(a, Literal) else _text(a.type) for a in arguments]
    return {"kind": kind, "function": function, "arguments": texts, "type": _text(type)}


def _text(type: DataType) -> str:
    """Return a type as descriptors and Java's clients write it."""
    return str(type).replace(", ", ",")


# ---- text ------------------------------------------------------------------------------------------------------------


def _constant(name: str, *rest: str) -> str:
    """
    >>> _constant("scan byte")
    'SCAN_BYTE("scan byte")'
    """
    return f"{name.upper().replace(' ', '_')}({', '.join((_quoted(name), *rest))})"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _listed(constants: Iterable[str]) -> str:
    return ",\n".join(f"  {c}" for c in constants) + ";"


def _file(package: str, body: str, *imports: str) -> str:
    """Return a source file; `body` may be indented by eight."""
    lines = [line.removeprefix("        ") if line.startswith("        ") else line for line in body.splitlines()]
    head = [f"package {'.'.join(filter(None, ('io.jumpgate', package)))};", ""]
    head += [f"import {name};" for name in imports] + [""] * bool(imports)
    return "\n".join([*head, *lines, ""])
