"""Typing of expressions: syntax → IR values. Constants are folded, as `arithmetic` says."""

from __future__ import annotations

import functools

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.arithmetic import binary, cut, unary
from jumpgate.p4.compiler.elaboration.names import (
    PADDING,
    Broken,
    Composite,
    EnumType,
    ExternType,
    Group,
    Listed,
    Scope,
    Stack,
    StackValue,
    Type,
    Value,
    describe,
)
from jumpgate.p4.compiler.elaboration.varbits import is_varbit, pieces, varbit
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Consequence, Diagnostics, Mistake, Position

#: of bit<N>, and of int<N>
WIDTH_MAX, SIGNED_MAX = 2048, 128
COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
#: constants of which are taken together: x + 1 + 2
FOLDED = ("+", "&", "|", "^")
EXTERNS = {
    "Register": 2, "RegisterAction": 3, "DirectRegister": 1, "DirectRegisterAction": 2, "Counter": 2,
    "DirectCounter": 1, "Hash": 1, "CRCPolynomial": 1, "Random": 1, "Mirror": 0, "Digest": 1, "Resubmit": 0,
    "Checksum": 0, "ParserCounter": 0, "ParserPriority": 0, "packet_in": 0, "packet_out": 0, "ActionProfile": 0,
    "ActionSelector": 0, "Atcam": 0, "Alpm": 0, "Meter": 1, "DirectMeter": 0, "Lpf": 2, "DirectLpf": 1, "Wred": 2,
    "DirectWred": 1, "value_set": 1, "RegisterParam": 1,
    "MathUnit": 1,
}  # fmt: skip
#: of types that TNA has, what to write in their place
INSTEAD = {
    "tuple": ": declare a struct with its fields",
}


class Expressions:
    """Types and expressions. `call` and the parser's `lookahead` are the statements' business."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self.diagnostics = diagnostics

    # ---- types ----

    def type(self, node: ast.TypeName | ast.Expression, scope: Scope) -> Type:
        if not isinstance(node, ast.TypeName):
            raise Mistake(node.position, "expected a type")
        found = self._plain_type(node, scope)
        if node.size is None:
            return found
        size = self.constant(node.size, scope)
        if not isinstance(found, Composite) or found.kind != "header":
            raise Mistake(node.position, "only headers can be stacked")
        if not 0 < size <= 256:
            raise Mistake(node.position, f"a stack of {size} headers; 1 to 256 are possible")
        return Stack(found, size)

    def _plain_type(self, node: ast.TypeName, scope: Scope) -> Type:
        if node.name in ("bit", "int"):
            if not node.arguments:
                return ir.Bits(1) if node.name == "bit" else ir.INTEGER
            argument = node.arguments[0]
            assert not isinstance(argument, ast.TypeName)
            width = self.constant(argument, scope)
            most = WIDTH_MAX if node.name == "bit" else SIGNED_MAX
            if not 0 < width <= most:
                raise Mistake(node.position, f"{node.name}<{width}>: widths are 1 to {most}")
            return ir.Bits(width, node.name == "int")
        if node.name == "varbit" and len(node.arguments) == 1:
            argument = node.arguments[0]
            assert not isinstance(argument, ast.TypeName)
            return varbit(self.constant(argument, scope), node.position)
        if node.name == "bool":
            return ir.BOOL
        if node.name == "_":
            return ir.Bits(32)
        if node.name in EXTERNS:
            without = "void" if node.name.endswith("RegisterAction") else ""  # it gives nothing out
            given = tuple(self.type(a, scope) for a in node.arguments if getattr(a, "name", "") != without)
            if len(given) < min(1, EXTERNS[node.name]):
                raise Mistake(node.position, f"{node.name}<…> needs its type")
            if ir.INTEGER in given:
                raise Mistake(node.position, f"{node.name}<…>: numbers need a width")
            return ExternType(node.name, given)
        if node.name == "error":
            node = ast.TypeName(node.position, "error")
        found = scope.type(node.name)
        if found is None:
            if isinstance(scope.value(node.name), Broken):
                raise Consequence(node.position, f"type '{node.name}' is wrong")
            raise Mistake(node.position, f"unknown type '{node.name}'{INSTEAD.get(node.name, '')}")
        return found

    def _listed(self, node: ast.ListExpression, scope: Scope) -> Listed:
        items = tuple(self.expression(item, scope) for item in node.items)
        for item, at in zip(items, node.items, strict=True):
            if pieces(item) is not None or (isinstance(item, StackValue) and is_varbit(item.type)):
                raise Mistake(at.position, "a varbit is extracted, copied and emitted; it is not possible in a list")
        if node.names and len(node.names) < len(items):
            raise Mistake(node.position, "the fields of a list are given all by name, or all in order")
        if len(set(node.names)) < len(node.names):
            raise Mistake(node.position, "two values are for one field")
        return Listed(items, node.names)

    def typed(self, value: Value, kind: Type, position: Position) -> Value:
        """The value where `kind` is needed: lists in the order of its fields, numbers with its widths."""
        if isinstance(kind, Composite):
            if isinstance(value, Group) and value.type.name == kind.name:
                return value
            if not isinstance(value, Listed):
                raise Mistake(position, f"expected {kind.name}, this is a {describe(value)}")
            items = self._ordered(value, kind, position)
            fields = {name: self.typed(item, t, position) for (name, t), item in zip(kind.fields, items, strict=False)}
            padding: dict[str, Value] = {
                name: ir.Const(0, t) for name, t in kind.fields if name == PADDING and isinstance(t, ir.Bits)
            }
            return Group(kind, fields | padding)
        if isinstance(kind, Stack):
            if not isinstance(value, StackValue) or value.type != kind:
                raise Mistake(position, f"expected a stack of {kind.size} headers, this is a {describe(value)}")
            return value
        return self.convert(self.plain(value, position), self.bits(kind, position), position)

    def _ordered(self, value: Listed, kind: Composite, position: Position) -> tuple[Value, ...]:
        """The values of a list in the order of the type's fields, of which each has one."""
        fields = [name for name, _ in kind.fields if name != PADDING]
        wrong = next((n for n in value.names if n not in fields), None)
        if wrong is not None:
            raise Mistake(position, f"{kind.name} has no field '{wrong}'; it has {', '.join(fields) or 'none'}")
        if len(value.items) != len(fields):
            raise Mistake(position, f"{kind.name} has {len(fields)} fields, the list {len(value.items)} values")
        if not value.names:
            return value.items
        given = dict(zip(value.names, value.items, strict=True))
        return tuple(given[name] for name in fields)

    def bits(self, kind: Type, position: Position) -> ir.Bits:
        if isinstance(kind, EnumType):
            return kind.bits
        if isinstance(kind, ir.Bits):
            return kind
        raise Mistake(position, "expected a scalar type")

    # ---- expressions ----

    def constant(self, node: ast.Expression, scope: Scope) -> int:
        value = self.expression(node, scope)
        if not isinstance(value, ir.Const):
            raise Mistake(node.position, "this must be known when the program is compiled")
        return value.value

    def scalar(self, node: ast.Expression, scope: Scope, wanted: ir.Bits | None = None) -> ir.Expr:
        """A scalar; of type `wanted` if given. Constants take the type they are needed in, others must have it."""
        return self.convert(self.plain(self.expression(node, scope), node.position), wanted, node.position)

    def plain(self, value: Value, position: Position) -> ir.Expr:
        if isinstance(value, ir.Expr):
            return value
        raise Mistake(position, f"expected a scalar, this is a {describe(value)}")

    def convert(self, value: ir.Expr, wanted: ir.Bits | None, position: Position) -> ir.Expr:
        if wanted is None or value.type == wanted:
            return value
        if value.type == ir.INTEGER and isinstance(value, ir.Const) and not wanted.boolean:
            low, high = (-(1 << wanted.width - 1), 1 << wanted.width) if wanted.width else (0, 0)
            if wanted.width and not low <= value.value < high:
                raise Mistake(position, f"{value.value} does not fit in {wanted}")
            return ir.Const(cut(value.value, wanted), wanted)
        if value.type == ir.INTEGER and isinstance(value, ir.Mux):  # c ? 7 : 8
            return ir.Mux(value.condition, *(self.convert(e, wanted, position) for e in (value.yes, value.no)))
        raise Mistake(position, f"expected {wanted}, this is {value.type}; a cast makes it explicit")

    def expression(self, node: ast.Expression, scope: Scope) -> Value:
        match node:
            case ast.Number():
                kind = ir.Bits(node.width, node.signed) if node.width else ir.INTEGER
                most = SIGNED_MAX if kind.signed else WIDTH_MAX
                if kind.width > most:
                    raise Mistake(node.position, f"widths are 1 to {most}")
                return ir.Const(node.value, kind)
            case ast.Boolean():
                return ir.Const(int(node.value), ir.BOOL)
            case ast.Name():
                return self._name(node, scope)
            case ast.Member():
                return self.member(node, scope)
            case ast.Index():
                return self._index(node, scope)
            case ast.Call():
                return self.call(node, scope)
            case ast.Unary():
                return self._unary(node, scope)
            case ast.Binary():
                return self._binary(node, scope)
            case ast.Cast():
                return self._cast(node, scope)
            case ast.ListExpression():
                return self._listed(node, scope)
        if isinstance(node, ast.Named):
            raise Mistake(node.position, "an argument by name is not possible here")
        raise Mistake(node.position, "'default' and '_' belong into key sets")

    def call(self, node: ast.Call, scope: Scope) -> Value:
        raise Mistake(node.position, "calls are not possible here")

    def _name(self, node: ast.Name, scope: Scope) -> Value:
        value = scope.value(node.name)
        if isinstance(value, Broken):
            raise Consequence(node.position, f"'{node.name}' is wrong")
        if value is None:
            kind = scope.type(node.name)
            if isinstance(kind, EnumType):
                return kind
            raise Mistake(node.position, f"'{node.name}' is not declared")
        return value

    def member(self, node: ast.Member, scope: Scope) -> Value:
        base = self.expression(node.base, scope)
        if isinstance(base, EnumType):
            for name, value in base.members:
                if name == node.name:
                    return ir.Const(value, base.bits)
            raise Mistake(node.position, f"{base.name} has no member '{node.name}'")
        if isinstance(base, Group):
            if node.name in base.fields:
                return base.fields[node.name]
            known = ", ".join(base.fields)
            raise Mistake(node.position, f"{base.type.name} has no field '{node.name}'; it has {known or 'none'}")
        raise Mistake(node.position, f"a {describe(base)} has no field '{node.name}'")

    def _index(self, node: ast.Index, scope: Scope) -> Value:
        base = self.expression(node.base, scope)
        high = self.constant(node.high, scope)
        if isinstance(base, StackValue):
            if node.low is not None or not 0 <= high < len(base.elements):
                raise Mistake(node.position, f"the stack has elements 0 to {len(base.elements) - 1}")
            return base.elements[high]
        value = self.plain(base, node.position)
        low = high if node.low is None else self.constant(node.low, scope)
        if value.type.boolean or not 0 <= low <= high < value.type.width:
            raise Mistake(node.position, f"[{high}:{low}] is not within {value.type}")
        if isinstance(value, ir.Const):
            return ir.Const(value.value >> low & (1 << high - low + 1) - 1, ir.Bits(high - low + 1))
        return ir.Slice(value, high, low)

    def _unary(self, node: ast.Unary, scope: Scope) -> ir.Expr:
        value = self.scalar(node.operand, scope, ir.BOOL if node.op == "!" else None)
        if value.type.boolean != (node.op == "!"):
            raise Mistake(node.position, f"'{node.op}' does not work on {value.type}")
        if node.op == "+":
            return value
        if isinstance(value, ir.Const):
            return ir.Const(unary(node.op, value.value, value.type), value.type)
        return ir.Unary(node.op, value, value.type)

    def same(self, a: ir.Expr, b: ir.Expr, position: Position) -> tuple[ir.Expr, ir.Expr]:
        if a.type == ir.INTEGER != b.type:
            a = self.convert(a, b.type, position)
        if b.type != a.type:
            b = self.convert(b, a.type, position)
        return a, b

    def _binary(self, node: ast.Binary, scope: Scope) -> ir.Expr:
        if node.op in ("&&&", ".."):
            raise Mistake(node.position, f"'{node.op}' belongs into key sets")
        left, right = self.expression(node.left, scope), self.expression(node.right, scope)
        if node.op in ("==", "!=") and (isinstance(left, Group) or isinstance(right, Group)):
            return self._alike(node.op, left, right, node.position)
        a, b = self.plain(left, node.left.position), self.plain(right, node.right.position)
        return self.operate(node.op, a, b, node.position)

    def _alike(self, op: str, left: Value, right: Value, position: Position) -> ir.Expr:
        """Headers are equal if neither is valid, or both are and have equal fields; structs, if their fields are."""
        kind = left.type if isinstance(left, Group) else right.type if isinstance(right, Group) else None
        assert kind is not None
        equal = self._equal(self.typed(left, kind, position), self.typed(right, kind, position), position)
        return equal if op == "==" else ir.Unary("!", equal, ir.BOOL)

    def _equal(self, a: Value, b: Value, position: Position) -> ir.Expr:
        if isinstance(a, ir.Expr) and isinstance(b, ir.Expr):
            return self.operate("==", a, b, position)
        if isinstance(a, StackValue) and isinstance(b, StackValue):
            pairs = list(zip(a.elements, b.elements, strict=True))
        else:
            assert isinstance(a, Group) and isinstance(b, Group)
            pairs = list(zip(a.fields.values(), b.fields.values(), strict=True))  # type: ignore[arg-type]
        true: ir.Expr = ir.Const(1, ir.BOOL)
        parts = [self._equal(x, y, position) for x, y in pairs]
        whole = functools.reduce(lambda x, y: ir.Binary("&&", x, y, ir.BOOL), parts) if parts else true
        if not (isinstance(a, Group) and isinstance(b, Group)) or a.valid is b.valid is None:
            return whole
        x, y = (ir.Get(g.valid) if g.valid else true for g in (a, b))
        both, any_ = ir.Binary("&&", x, y, ir.BOOL), ir.Binary("||", x, y, ir.BOOL)
        return ir.Binary("||", ir.Binary("&&", both, whole, ir.BOOL), ir.Unary("!", any_, ir.BOOL), ir.BOOL)

    def operate(self, op: str, a: ir.Expr, b: ir.Expr, position: Position) -> ir.Expr:
        """Applies an operator to typed operands, or says why it does not work on them."""
        if op in ("&&", "||"):
            for side in (a, b):
                if not side.type.boolean:
                    raise Mistake(position, f"'{op}' needs bool, this is {side.type}; compare it with 0")
            kind = ir.BOOL
        elif op == "++":
            if not (a.type.width and b.type.width) or a.type.boolean or b.type.boolean:
                raise Mistake(position, f"'++' needs operands with a width, these are {a.type} and {b.type}")
            kind = ir.Bits(a.type.width + b.type.width)
            if kind.width > WIDTH_MAX:
                raise Mistake(position, f"the result has {kind.width} bits; {WIDTH_MAX} are possible")
        elif op in ("<<", ">>"):
            if a.type.boolean or b.type.boolean or b.type.signed:
                raise Mistake(position, f"'{op}' does not work on {a.type} and {b.type}")
            if isinstance(b, ir.Const) and (b.value < 0 or (a.type == ir.INTEGER and b.value > 4096)):
                raise Mistake(position, f"a shift by {b.value}")
            if a.type == ir.INTEGER and not isinstance(b, ir.Const):
                raise Mistake(position, "give the shifted number a width")
            kind = a.type
        else:
            a, b = self.same(a, b, position)
            kind = ir.BOOL if op in COMPARISONS else a.type
            if a.type.boolean and op not in ("==", "!="):
                raise Mistake(position, f"'{op}' does not work on bool")
            if op in ("|+|", "|-|") and a.type == ir.INTEGER:
                raise Mistake(position, f"'{op}' needs operands with a width")
            if op in ("/", "%") and not (isinstance(a, ir.Const) and isinstance(b, ir.Const)):
                raise Mistake(position, f"'{op}' works on constants only; the hardware cannot divide")
            if op in ("/", "%") and isinstance(b, ir.Const) and b.value == 0:
                raise Mistake(position, "division by zero")
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            if max(abs(a.value), abs(b.value)).bit_length() > 4096:
                raise Mistake(position, "number too large")
            return ir.Const(binary(op, a.value, b.value, a.type, b.type), kind)
        if (  # as the hardware's compiler folds `x + 1 + 2`
            op in FOLDED and isinstance(a, ir.Binary) and a.op == op and kind.width
            and isinstance(a.right, ir.Const) and isinstance(b, ir.Const)
        ):  # fmt: skip
            return ir.Binary(op, a.left, ir.Const(binary(op, a.right.value, b.value, kind, kind), kind), kind)
        return ir.Binary(op, a, b, kind)

    def _cast(self, node: ast.Cast, scope: Scope) -> Value:
        kind = self.type(node.type, scope)
        if isinstance(kind, Composite):
            return self.typed(self.expression(node.operand, scope), kind, node.position)
        wanted = self.bits(kind, node.position)
        value = self.scalar(node.operand, scope)
        if wanted.boolean != value.type.boolean and 1 not in (wanted.width, value.type.width):
            raise Mistake(node.position, f"{value.type} cannot be cast to {wanted}")
        is_truth = value.type == ir.INTEGER and isinstance(value, ir.Const) and value.value in (0, 1)
        if wanted.boolean and value.type.width != 1 and not is_truth:
            raise Mistake(node.position, f"{value.type} cannot be cast to bool; compare it with 0")
        if isinstance(value, ir.Const):
            number = value.value
            if value.type.signed and number >> value.type.width - 1:
                number -= 1 << value.type.width
            return ir.Const(cut(number, wanted), wanted)
        return value if value.type == wanted else ir.Cast(value, wanted)
