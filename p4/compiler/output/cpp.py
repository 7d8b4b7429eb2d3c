"""Typed program → statements and expressions of C++. Values are uint64_t (to 64 bits), unsigned __int128 or Wide, cut
to their width: equal patterns are equal numbers. Names in the text are made of slot numbers only."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.output.registers import field_bytes, places
from jumpgate.p4.compiler.walk import applied, leaves

#: entries of a table that comparisons tell apart
FIXED_MAX = 8
#: of registers, that the caches of a core do not hold beside all else
AHEAD_BYTES = 1 << 18


def cpp_type(kind: ir.Bits) -> str:
    if kind.width > 128:
        return f"Wide<{words_in(kind)}>"
    return "bool" if kind.boolean else "u64" if kind.width <= 64 else "u128"


def words_in(kind: ir.Bits) -> int:
    return (kind.width + 63) // 64


def literal(value: int, kind: ir.Bits) -> str:
    """
    >>> literal(5, ir.Bits(8))
    'u64{0x5u}'
    """
    if kind.boolean:
        return "true" if value else "false"
    if kind.width <= 64:
        return f"u64{{0x{value & (1 << 64) - 1:x}u}}"
    if kind.width > 128:
        words = ", ".join(f"0x{value >> 64 * i & (1 << 64) - 1:x}u" for i in range(words_in(kind)))
        return f"wide<{words}>()"
    return f"(u128{{0x{value >> 64:x}u}} << 64 | u64{{0x{value & (1 << 64) - 1:x}u}})"


def name(slot: ir.Slot) -> str:
    return f"s{slot.id}"


def cut(text: str, kind: ir.Bits) -> str:
    if kind.width % 64 == 0:
        return text
    return f"({text} & {literal((1 << kind.width) - 1, kind)})"


def signed(text: str, kind: ir.Bits) -> str:
    return f"extend<{kind.width}>({text})"


def field(base: str, offset: int, kind: ir.Bits) -> str:
    """A field of so many bits that begins `offset` bits after `base`."""
    first, last = offset // 8, offset + kind.width
    size, shift = (last + 7) // 8 - first, -last % 8
    if kind.width > 128:
        wide = f"load_wide<{words_in(kind) + 1}, {size}>({base} + {first})"
        return cut(f"{cpp_type(kind)}({wide} >> {shift})", kind)
    text = f"load<{min(size, 16)}>({base} + {first})"
    if size > 16:  # its last bits are in a 17th byte
        return cut(f"({text} << {8 - shift} | {base}[{first + 16}] >> {shift})", kind)
    return cut(f"{cpp_type(kind)}({text} >> {shift})", kind)


def expression(e: ir.Expr) -> str:
    match e:
        case ir.Const():
            return literal(e.value, e.type)
        case ir.Get():
            return name(e.slot)
        case ir.Unary():
            x = expression(e.operand)
            return f"(!{x})" if e.op == "!" else cut(f"({e.op}{x})", e.type)
        case ir.Binary():
            return _binary(e)
        case ir.Slice():
            moved = f"({expression(e.operand)} >> {e.low})"
            return cut(f"{cpp_type(e.type)}({moved})", e.type)
        case ir.Cast():
            return _cast(e)
        case ir.Mux():
            return f"({expression(e.condition)} ? {expression(e.yes)} : {expression(e.no)})"
        case ir.Lookahead():
            value = field("cursor", e.offset, e.type)
            return f"({value} != 0)" if e.type.boolean else value
        case ir.Hash():
            return _hash(e)
        case ir.Approximation():
            unit = e.unit
            settings = f"{str(unit.invert).lower()}, {unit.shift}, {unit.scale}"
            values = ", ".join(map(str, unit.values))
            return cut(f"u64(jgsw::approximate<{settings}>(uint32_t({expression(e.operand)}), {{{values}}}))", e.type)
        case ir.Random():
            return cut(f"{cpp_type(e.type)}(jgsw::random_bits(context))", e.type)


def _cast(e: ir.Cast) -> str:
    x, have = expression(e.operand), e.operand.type
    if e.type.boolean:
        return f"({x} != 0)"
    if have.signed and e.type.width > have.width:
        return cut(f"{cpp_type(e.type)}({signed(x, have)})", e.type)
    value = f"{cpp_type(e.type)}({x})"
    return cut(value, e.type) if e.type.width < have.width else value


def _binary(e: ir.Binary) -> str:
    a, b, kind = expression(e.left), expression(e.right), e.left.type
    if e.op in ("<", ">", "<=", ">=") and kind.signed:
        return f"({signed(a, kind)} {e.op} {signed(b, kind)})"
    if e.op in ("&&", "||", "==", "!=", "<", ">", "<=", ">="):
        return f"({a} {e.op} {b})"
    wide = cpp_type(e.type)
    if e.op == "++":
        return f"({wide}({a}) << {e.right.type.width} | {wide}({b}))"
    if e.op == "<<":
        return cut(f"shift_left({a}, {b})", e.type)
    if e.op == ">>":
        return cut(f"shift_right_signed<{kind.width}>({a}, {b})", e.type) if kind.signed else f"shift_right({a}, {b})"
    if e.op in ("|+|", "|-|", "min", "max"):
        function = {"|+|": "saturating_add", "|-|": "saturating_subtract", "min": "least", "max": "greatest"}[e.op]
        return cut(f"{function}<{kind.width}, {str(kind.signed).lower()}>({a}, {b})", e.type)
    text = f"({a} {e.op} {b})"
    return text if e.op in ("&", "|", "^") else cut(text, e.type)


def _pack(fields: Sequence[ir.Expr]) -> list[str]:
    """One expression for each byte of the concatenation, filled up with zero bits in front."""
    total = sum(f.type.width for f in fields)
    size = (total + 7) // 8
    bytes_: list[list[str]] = [[] for _ in range(size)]
    end = 0  # bits behind the field
    for f in reversed(fields):
        for place in range(end // 8, (end + f.type.width + 7) // 8):
            shift = place * 8 - end
            x = expression(f)
            text = f"{x} >> {shift}" if shift > 0 else f"u64({x}) << {-shift}" if shift < 0 else x
            bytes_[size - 1 - place].append(f"uint8_t({text})")
        end += f.type.width
    return [" | ".join(b) for b in bytes_]


def _hash(e: ir.Hash) -> str:
    packed = _pack(e.inputs)
    lines = ", ".join(f"uint8_t({b})" for b in packed)
    data = f"const uint8_t in[] = {{{lines}}};"
    if isinstance(e.algorithm, ir.Crc):
        a = e.algorithm
        call = (
            f"jgsw::Crc<{a.width}, 0x{a.polynomial:x}u, 0x{a.initial:x}u, 0x{a.xor_out:x}u, "
            f"{str(a.reflect).lower()}>::compute(in, sizeof in)"
        )
    elif e.algorithm == "checksum":
        call = "u64(uint16_t(~jgsw::ones_complement_sum(in, sizeof in)))"
    elif e.algorithm == "identity":
        call = "last_bytes(in, sizeof in)"
    else:
        call = f"xor_words<{int(e.algorithm[3:]) // 8}>(in, sizeof in)"
    return cut(f"([&]() -> u64 {{ {data} return {call}; }}())", e.type)


def _is_fixed(table: ir.Table) -> bool:
    """Comparisons find its entries faster than a look-up: they are few, and compiled in."""
    return (
        table.rows is not None
        and 0 < len(table.rows) <= FIXED_MAX
        and table.default_constant
        and all(key.match in ("exact", "ternary") for key in table.keys)
    )


def _equals(key: ir.Expr, value: int, mask: int) -> str:
    kind = key.type
    x = expression(key)
    if mask != (1 << kind.width) - 1:
        x = f"({x} & {literal(mask, kind)})"
    return f"{x} == {literal(value & mask, kind)}"


def ahead(program: ir.Program, body: Sequence[ir.Stmt]) -> dict[int, list[int]]:
    """Return by id the assignments behind which an index into a large register is known, and these registers: of those
    in one memory the first. Caches miss in them, and the misses of several then overlap."""
    where = places(program)
    last: dict[ir.Slot, ir.Set] = {}
    found: dict[int, list[int]] = {}
    seen = set[tuple[ir.Slot, int]]()
    for s in applied(program, body):
        if isinstance(s, ir.Set):
            last[s.slot] = s
        elif isinstance(s, ir.Execute) and isinstance(s.index, ir.Get) and s.index.slot in last:
            slot, place = s.index.slot, where[s.register]
            if program.registers[s.register].size * place.stride >= AHEAD_BYTES and (slot, place.home) not in seen:
                seen.add((slot, place.home))
                found.setdefault(id(last[slot]), []).append(s.register)
    return found


class Writer:
    """Statements of one gress, with indentation."""

    def __init__(self, program: ir.Program, gress: ir.Gress) -> None:
        self.program = program
        self.places = places(program)
        self.gress = gress
        self.lines: list[str] = []
        self.depth = 1
        self.scopes = 0
        self.targets: dict[int, str] = {}
        self.ahead = ahead(program, gress.control)

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def block(self, head: str, body: Sequence[ir.Stmt], tail: str = "}") -> None:
        self.line(head)
        self.depth += 1
        self.statements(body)
        self.depth -= 1
        self.line(tail)

    def statements(self, body: Sequence[ir.Stmt]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: ir.Stmt) -> None:
        match s:
            case ir.Set():
                self.line(f"{name(s.slot)} = {expression(s.value)};")
                for register in self.ahead.get(id(s), ()):
                    offset = f"u64({name(s.slot)}) * {self.places[register].stride}u"
                    self.line(f"fetch_ahead(context.registers[{register}], {offset});")
            case ir.If():
                self.block(f"if ({expression(s.condition)}) {{", s.then, "} else {" if s.otherwise else "}")
                if s.otherwise:
                    self.depth += 1
                    self.statements(s.otherwise)
                    self.depth -= 1
                    self.line("}")
            case ir.Scope():
                self.scopes += 1
                after = self.targets[s.label] = f"after_{self.scopes}"
                self.block("{", s.body)
                self.line(f"[[maybe_unused]] {after}:;")
            case ir.Leave():
                self.line(f"goto {self.targets[s.label]};")
            case ir.Apply():
                self._apply(s)
            case ir.Execute():
                self._execute(s)
            case ir.Count():
                size = self.program.counters[s.counter].size
                index = expression(s.index)
                bytes_ = "length"
                if s.adjust is not None:
                    bytes_ = f"static_cast<uint32_t>(length - std::min<u64>(length, {expression(s.adjust)}))"
                self.line(
                    f"if (const u64 i = u64({index}); i < {size}u) context.counters[{s.counter}][i].count({bytes_});"
                )
            case ir.Measure():
                self._measure(s)
            case ir.Extract():
                self._extract(s)
            case ir.Advance():
                self.line(f"if (end - cursor < {s.bytes}) goto failed;")
                self.line(f"cursor += {s.bytes};")
            case ir.Fail():
                self.line(f"if ({expression(s.condition)}) goto failed;")
            case ir.Mirror():
                header = ", ".join(_pack(s.fields)) or "0"
                size = sum(f.type.width for f in s.fields) // 8
                self.line(f"if (!(packet.drop & 4)) {{ const uint8_t header[] = {{{header}}};")
                session = f"uint32_t({expression(s.session)})"
                if self.gress.name == "egress":  # the copy is of the packet as it leaves
                    self.line(
                        f"  mirror = {{true, {session}, {size}, {{}}}}; std::memcpy(mirror.header, header, {size}); }}"
                    )
                else:
                    self.line(f"  context.mirror(context, packet, {session}, header, {size}); }}")
            case ir.Resubmit():
                packed = _pack(s.fields)
                self.line("std::memset(packet.resubmit_data, 0, 8);")
                for i, text in enumerate(packed):
                    self.line(f"packet.resubmit_data[{i}] = uint8_t({text});")
                self.line("resubmit = true;")
            case ir.Digest():
                words = ", ".join(w for f in s.fields for w in words_of(expression(f), f.type))
                self.line(f"{{ const u64 words[] = {{{words}}}; context.digest(context, {s.digest}, words); }}")

    def _apply(self, s: ir.Apply) -> None:
        table = self.program.tables[s.table]
        if not table.keys and table.default_constant:
            self._fallback(s, table)
            return
        if _is_fixed(table):
            self._fixed(s, table)
            return
        words = [w for k in table.keys for w in words_of(expression(k.value), k.value.type)]
        self.line("{")
        self.depth += 1
        if not words:
            self.line(f"const jgsw::Entry& entry = *context.tables[{s.table}]->fallback;")
        else:
            self.line(f"const u64 key[] = {{{', '.join(words)}}};")
            find = f"find_exact<{len(words)}>" if all(k.match == "exact" for k in table.keys) else "find"
            self.line(f"const jgsw::Entry& entry = jgsw::{find}(*context.tables[{s.table}], key);")
        self.line(f"{name(s.hit)} = entry.hit; {name(s.action)} = entry.action; {name(s.entry)} = entry.slot;")
        self.line("switch (entry.action) {")
        for i, action in enumerate(table.actions):
            self.line(f"  case {i}: {{  // {action.name}")
            self.depth += 2
            at = 0
            for p in action.parameters:
                if p.type.width > 128:
                    for word in range(words_in(p.type)):
                        self.line(f"{name(p)}.w[{word}] = entry.data()[{at + word}];")
                elif p.type.width > 64:
                    self.line(f"{name(p)} = u128(entry.data()[{at + 1}]) << 64 | entry.data()[{at}];")
                else:
                    self.line(f"{name(p)} = entry.data()[{at}]{' != 0' if p.type.boolean else ''};")
                at += (p.type.width + 63) // 64
            self.statements(action.body)
            self.line("break;")
            self.depth -= 2
            self.line("  }")
        self.line("}")
        self.depth -= 1
        self.line("}")

    def _fixed(self, s: ir.Apply, table: ir.Table) -> None:
        """A few entries that never change are compared with, in the order in which they win."""
        rows = sorted(enumerate(table.rows or ()), key=lambda row: -row[1].priority)
        for number, (slot, row) in enumerate(rows):
            tests = [
                _equals(k.value, value, mask)
                for k, value, mask in zip(table.keys, row.values, row.masks, strict=True)
                if mask
            ]
            self.line(f"{'} else if' if number else 'if'} ({' && '.join(tests) or 'true'}) {{")
            self.depth += 1
            self._taken(s, table, True, row.action, row.data, slot)
            self.depth -= 1
        self.line("} else {")
        self.depth += 1
        self._fallback(s, table)
        self.depth -= 1
        self.line("}")

    def _fallback(self, s: ir.Apply, table: ir.Table) -> None:
        """Write a fixed default action's body: a table without keys does nothing else, so it needs no look-up."""
        self._taken(s, table, False, table.default, table.default_data, table.size)

    def _taken(self, s: ir.Apply, table: ir.Table, hit: bool, number: int, data: Sequence[int], slot: int) -> None:
        """An action whose data are known."""
        action = table.actions[number]
        self.line(f"{name(s.hit)} = {str(hit).lower()}; {name(s.action)} = {number}; {name(s.entry)} = {slot};")
        for parameter, value in zip(action.parameters, data, strict=True):
            self.line(f"{name(parameter)} = {literal(value, parameter.type)};")
        self.statements(action.body)

    def _execute(self, s: ir.Execute) -> None:
        register = self.program.registers[s.register]
        cell = f"uint{field_bytes(register) * 8}_t"
        self.line(f"if (const u64 index = u64({expression(s.index)}); index < {register.size}u) {{  // {s.name}")
        self.depth += 1
        base = f"static_cast<uint8_t*>(context.registers[{s.register}])"
        stride = self.places[s.register].stride
        self.line(f"{cell}* const cell = reinterpret_cast<{cell}*>({base} + index * {stride}u);")
        for i, slot in enumerate(s.values):
            self.line(f"{name(slot)} = cell[{i}];")
        self.statements(s.body)
        for i, slot in enumerate(s.values):
            self.line(f"cell[{i}] = static_cast<{cell}>({name(slot)});")
        self.depth -= 1
        self.line("}")

    def _measure(self, s: ir.Measure) -> None:
        """Beyond the meter's end all is green."""
        meter = self.program.meters[s.meter]
        green, yellow, red = (f"{colour}u" for colour in meter.colours)
        units = "1"
        if meter.kind == "bytes":
            adjust = "0" if s.adjust is None else f"u64({expression(s.adjust)})"
            units = f"length - std::min<u64>(length, {adjust})"
        before = "jgsw::Colour::green"
        if s.before is not None:
            given = f"u64({expression(s.before)})"
            colours = f"{given} == {yellow} ? jgsw::Colour::yellow : jgsw::Colour::green"
            before = f"({given} == {red} ? jgsw::Colour::red : {colours})"
        self.line(f"{name(s.output)} = {green};")
        self.line(f"if (const u64 i = u64({expression(s.index)}); i < {meter.size}u)")
        self.line(f"  switch (context.meters[{s.meter}][i].mark({units}, packet.arrived_ns, {before})) {{")
        self.line("    case jgsw::Colour::green: break;")
        self.line(f"    case jgsw::Colour::yellow: {name(s.output)} = {yellow}; break;")
        self.line(f"    case jgsw::Colour::red: {name(s.output)} = {red}; break;")
        self.line("  }")

    def _extract(self, s: ir.Extract) -> None:
        if s.source == "intrinsic":
            self.line(f"{name(s.valid)} = true;" if s.valid else "")
            return
        base = "cursor"
        if s.source == "resubmit":
            base = "packet.resubmit_data"
        else:
            self.line(f"if (end - cursor < {s.bits // 8}) goto failed;")
        offset = 0
        for f in s.fields:
            self.line(f"{name(f)} = {field(base, offset, f.type)};  // {f.name}")
            offset += f.type.width
        if s.valid:
            self.line(f"{name(s.valid)} = true;")
        if s.source == "packet":
            self.line(f"cursor += {s.bits // 8};")

    # ---- the parts ----

    def parser(self) -> list[str]:
        self.lines = []
        for i, state in enumerate(self.gress.states):
            self.lines.append(f" state_{i}: {{  // {state.name}")
            self.depth = 2
            offsets = [
                x.offset + x.type.width for s in state.body if isinstance(s, ir.Set)
                for x in [s.value] if isinstance(x, ir.Lookahead)
            ]  # fmt: skip
            done = False
            for s in state.body:
                if isinstance(s, ir.Set) and isinstance(s.value, ir.Lookahead) and not done:
                    self.line(f"if (end - cursor < {(max(offsets) + 7) // 8}) goto failed;")
                    done = True
                if isinstance(s, ir.Extract | ir.Advance):
                    done = False
                self.statement(s)
            for c in state.cases:
                tests = [_test(x, m) for x, m in zip(state.subjects, c.matches, strict=False) if m[0] != "mask" or m[2]]
                condition = f"if ({' && '.join(tests)}) " if tests else ""
                self.line(f"{condition}goto {target(c.target)};")
                if not condition:
                    break
            else:
                self.line("goto unmatched;")
            self.lines.append(" }")
        return self.lines

    def _flat(self, body: Sequence[ir.Stmt]) -> Sequence[ir.Stmt]:
        """The statements without the scope of `exit`, if nothing leaves it, be it in an action."""
        if len(body) == 1 and isinstance(body[0], ir.Scope):
            actions = [action.body for table in self.program.tables for action in table.actions]
            if not any(leaves(part, body[0].label) for part in (body[0].body, *actions)):
                return body[0].body
        return body

    def control(self, body: Sequence[ir.Stmt]) -> list[str]:
        self.lines, self.depth = [], 1
        self.statements([s for s in self._flat(body) if not isinstance(s, ir.Emit)])
        return self.lines

    def emits(self) -> list[ir.Emit]:
        return [s for s in self._flat(self.gress.deparser) if isinstance(s, ir.Emit)]

    def emit(self) -> list[str]:
        """Length of what is emitted, then the bytes."""
        self.lines, self.depth = [], 1
        emits = self.emits()
        self.line("uint32_t emitted = 0;")
        for e in emits:
            size = sum(f.type.width for f in e.fields) // 8
            self.line(f"emitted += {name(e.valid)} ? {size}u : 0u;")
        self.line("uint8_t* out = const_cast<uint8_t*>(cursor) - emitted;")
        self.line("packet.data = out;")
        self.line("packet.length = static_cast<uint32_t>(end - out);")
        for e in emits:
            self.line(f"if ({name(e.valid)}) {{")
            self._store(e)
            self.line("}")
        return self.lines

    def _store(self, e: ir.Emit) -> None:
        run: list[ir.Slot] = []
        at = 0
        for f in e.fields:
            run.append(f)
            bits = sum(x.type.width for x in run)
            if bits % 8:
                continue
            size = bits // 8
            if bits <= 64:
                text, shift = [], bits
                for x in run:
                    shift -= x.type.width
                    text.append(f"u64({name(x)}) << {shift}" if shift else name(x))
                self.line(f"  store<{size}>(out + {at}, {' | '.join(text)});")
            else:
                for i, byte in enumerate(_pack([ir.Get(x) for x in run])):
                    self.line(f"  out[{at + i}] = uint8_t({byte});")
            at += size
            run = []
        self.line(f"  out += {at};")


def _test(subject: ir.Expr, match: tuple[str, int, int]) -> str:
    kind, a, b = match
    x = expression(subject)
    if kind == "range":
        return f"({x} >= {literal(a, subject.type)} && {x} <= {literal(b, subject.type)})"
    if b == (1 << subject.type.width) - 1:
        return f"{x} == {literal(a, subject.type)}"
    return f"({x} & {literal(b, subject.type)}) == {literal(a, subject.type)}"


def target(number: int) -> str:
    return {ir.ACCEPT: "accept", ir.REJECT: "unmatched"}.get(number, f"state_{number}")


def words_of(text: str, kind: ir.Bits) -> list[str]:
    if kind.width > 128:
        return [f"{text}.w[{i}]" for i in range(words_in(kind))]
    return [f"u64({text})"] if kind.width <= 64 else [f"u64({text})", f"u64({text} >> 64)"]
