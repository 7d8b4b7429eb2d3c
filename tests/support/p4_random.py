"""Random P4 programs that are well typed, frames for them, and the comparison of their C++ with the interpreter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.interpret import Interpreter
from jumpgate.p4.switch import library
from jumpgate.p4.switch.switch import Switch

IN_PORT, OUT_PORT = 3, 9
FRAMES = 60

#: everything but headers, declarations, parser states and statements of the ingress
FRAME = """
#include <core.p4>
#include <tna.p4>
%(headers)s
struct metadata_t { bit<8> unused; }
struct empty_t {}
%(parsers)s
parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
%(locals)s
    state start { pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); transition first; }
%(states)s
}
control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
%(declarations)s
    apply {
        tm.ucast_egress_port = 9;
        tm.bypass_egress = 1;
%(apply)s
    }
}
control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { pkt.emit(hdr); }
}
parser EgressParser(packet_in pkt, out empty_t hdr, out empty_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); transition accept; }
}
control Egress(inout empty_t hdr, inout empty_t md, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) { apply {} }
control EgressDeparser(packet_out pkt, inout empty_t hdr, in empty_t md,
                       in egress_intrinsic_metadata_for_deparser_t dprsr) { apply {} }
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
"""


def source(**parts: str) -> str:
    given_parts = dict.fromkeys(("headers", "parsers", "locals", "states", "declarations", "apply"), "") | parts
    return FRAME % given_parts


def check(program: ir.Program, cpp: str, frames: list[bytes]) -> None:
    """Every frame that leaves, and every register afterwards."""
    oracle = Interpreter(program)
    wanted = []
    for frame in frames:
        done = oracle.run(program.ingress, frame, {("ingress_intrinsic_metadata_t", "ingress_port"): IN_PORT})
        if done is not None and not done.field("ingress_intrinsic_metadata_for_deparser_t", "drop_ctl") & 1:
            wanted.append((OUT_PORT, done.deparsed))
    with Switch(library.build_program("batch.p4", cpp)) as switch:
        found = switch.process((IN_PORT, frame) for frame in frames)
        assert len(found) == len(wanted)
        for (_, got), (_, right) in zip(found, wanted, strict=True):
            assert got.hex() == right.hex()
        for register, cells in zip(switch.registers, oracle.registers, strict=True):
            assert switch.read_register(register) == [tuple(cell) for cell in cells]


@dataclass(frozen=True)
class Typed:
    text: str
    width: int
    signed: bool = False

    @property
    def type(self) -> str:
        return f"{'int' if self.signed else 'bit'}<{self.width}>"


FIELDS = [Typed(f"hdr.given.u{w}", w) for w in (1, 2, 5, 8, 15, 16, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128)]
FIELDS += [Typed(f"hdr.given.s{w}", w, True) for w in (2, 7, 8, 16, 31, 32, 33, 64, 65, 127, 128)]
GIVEN_BITS = sum(f.width for f in FIELDS)
PADDING = -GIVEN_BITS % 8
GIVEN_BYTES = (GIVEN_BITS + PADDING) // 8
GIVEN = "header given_h {{ {} {}}}\n".format(
    " ".join(f"{f.type} {f.text[10:]};" for f in FIELDS), f"bit<{PADDING}> padding; " if PADDING else ""
)  # fmt: skip
STATES = "state first { pkt.extract(hdr.given); transition accept; }"


class Headers:
    """Collects the headers that a program answers with."""

    def __init__(self) -> None:
        self.declared, self.fields = GIVEN, ["given_h given;"]

    def add(self, values: Sequence[Typed]) -> list[str]:
        """A header of these values; the statements that fill it."""
        name = f"out{len(self.fields)}"
        widths = [v.width for v in values]
        members = [f"bit<{w}> v{i};" for i, w in enumerate(widths)]
        if pad := -sum(widths) % 8:
            members.append(f"bit<{pad}> padding;")
        self.declared += f"header {name}_h {{ {' '.join(members)} }}\n"
        self.fields.append(f"{name}_h {name};")
        return [f"hdr.{name}.setValid();"] + [
            f"hdr.{name}.v{i} = {f'(bit<{v.width}>)({v.text})' if v.signed else v.text};" for i, v in enumerate(values)
        ]

    @property
    def text(self) -> str:
        return f"{self.declared}struct headers_t {{ {' '.join(self.fields)} }}"


class Expressions:
    """Random typed expressions; operands are adapted by casts and slices, so that every one is well typed."""

    def __init__(self, draws: random.Random, fields: Sequence[Typed]) -> None:
        self.draws, self.fields = draws, fields

    def any(self, depth: int) -> Typed:
        leaf = self.draws.choice(self.fields)
        return self.of(leaf.width, leaf.signed, depth) if self.draws.random() < 0.7 else self.of(
            self.draws.choice([1, 3, 9, 24, 40, 64, 72, 100, 128]), self.draws.random() < 0.4, depth
        )  # fmt: skip

    def of(self, width: int, signed: bool, depth: int) -> Typed:
        """An expression of that type."""
        if signed and width == 1:
            signed = False
        kind = Typed("", width, signed).type
        choice = self.draws.random()
        if depth <= 0 or choice < 0.08:
            return Typed(self._leaf(width, signed, kind), width, signed)
        if choice < 0.55:
            op = self.draws.choice(["+", "-", "*", "&", "|", "^", "|+|", "|-|"])
            a, b = self.of(width, signed, depth - 1), self.of(width, signed, depth - 1)
            return Typed(f"({a.text} {op} {b.text})", width, signed)
        if choice < 0.62:
            a, b = self.of(width, signed, depth - 1), self.of(width, signed, depth - 1)
            return Typed(f"{self.draws.choice(['min', 'max'])}({a.text}, {b.text})", width, signed)
        if choice < 0.74:
            a = self.of(width, signed, depth - 1)
            by = str(self.draws.choice([0, 1, width - 1, width, width + 1, 64, 127, 128, 200]))
            if self.draws.random() < 0.5:
                by = self.of(self.draws.choice([4, 8, 64, 128]), False, depth - 1).text
            return Typed(f"({a.text} {self.draws.choice(['<<', '>>'])} {by})", width, signed)
        if choice < 0.8:
            return Typed(f"({self.draws.choice('~-')}{self.of(width, signed, depth - 1).text})", width, signed)
        if choice < 0.88:
            yes, no = self.of(width, signed, depth - 1), self.of(width, signed, depth - 1)
            return Typed(f"({self.condition(depth - 1)} ? {yes.text} : {no.text})", width, signed)
        if choice < 0.94 and width > 1 and not signed:
            left = self.draws.randrange(1, width)
            a, b = self.of(left, False, depth - 1), self.of(width - left, False, depth - 1)
            return Typed(f"({a.text} ++ {b.text})", width)
        if not signed and choice < 0.97:
            wide = self.draws.randrange(width, 129)
            low = self.draws.randrange(0, wide - width + 1)
            return Typed(f"({self.of(wide, False, depth - 1).text})[{low + width - 1}:{low}]", width)
        other = self.any(depth - 1)
        return Typed(f"({kind})({other.text})", width, signed)

    def condition(self, depth: int) -> str:
        a = self.any(depth)
        b = self.of(a.width, a.signed, depth)
        one = f"({a.text} {self.draws.choice(['==', '!=', '<', '>', '<=', '>='])} {b.text})"
        if depth > 0 and self.draws.random() < 0.3:
            return f"(!{one} {self.draws.choice(['&&', '||'])} {self.condition(depth - 1)})"
        return one

    def _leaf(self, width: int, signed: bool, kind: str) -> str:
        if self.draws.random() < 0.15:
            low = -(1 << width - 1) if signed else 0
            number = self.draws.choice([low, low + 1, 0, 1, (1 << width - signed) - 1])
            return f"({kind})({number})"
        same = [f for f in self.fields if (f.width, f.signed) == (width, signed)]
        if same:
            return self.draws.choice(same).text
        f = self.draws.choice(self.fields)
        return f"({kind})({f.text})" if f.width > 1 else f"({kind})(bit<8>)({f.text})"


def frames_of(draws: random.Random) -> list[bytes]:
    """Fields of equal bits, of few bits, random ones; and one frame that is too short."""
    out = [bytes(GIVEN_BYTES), b"\xff" * GIVEN_BYTES, bytes(GIVEN_BYTES - 1)]
    for _ in range(FRAMES):
        number = 0
        for f in FIELDS:
            corner = draws.choice([0, 1, (1 << f.width) - 1, 1 << f.width - 1, (1 << f.width - 1) - 1])
            number = number << f.width | (corner if draws.random() < 0.5 else draws.getrandbits(f.width))
        out.append((number << PADDING).to_bytes(GIVEN_BYTES, "big") + b"rest")
    return out


class Statements:
    """Random blocks of statements with variables, actions, tables of constant entries and registers of their own."""

    def __init__(self, draws: random.Random) -> None:
        self.draws, self.headers = draws, Headers()
        self.declarations: list[str] = []
        self.apply: list[str] = []
        self.count = 0

    def program(self, blocks: int) -> str:
        for _ in range(blocks):
            self._block()
        return source(
            headers=self.headers.text, states=STATES, declarations="\n".join(self.declarations),
            apply="\n".join(self.apply),
        )  # fmt: skip

    def _name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def _block(self) -> None:
        self.variables = [
            Typed(
                self._name("v"), self.draws.choice([1, 4, 8, 13, 16, 32, 32, 48, 64, 100]), self.draws.random() < 0.25
            )
            for _ in range(self.draws.randint(2, 4))
        ]
        self.variables = [Typed(v.text, v.width, v.signed and v.width > 1) for v in self.variables]
        self.declarations += [f"    {v.type} {v.text};" for v in self.variables]
        self.made = Expressions(self.draws, [*self.variables, *self.draws.sample(FIELDS, 4)])
        self.apply += self._statements(self.draws.randint(2, 6), 2)
        self.apply += self.headers.add(self.variables)

    def _statements(self, count: int, depth: int) -> list[str]:
        return [line for _ in range(count) for line in self._statement(depth)]

    def _statement(self, depth: int) -> list[str]:
        choice = self.draws.random()
        if depth and choice < 0.2:
            then, other = (self._statements(self.draws.randint(0, 2), depth - 1) for _ in range(2))
            return [f"if ({self.made.condition(1)}) {{", *then, "} else {", *other, "}"]
        if depth and choice < 0.45:
            return self._table(depth)
        if choice < 0.6:
            return [self._execute(self._register())]
        return [self._assignment()]

    def _assignment(self, more: Sequence[Typed] = ()) -> str:
        """To a variable, or to some of its bits; `more` may be read too."""
        to = self.draws.choice(self.variables)
        made = Expressions(self.draws, [*self.made.fields, *more])
        if self.draws.random() < 0.2 and not to.signed:
            low = self.draws.randrange(to.width)
            high = self.draws.randrange(low, to.width)
            return f"{to.text}[{high}:{low}] = {made.of(high - low + 1, False, 2).text};"
        return f"{to.text} = {made.of(to.width, to.signed, 2).text};"

    def _register(self) -> tuple[str, Typed, int]:
        """(name of an action, type of its result, bits of its index); no other statement has the register."""
        name, bits, width = self._name("r"), self.draws.choice([1, 3, 6]), self.draws.choice([8, 16, 32])
        size = self.draws.randint(1, 1 << bits)
        pair = self.draws.random() < 0.4
        kind = f"pair{width}_t" if pair else f"bit<{width}>"
        values = [Typed(f"value.{part}", width) for part in ("a", "b")] if pair else [Typed("value", width)]
        rv = Typed("rv", self.draws.choice([1, 8, width]))
        start = [str(self.draws.choice([0, 1, (1 << width) - 1])) for _ in values]
        first = f"{{{', '.join(start)}}}" if pair else start[0]
        made = Expressions(self.draws, [*values, *self.draws.sample(FIELDS, 2)])
        if pair and f"struct {kind}" not in self.headers.declared:
            self.headers.declared += f"struct {kind} {{ bit<{width}> a; bit<{width}> b; }}\n"

        def step() -> str:
            to = self.draws.choice([*values, rv])
            return f"{to.text} = {made.of(to.width, False, 2).text};"

        body = [f"if ({made.condition(1)}) {{ {step()} }} else {{ {step()} }}" if self.draws.random() < 0.5 else step()]
        body += [step() for _ in range(self.draws.randint(0, 2))]
        self.declarations += [
            f"    Register<{kind}, bit<{bits}>>({size}, {first}) {name};",
            f"    RegisterAction<{kind}, bit<{bits}>, {rv.type}>({name}) {name}_act = {{",
            f"        void apply(inout {kind} value, out {rv.type} rv) {{ rv = 0; {' '.join(body)} }}",
            "    };",
        ]
        return f"{name}_act", rv, bits

    def _execute(self, register: tuple[str, Typed, int]) -> str:
        name, rv, bits = register
        call = f"{name}.execute({self.made.of(bits, False, 1).text})"
        to = self.draws.choice(self.variables)
        return f"{to.text} = ({to.type})(bit<{to.width}>){call};" if rv.width > 1 else f"{call};"

    def _action(self) -> tuple[str, list[Typed]]:
        name = self._name("a")
        data = [Typed(f"d{i}", self.draws.choice([1, 8, 32, 64, 90])) for i in range(self.draws.randint(0, 3))]
        body = [self._assignment(data) for _ in range(self.draws.randint(0, 3))]
        if self.draws.random() < 0.3:
            body.append(self._execute(self._register()))
        if self.draws.random() < 0.2:
            body.insert(0, f"if ({self.made.condition(1)}) {{ return; }}")
        parameters = ", ".join(f"{d.type} {d.text}" for d in data)
        self.declarations.append(f"    action {name}({parameters}) {{ {' '.join(body)} }}")
        return name, data

    def _use(self, action: tuple[str, list[Typed]]) -> str:
        name, data = action
        return f"{name}({', '.join(str(self._number(d.width)) for d in data)})"

    def _number(self, width: int) -> int:
        return self.draws.choice([0, 1, (1 << width) - 1, 1 << width - 1, self.draws.getrandbits(width)])

    def _table(self, depth: int) -> list[str]:
        name = self._name("t")
        actions = [self._action() for _ in range(self.draws.randint(1, 3))]
        kinds = self.draws.choice([("exact",), ("exact", "exact"), ("ternary", "exact"), ("range",), ("lpm",),
                                   ("ternary", "ternary"), ("exact", "range")])  # fmt: skip
        keys = [self.made.of(self.draws.choice([1, 2, 3, 8, 16, 33, 64]), False, 1) for _ in kinds]
        rows = {
            tuple(self._match(kind, key.width) for kind, key in zip(kinds, keys, strict=True)): self.draws.choice(
                actions
            )
            for _ in range(self.draws.randint(0, 8))
        }
        entries = [f"            ({', '.join(row)}): {self._use(action)};" for row, action in rows.items()]
        named = " ".join(
            f'{k.text}: {kind} @name("k{i}");' for i, (k, kind) in enumerate(zip(keys, kinds, strict=True))
        )
        self.declarations += [
            f"    table {name} {{",
            f"        key = {{ {named} }}",
            f"        actions = {{ {' '.join(f'{a};' for a, _ in actions)} }}",
            *(["        const entries = {", *entries, "        }"] if entries else []),
            f"        const default_action = {self._use(self.draws.choice(actions))};",
            "    }",
        ]
        choice = self.draws.random()
        if choice < 0.4:
            return [f"{name}.apply();"]
        then, other = (self._statements(self.draws.randint(0, 2), depth - 1) for _ in range(2))
        if choice < 0.7:
            word = self.draws.choice(["hit", "miss"])
            return [f"if ({name}.apply().{word}) {{", *then, "} else {", *other, "}"]
        label = self.draws.choice(actions)[0]
        return [f"switch ({name}.apply().action_run) {{", f"{label}: {{", *then, "}", "default: {", *other, "}", "}"]

    def _match(self, kind: str, width: int) -> str:
        full = (1 << width) - 1
        value = self._number(width)
        if kind == "ternary":
            return self.draws.choice(["_", str(value), f"{value} &&& {self._number(width)}"])
        if kind == "lpm":
            mask = full & ~((1 << self.draws.randint(0, width)) - 1)
            return f"{value & mask} &&& {mask}"
        if kind == "range":
            low, high = sorted((value, self._number(width)))
            return f"{low} .. {high}"
        return str(value)


class Parsing:
    """Random parsers: states in a row that extract, advance and look ahead, and select among those behind them."""

    STATES = 12

    def __init__(self, draws: random.Random) -> None:
        self.draws = draws

    def program(self) -> str:
        headers, fields, states, lines = "", [], "", []
        for i in range(self.STATES):
            widths = self._widths()
            headers += f"header h{i}_h {{ {' '.join(f'bit<{w}> f{j};' for j, w in enumerate(widths))} }}\n"
            stack = self.draws.random() < 0.3
            fields.append(f"h{i}_h{'[2]' if stack else ''} h{i};")
            states += self._state(i, widths, stack)
            last = f"hdr.h{i}{'[1]' if stack else ''}"
            lines.append(f"if ({last}.isValid()) {{ hdr.seen.v{i} = 1; {last}.f0 = {last}.f0 ^ 1; }}")
        padding = -self.STATES % 8
        headers += (
            f"header seen_h {{ {' '.join(f'bit<1> v{i};' for i in range(self.STATES))} bit<{padding}> padding; }}\n"
        )
        return source(
            headers=f"{headers}struct headers_t {{ {' '.join(fields)} seen_h seen; }}",
            states=states.replace("state s0 ", "state first "), apply="\n".join(["hdr.seen.setValid();", *lines]),
        )  # fmt: skip

    def frames(self, count: int) -> list[bytes]:
        """Bytes of few bits, so that keys are met; some frames are too short."""
        numbers = (0, 1, 2, 3, 0x80, 0xFF)
        return [
            bytes(self.draws.choice(numbers) for _ in range(self.draws.choice([0, 1, 5, 20, 80, 200])))
            for _ in range(count)
        ]

    def _widths(self) -> list[int]:
        widths = [self.draws.choice([1, 2, 3, 5, 8, 12, 16, 20, 33, 64]) for _ in range(self.draws.randint(1, 4))]
        return widths + ([-sum(widths) % 8] if sum(widths) % 8 else [])

    def _state(self, i: int, widths: list[int], stack: bool) -> str:
        """Extracts header i; a stack may come back for its second (or, which is an error, third) element."""
        body = f"pkt.extract(hdr.h{i}{'.next' if stack else ''});"
        if self.draws.random() < 0.2:
            body += f" pkt.advance({8 * self.draws.randint(1, 3)});"
        subjects = [(f"hdr.h{i}{'.last' if stack else ''}.f{j}", w) for j, w in enumerate(widths)]
        subjects = self.draws.sample(subjects, min(len(subjects), self.draws.randint(1, 2)))
        if self.draws.random() < 0.3:
            width = self.draws.choice([1, 4, 8, 13])
            subjects[0] = (f"pkt.lookahead<bit<{width}>>()", width)
        targets = [f"s{n}" for n in range(i + 1, min(self.STATES, i + 4))] + ["accept"]
        choices = [*targets, *targets, "reject", *([f"s{i}"] if stack and i else [])]
        cases = [
            f"({', '.join(self._key(w) for _, w in subjects)}): {self.draws.choice(choices)};"
            for _ in range(self.draws.randint(1, 4))
        ]
        if self.draws.random() < 0.8:
            cases.append(f"default: {self.draws.choice(targets)};")
        select = ", ".join(text for text, _ in subjects)
        return f"    state s{i} {{ {body} transition select({select}) {{ {' '.join(cases)} }} }}\n"

    def _key(self, width: int) -> str:
        full = (1 << width) - 1
        low, high = sorted(self.draws.choice([0, 1, 3, full, self.draws.getrandbits(width)]) & full for _ in range(2))
        return self.draws.choice(["_", str(low), f"{low} &&& {high}", f"{low} .. {high}"])
