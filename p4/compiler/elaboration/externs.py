"""TNA's externs and tables: instances and their methods."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterable, Sequence

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.elaboration.arithmetic import read
from jumpgate.p4.compiler.elaboration.lower import Lower
from jumpgate.p4.compiler.elaboration.mathunits import MATH_OPERATIONS, OPERATIONS, SCALES, VALUES, configured
from jumpgate.p4.compiler.elaboration.names import (
    Closure,
    ExternType,
    Group,
    Hashing,
    Instance,
    Listed,
    Packet,
    RegisterAction,
    Scope,
    StackValue,
    Value,
    describe,
    flat_fields,
    in_order,
    scalars,
)
from jumpgate.p4.compiler.elaboration.varbits import fixed, pieces
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Mistake, Position

CRCS = {
    "CRC8": ir.Crc(8, 0x07, 0, 0, False),
    "CRC16": ir.Crc(16, 0x8005, 0, 0, True),
    "CRC32": ir.Crc(32, 0x04C11DB7, 0xFFFFFFFF, 0xFFFFFFFF, True),
    "CRC64": ir.Crc(64, 0x42F0E1EBA9EA3693, 0, 0, False),
    "RANDOM": ir.Crc(
        64, 0xAD93D23594C935A9, (1 << 64) - 1, (1 << 64) - 1, True
    ),  # a fixed one; good bits for all widths
}
KINDS = ("packets", "bytes", "both")
PREFIX = {
    "action": 0x01,
    "table": 0x02,
    "counter": 0x12,
    "direct_counter": 0x13,
    "register": 0x16,
    "digest": 0x17,
    "value_set": 0x03,
    "meter": 0x14,
    "direct_meter": 0x15,
}
#: of constructors; those at the end may be left out
GIVEN = {
    "Register": ("size", "initial_value"), "DirectRegister": ("initial_value",), "RegisterAction": ("reg",),
    "DirectRegisterAction": ("reg",), "Counter": ("size", "type"), "DirectCounter": ("type",),
    "Hash": ("algo", "poly"), "CRCPolynomial": ("coeff", "reversed", "msb", "extended", "init", "xor"),
    "Mirror": ("mirror_type",), "Resubmit": ("resubmit_type",), "Digest": ("digest_type",),
    "Meter": ("size", "type", "red", "yellow", "green"), "DirectMeter": ("type", "red", "yellow", "green"),
    "Lpf": ("size",), "Wred": ("size", "drop_value", "no_drop_value"), "DirectWred": ("drop_value", "no_drop_value"),
    "ActionProfile": ("size",), "value_set": ("size",),
}  # fmt: skip
#: of methods, likewise
ARGUMENTS = {
    "get": ("data",),
    "count": ("index", "adjust_byte_count"),
    "update": ("data", "zeros_as_ones"),
    "add": ("data",),
    "subtract": ("data",),
}
GREEN, YELLOW, RED = 0, 1, 3
#: how externs of the deparser hand bytes to others, and how many at most
SENT_BY = {"Mirror": "emit", "Resubmit": "emit", "Digest": "pack"}
SENDS = tuple(SENT_BY.items())
BYTES_MAX = {"Mirror": 32, "Resubmit": 8, "Digest": 48}
MIRROR_ID = ir.Bits(10)
#: kinds of digests, mirrors and resubmissions that a deparser tells apart
KINDS_MAX = 8
MEMBERS_MAX = 1 << 16
HASH_ALGORITHMS = ("IDENTITY", "RANDOM", "XOR8", "XOR16", "XOR32", "CRC8", "CRC16", "CRC32", "CRC64", "CUSTOM")


class Externs(Lower):
    ids: dict[int, str]

    def id(self, kind: str, name: str) -> int:
        """A P4Runtime id: the kind's prefix and 24 bits of the name's CRC; the next free one on a collision."""
        made = PREFIX[kind] << 24 | (zlib.crc32(name.encode()) & 0xFFFFFF or 1)
        while self.ids.setdefault(made, f"{kind} {name}") != f"{kind} {name}":
            made += 1
        return made

    # ---- instances ----

    def instance(self, node: ast.Instance, scope: Scope) -> Value:
        kind = self.type(node.type, scope)
        name = f"{scope.prefix}{node.name}"
        if not isinstance(kind, ExternType):
            raise Mistake(node.position, f"'{node.type.name}' cannot be instantiated")
        if node.symmetric and kind.name != "Hash":
            raise Mistake(node.position, "@symmetric is for a Hash")
        if kind.name in GIVEN:
            node = dataclasses.replace(node, arguments=in_order(node.arguments, GIVEN[kind.name], node.position))
        match kind.name:
            case "Register" | "DirectRegister":
                return self._register(node, kind, name, scope)
            case "RegisterAction" | "DirectRegisterAction":
                register = self.expression(node.arguments[0], scope) if node.arguments else None
                if not isinstance(register, Instance) or register.type.name != kind.name.removesuffix("Action"):
                    raise Mistake(node.position, f"a {kind.name} needs its register as argument")
                if len(node.body) != 1 or node.body[0].name != "apply":
                    raise Mistake(node.position, f"a {kind.name} needs one function, apply")
                return RegisterAction(register.number, node.body[0], scope, node.name)
            case "Counter" | "DirectCounter":
                return self._counter(node, kind, name, scope)
            case "Meter" | "DirectMeter":
                return self._meter(node, kind, name, scope)
            case "Hash":
                return Instance(kind, name, data=Hashing(self._algorithm(node, kind, scope), node.symmetric))
            case "CRCPolynomial":
                return Instance(kind, name, data=self._polynomial(node, kind, scope))
            case "RegisterParam" | "Wred" | "DirectWred" if not node.arguments:
                raise Mistake(node.position, f"a {kind.name} is made with its values")
            case "RegisterParam":
                value = self.scalar(node.arguments[0], scope, self.bits(kind.arguments[0], node.position))
                return Instance(kind, name, data=value)
            case "Wred" | "DirectWred":
                return Instance(kind, name, data=self.constant(node.arguments[-1], scope))
            case "MathUnit":
                return Instance(kind, name, data=self._math_unit(node, kind, scope))
            case "value_set":
                size = self.constant(node.arguments[0], scope) if node.arguments else 0
                if not 0 < size <= MEMBERS_MAX or not flat_fields(kind.arguments[0]):
                    raise Mistake(node.position, f"value_set<numbers>(size), of 1 to {MEMBERS_MAX} members")
                return Instance(kind, name, data=size)
            case "Digest":
                number = len(self.program.digests)
                if number == KINDS_MAX * len(self.program.pipes):
                    raise Mistake(node.position, f"more than {KINDS_MAX} digests; a deparser tells as many apart")
                fields = tuple((f, t.width) for f, t in flat_fields(kind.arguments[0]))
                self.program.digests.append(ir.DigestInfo(name, self.id("digest", name), fields))
                return Instance(kind, name, number)
        return Instance(kind, name)

    def _register(self, node: ast.Instance, kind: ExternType, name: str, scope: Scope) -> Instance:
        fields = flat_fields(kind.arguments[0])
        direct = kind.name == "DirectRegister"
        if not 1 <= len(fields) <= 2 or any(t.width > 64 for _, t in fields):
            raise Mistake(node.position, "a register's element is one number, or a struct of two")
        if fields[0][1].width not in (1, 8, 16, 32, 64) or len({t.width for _, t in fields}) > 1:
            raise Mistake(
                node.position, "a register's numbers have 1, 8, 16 or 32 bits (64 on Tofino 2), equal in a pair"
            )
        arguments = list(node.arguments)
        size = 1 if direct else self.constant(arguments.pop(0), scope) if arguments else 0
        if not 0 < size <= 1 << 26:
            raise Mistake(node.position, f"a register of {size} elements")
        values = (0,) * len(fields)
        if arguments:
            given = scalars(self.typed(self.expression(arguments[0], scope), kind.arguments[0], node.position))
            if not all(isinstance(e, ir.Const) for e in given):
                raise Mistake(node.position, f"the initial value is {len(fields)} constants")
            values = tuple(e.value for e in given if isinstance(e, ir.Const))
        width = 0 if direct or len(kind.arguments) < 2 else self.bits(kind.arguments[1], node.position).width
        number = len(self.program.registers)
        self.program.registers.append(
            ir.Register(name, self.id("register", name), size, fields, values, width, -1, node.position)
        )
        return Instance(kind, name, number)

    def _counter(self, node: ast.Instance, kind: ExternType, name: str, scope: Scope) -> Instance:
        direct = kind.name == "DirectCounter"
        arguments = [self.constant(a, scope) for a in node.arguments]
        if len(arguments) != 2 - direct or not 0 <= arguments[-1] < 3:
            raise Mistake(node.position, f"{kind.name}({'' if direct else 'size, '}CounterType_t.…)")
        size = 1 if direct else arguments[0]
        prefix = "direct_counter" if direct else "counter"
        number = len(self.program.counters)
        self.program.counters.append(
            ir.Counter(name, self.id(prefix, name), size, KINDS[arguments[-1]], -1, node.position)
        )
        return Instance(kind, name, number)

    def _meter(self, node: ast.Instance, kind: ExternType, name: str, scope: Scope) -> Instance:
        direct = kind.name == "DirectMeter"
        arguments = [self.constant(a, scope) for a in node.arguments]
        size = 1 if direct else arguments.pop(0) if arguments else 0
        if len(arguments) not in (1, 4) or arguments[0] not in (0, 1) or not 0 < size <= 1 << 26:
            raise Mistake(
                node.position, f"{kind.name}({'' if direct else 'size, '}MeterType_t.…[, red, yellow, green])"
            )
        red, yellow, green = arguments[1:] or (RED, YELLOW, GREEN)
        made = self.id("direct_meter" if direct else "meter", name)
        number = len(self.program.meters)
        colours = green, yellow, red
        self.program.meters.append(ir.Meter(name, made, size, KINDS[arguments[0]], colours, -1, node.position))
        return Instance(kind, name, number)

    def _polynomial(self, node: ast.Instance, kind: ExternType, scope: Scope) -> ir.Crc:
        width = self.bits(kind.arguments[0], node.position).width
        if len(node.arguments) != 6 or not 8 <= width <= 64:
            raise Mistake(node.position, "CRCPolynomial<bit<8…64>>(coefficient, reversed, msb, extended, init, xor)")
        values = [self.constant(a, scope) & (1 << width) - 1 for a in node.arguments]
        return ir.Crc(width, values[0], values[4], values[5], bool(values[1]))

    def _algorithm(self, node: ast.Instance, kind: ExternType, scope: Scope) -> ir.Crc | str:
        width = self.bits(kind.arguments[0], node.position).width
        number = self.constant(node.arguments[0], scope) if node.arguments else 0
        if not 0 <= number < len(HASH_ALGORITHMS):
            raise Mistake(node.position, f"there is no hash algorithm {number}; see HashAlgorithm_t")
        name = HASH_ALGORITHMS[number]
        if name == "CUSTOM":
            custom = self.expression(node.arguments[1], scope) if len(node.arguments) > 1 else None
            if not isinstance(custom, Instance) or not isinstance(custom.data, ir.Crc):
                raise Mistake(node.position, "a CUSTOM hash needs a CRCPolynomial")
            found: ir.Crc | str = custom.data
        else:
            found = CRCS.get(name, name.lower())
        limit = found.width if isinstance(found, ir.Crc) else {"xor8": 8, "xor16": 16, "xor32": 32}.get(found, 64)
        if width > limit and not isinstance(found, ir.Crc):
            raise Mistake(node.position, f"the hash gives {limit} bits, bit<{width}> is wanted")
        return found

    def _math_unit(self, node: ast.Instance, kind: ExternType, scope: Scope) -> ir.MathUnit:
        """MathUnit(invert, shift, scale, {values 15 … 0}), MathUnit(operation, factor), MathUnit(operation, a, b)."""
        at, count = node.position, len(node.arguments)
        if self.bits(kind.arguments[0], at).width not in (8, 16, 32) or not 2 <= count <= 4:
            raise Mistake(
                at, "MathUnit<bit<8, 16 or 32>>(operation, factor[, divisor]), or (invert, shift, scale, {values})"
            )
        numbers = []
        for argument in node.arguments[:3]:
            value = self.expression(argument, scope)
            if not isinstance(value, ir.Const):
                raise Mistake(argument.position, "this must be known when the program is compiled")
            numbers.append(read(value.value, value.type))
        if count == 4:
            given = scalars(self.expression(node.arguments[3], scope))
            values = [e.value for e in given if isinstance(e, ir.Const) and 0 <= e.value < 256]
            invert, shift, scale = numbers
            if len(values) != len(given) or len(values) != VALUES or scale not in SCALES or shift not in (-1, 0, 1):
                raise Mistake(at, "a MathUnit has 16 values of 8 bits, a scale of -32 to 31, and a shift of -1, 0 or 1")
            return ir.MathUnit(bool(invert), shift, scale, tuple(reversed(values)))
        operation = MATH_OPERATIONS[numbers[0]]
        if operation not in OPERATIONS:
            raise Mistake(at, f"compilers do not agree on MathOp_t.{operation}; give the 16 values")
        if any(n <= 0 for n in numbers[1:]):
            raise Mistake(at, "the factor of a MathUnit is positive")
        return configured(operation, numbers[1] / (numbers[2] if count == 3 else 1))

    def _approximated(self, base: Instance, inputs: Sequence[ir.Expr], position: Position) -> ir.Expr:
        assert isinstance(base.data, ir.MathUnit)
        kind = self.bits(base.type.arguments[0], position)
        if not self.in_register:
            raise Mistake(position, "a MathUnit is part of a register's ALU: execute it in a RegisterAction")
        if len(inputs) != 1:
            raise Mistake(position, "execute takes one number")
        return ir.Approximation(base.data, self.convert(inputs[0], kind, position), kind)

    def value_set(self, values: Instance, keys: tuple[ir.Key, ...], position: Position) -> ir.Table:
        assert isinstance(values.data, int)
        member = ir.TableAction("NoAction", self.id("action", "NoAction"), (), (), (), "")
        number = self.id("value_set", values.name)
        return ir.Table(
            values.name, number, keys, (member,), values.data, 0, (), True, None, position, is_value_set=True
        )

    # ---- methods ----

    def method(self, base: Value, name: str, node: ast.Call, scope: Scope) -> Value | None:
        at = node.position
        if isinstance(base, Group):
            return self.header_method(base, name, at)
        if isinstance(base, StackValue):
            self.stack_method(base, name, node, scope)
            return None
        if isinstance(base, Packet):
            return self.packet_method(name, node, scope)
        if isinstance(base, RegisterAction) and name == "execute":
            if self.program.registers[base.register].index_width:
                arguments = in_order(node.arguments, ("index",), at)
                if len(arguments) != 1:
                    raise Mistake(at, "execute takes one index")
                index = self.scalar(arguments[0], scope)
            else:
                if self.entry is None:
                    raise Mistake(at, "a DirectRegister's action is executed in an action of its table")
                index = ir.Get(self.entry)
            return self.execute(base, index, at)
        if isinstance(base, Closure) and name == "apply":
            if isinstance(base.node, ast.Table):
                self.apply(base, at)
            else:
                self.apply_block(base, node, scope)
            return None
        if isinstance(base, Instance):
            return self._extern_method(base, name, node, scope)
        raise Mistake(at, f"a {describe(base)} has no method '{name}'")

    def _extern_method(self, base: Instance, name: str, node: ast.Call, scope: Scope) -> Value | None:
        if (base.type.name, name) in SENDS:
            self.out.append(self._sent(base, node, scope))
            return None
        arguments = in_order(node.arguments, _parameters(base.type.name, name), node.position)
        inputs = [e for a in arguments for e in scalars(self.expression(a, scope))]
        match base.type.name, name:
            case "Hash", "get":
                if not inputs or any(not e.type.width for e in inputs):
                    raise Mistake(node.position, "the hash's inputs need widths")
                assert isinstance(base.data, Hashing)
                kind = self.bits(base.type.arguments[0], node.position)
                taken = _symmetric(inputs, base.data.symmetric, node.position)
                return self._kept(_hash(base.data.algorithm, taken, kind), "hash")
            case "Random", "get":
                return self._kept(ir.Random(self.bits(base.type.arguments[0], node.position)), "random")
            case (("Meter" | "DirectMeter"), "execute"):
                return self._measure(base, inputs, node.position)
            case (("Lpf" | "DirectLpf"), "execute") if inputs:
                return inputs[0]
            case (("Wred" | "DirectWred"), "execute") if isinstance(base.data, int):
                return ir.Const(base.data, ir.Bits(8))
            case (("Counter" | "DirectCounter"), "count"):
                index: ir.Expr | None = None
                if base.type.name == "Counter" and inputs:
                    index = inputs.pop(0)
                elif base.type.name == "DirectCounter" and self.entry:
                    index = ir.Get(self.entry)
                if index is None or len(inputs) > 1:
                    raise Mistake(node.position, "count(index), or count() in an action of a direct counter's table")
                self.out.append(ir.Count(base.number, index, node.position, inputs[0] if inputs else None))
                return None
            case "RegisterParam", "read" if isinstance(base.data, ir.Const):
                return base.data
            case "Checksum", _:
                return self._checksum(base, name, inputs, node.position)
            case "ParserPriority", "set":
                return None
            case "MathUnit", "execute":
                return self._approximated(base, inputs, node.position)
            case "this", "predicate":
                return _predicate(inputs, self.bits(base.type.arguments[0], node.position), node.position)
        raise Mistake(node.position, f"{base.type.name}.{name} is not supported")

    def _sent(self, base: Instance, node: ast.Call, scope: Scope) -> ir.Stmt:
        """Return the statement that sends bytes to others, of the type that is named or of the digest's own."""
        kind, at = base.type.name, node.position
        names = {"Mirror": ("session_id", "hdr"), "Resubmit": ("hdr",), "Digest": ("data",)}[kind]
        arguments = list(in_order(node.arguments, names, at))
        if not (kind == "Mirror") <= len(arguments) <= len(names) or (kind == "Digest" and not arguments):
            raise Mistake(at, f"{kind}.{SENT_BY[kind]} takes {' and '.join(names)}")
        session: ir.Expr = ir.Const(0, ir.INTEGER)
        if kind == "Mirror":
            session = self.scalar(arguments.pop(0), scope)
            session = self.convert(session, MIRROR_ID, at) if session.type == ir.INTEGER else session
            if session.type.boolean or session.type.width > MIRROR_ID.width:
                raise Mistake(at, f"a mirror session is {MIRROR_ID}, this is {session.type}")
        wanted = base.type.arguments[0] if kind == "Digest" else self.type(node.types[0], scope) if node.types else None
        value = self.expression(arguments[0], scope) if arguments else Listed(())
        value = value if wanted is None else self.typed(value, wanted, at)
        if kind == "Resubmit" and isinstance(value, Group):
            self.resubmitted.add(value.type.name)  # what is resubmitted has 8 bytes, with zeros at the end
        elif isinstance(value, Group):
            self.check_whole(value, at)
        given = scalars(value)
        if any(not e.type.width for e in given):
            raise Mistake(at, f"numbers that are sent need a width: 8w1, or {kind}.{SENT_BY[kind]}<TYPE>(…)")
        bits, most = sum(e.type.width for e in given), BYTES_MAX[kind]
        if bits > 8 * most:
            raise Mistake(at, f"a {kind.lower()} carries {most} bytes at most, these are {bits} bits")
        if bits % 8 and kind != "Digest":
            raise Mistake(at, f"a {kind.lower()} carries whole bytes, these are {bits} bits; pad it")
        if kind == "Mirror":
            return ir.Mirror(session, tuple(given))
        return ir.Resubmit(tuple(given)) if kind == "Resubmit" else ir.Digest(base.number, tuple(given))

    def _measure(self, base: Instance, inputs: list[ir.Expr], position: Position) -> ir.Expr:
        index = inputs.pop(0) if base.type.name == "Meter" and inputs else None
        if base.type.name == "DirectMeter" and self.entry:
            index = ir.Get(self.entry)
        if index is None or len(inputs) > 2:
            raise Mistake(position, "execute(index), or execute() in an action of a direct meter's table")
        before, adjust = [*inputs, None, None][:2]
        colour = self.slot(f"{base.name}.colour", ir.Bits(8))
        self.out.append(ir.Measure(base.number, index, before, adjust, colour, position))
        return ir.Get(colour)

    def _checksum(self, base: Instance, name: str, inputs: list[ir.Expr], position: Position) -> ir.Expr | None:
        """RFC 1071. What was added to a parser's checksum, and subtracted, is kept between its states."""
        kind, zero = ir.Bits(16), ir.Const(0, ir.Bits(16))
        as_ones = inputs.pop() if name == "update" and inputs and inputs[-1].type == ir.BOOL else ir.Const(0, ir.BOOL)
        if name == "update":
            complement = _complement(inputs, position)
            if as_ones == ir.Const(0, ir.BOOL):
                return complement
            is_zero = ir.Binary("==", complement, zero, ir.BOOL)
            return ir.Mux(ir.Binary("&&", as_ones, is_zero, ir.BOOL), ir.Const(0xFFFF, kind), complement)
        if base.name not in self.sums:
            self.sums[base.name] = self.slot(f"{base.name}.sum", kind)
        sum_ = ir.Get(self.sums[base.name])
        match name:
            case "add" | "subtract" if inputs:
                added = inputs if name == "add" else [_complement(inputs, position)]
                self.set(sum_.slot, ir.Unary("~", _complement([sum_, *added], position), kind))
                return None
            case "subtract_all_and_deposit":
                into = inputs[0] if len(inputs) == 1 else None
                if not isinstance(into, ir.Get) or into.type != kind:
                    raise Mistake(position, "subtract_all_and_deposit takes a field of bit<16>")
                self.set(into.slot, sum_)
                self.deposits = (*(d for d in self.deposits if d != (sum_.slot, into.slot)), (sum_.slot, into.slot))
                return None
            case "get":
                return sum_
            case "verify":  # TNA: true where it is wrong
                return ir.Binary("!=", sum_, ir.Const(0xFFFF, kind), ir.BOOL)
        raise Mistake(position, f"Checksum.{name} is not supported")

    def subtract(self, fields: Sequence[ir.Slot], position: Position) -> None:
        """Subtract a header from the sums that were deposited before it, and deposit them again."""
        for sum_, into in self.deposits:
            if sum(f.type.width for f in fields) % 16:
                raise Mistake(
                    position, "a header of an odd number of bytes behind subtract_all_and_deposit; deposit later"
                )
            rest = _complement([ir.Get(sum_), _complement([ir.Get(f) for f in fields], position)], position)
            self.set(sum_, ir.Unary("~", rest, sum_.type))
            self.set(into, ir.Get(sum_))

    def _kept(self, value: ir.Expr, name: str) -> ir.Expr:
        slot = self.slot(name, value.type)
        self.set(slot, value)
        return ir.Get(slot)

    def packet_method(self, name: str, node: ast.Call, scope: Scope) -> Value | None:
        if name != "emit" or len(node.arguments) != 1:
            raise Mistake(node.position, f"packet.{name} is not possible here")
        self._emit(self.expression(node.arguments[0], scope), node.position)
        return None

    def _emit(self, value: Value, position: Position) -> None:
        if isinstance(value, Group) and value.valid is not None:
            self.check_whole(value, position)
            self.out.append(ir.Emit(fixed(value), value.valid))
            for piece in getattr(pieces(value), "elements", ()):
                self._emit(piece, position)
            return
        parts = getattr(value, "elements", ()) or getattr(value, "fields", {})
        if not isinstance(value, Group) and not parts:
            raise Mistake(position, f"a {describe(value)} cannot be emitted")
        for part in parts.values() if isinstance(parts, dict) else parts:
            self._emit(part, position)

    def apply_block(self, block: Closure, node: ast.Call, scope: Scope) -> None:
        raise NotImplementedError


def _parameters(extern: str, method: str) -> tuple[str, ...]:
    if method == "count" and extern == "DirectCounter":
        return ("adjust_byte_count",)
    if method == "execute":  # of meters and their like
        index = () if extern.startswith("Direct") else ("index",)
        return (*index, "color", "adjust_byte_count") if extern.endswith("Meter") else ("val", *index)
    return ARGUMENTS.get(method, ())


def _complement(inputs: Sequence[ir.Expr], position: Position) -> ir.Expr:
    """The inverted sum of 16-bit words; of an odd number of bytes the last one is a word's high one."""
    bits = sum(e.type.width for e in inputs)
    if any(not e.type.width for e in inputs) or bits % 8:
        raise Mistake(position, "a checksum is over whole bytes")
    padding = (ir.Const(0, ir.Bits(8)),) if bits % 16 else ()
    return ir.Hash("checksum", (*inputs, *padding), ir.Bits(16))


def _symmetric(inputs: Sequence[ir.Expr], pairs: Iterable[tuple[str, ...]], position: Position) -> tuple[ir.Expr, ...]:
    """Return what is hashed where fields may change places: in that of both of a pair the bits in which they differ, as
    the hardware's hash matrix has it."""
    taken = [*inputs]
    names = [e.slot.name if isinstance(e, ir.Get) else "" for e in inputs]
    for pair in pairs:
        at = [i for i, name in enumerate(names) if name in pair]
        if len(pair) != 2 or len(at) != 2 or inputs[at[0]].type != inputs[at[1]].type:
            raise Mistake(position, '@symmetric("a", "b") names two fields of one type among the inputs of the hash')
        one, other = at
        taken[one] = taken[other] = ir.Binary("^", inputs[one], inputs[other], inputs[one].type)
    return tuple(taken)


def _hash(algorithm: ir.Crc | str, inputs: tuple[ir.Expr, ...], kind: ir.Bits) -> ir.Expr:
    """A CRC that is shorter than what is wanted of it is repeated, as the hardware's hash unit does."""
    if not isinstance(algorithm, ir.Crc) or kind.width <= algorithm.width:
        return ir.Hash(algorithm, inputs, kind)
    once = ir.Hash(algorithm, inputs, ir.Bits(algorithm.width))
    value: ir.Expr = once
    while value.type.width < kind.width:
        value = ir.Binary("++", once, value, ir.Bits(value.type.width + algorithm.width))
    return value if value.type == kind else ir.Slice(value, kind.width - 1, 0)


def _predicate(comparisons: Sequence[ir.Expr], kind: ir.Bits, position: Position) -> ir.Expr:
    """One bit of four says which of two comparisons hold: 1 none, 2 the first, 4 the second, 8 both."""
    if not 1 <= len(comparisons) <= 2 or any(e.type != ir.BOOL for e in comparisons):
        raise Mistake(position, "predicate takes one or two comparisons")
    if kind.width < 4:
        raise Mistake(position, f"a predicate has 4 bits, the output {kind.width}")

    def first(bit: int) -> ir.Expr:
        return ir.Mux(comparisons[0], ir.Const(2 * bit, kind), ir.Const(bit, kind))

    return ir.Mux(comparisons[1], first(4), first(1)) if len(comparisons) == 2 else first(1)
