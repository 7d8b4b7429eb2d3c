"""Refuse what a Tofino's own compiler refuses although the hardware's units could compute it: its passes put code
together, and do not take it apart again.

- Before it makes actions it reads each variable as what was assigned to it (but for results of registers and hashes),
  on all paths up to the next assignment. Two operations in a row so become one expression, which no ALU and no gateway
  computes. Tables end that: their actions are not read through, so a table without keys for each operation passes,
  and so does an action that is called.
- Statements in a row become one action, hashes too, whose results reach an action as its immediate data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.checks.operations import gateway_operations, is_linear, operations
from jumpgate.p4.compiler.elaboration.expressions import COMPARISONS
from jumpgate.p4.compiler.frontend.source import Diagnostics, Position
from jumpgate.p4.compiler.profile import Profile
from jumpgate.p4.compiler.walk import every, expressions, gets, parts, replaced, walk

Values = dict[ir.Slot, ir.Expr]
APART = "give each operation a table without keys"


def check_vendor(program: ir.Program, profile: Profile, diagnostics: Diagnostics) -> None:
    """Adds to `diagnostics` what the compiler of that hardware would refuse, at the same place."""
    vendor = Vendor(program, profile, diagnostics)
    if not profile.vendor["chained"]:
        for gress in program.gresses:
            vendor.body(gress.control, {})
    for table in program.tables:
        vendor.table(table)
    for body in program.bodies:
        for s in walk(body, registers=False):
            if isinstance(s, ir.If):
                vendor.gateway(s)
            elif isinstance(s, ir.Execute):
                vendor.index(s)


class Vendor:
    def __init__(self, program: ir.Program, profile: Profile, diagnostics: Diagnostics) -> None:
        self.program, self.limits, self.diagnostics = program, profile.vendor, diagnostics
        self.title, self.gateway_bits = profile.title, profile.gateway["bits"]
        self.read = _read_bits(program)

    # ---- straight-line code ----

    def body(self, statements: Sequence[ir.Stmt], values: Values, is_called: bool = False) -> Values:
        """Statements of a control, or of an action that it calls, read as that compiler reads them: `values` is what
        variables stand for. Actions that an action calls are a part of it."""
        hashed: dict[ir.Slot, int] = {}  # by the action at hand
        for s in statements:
            if not isinstance(s, ir.Set):
                hashed = {}
            match s:
                case ir.Set(value=ir.Hash()):
                    hashed[s.slot] = self._bits(s)
                    self._immediate(sum(hashed.values()), s.position)
                    values = _without(values, s.slot)
                case ir.Set():
                    value = _read(s.value, values)
                    if set(gets(value)) & set(hashed) and operations(value) and not is_linear(value):
                        self._spans(s.position, "the hash it computes with")
                    elif operations(value) > 1 and not is_linear(value):
                        self._spans(s.position, "the result of another operation")
                    values = _without(values, s.slot)
                    if s.slot not in gets(value) and not (isinstance(value, ir.Random) or _is_call(value)):
                        values = {**values, s.slot: value}
                case ir.If():
                    if gateway_operations(s.condition) or gateway_operations(_read(s.condition, values)):
                        self.diagnostics.error(
                            s.position, "the condition is read as the operations that it depends on, which a gateway "
                            f"of a {self.title} does not compute: {APART} of them",
                        )  # fmt: skip
                    ends = [self.body(branch, values, is_called) for branch in (s.then, s.otherwise)]
                    values = {slot: e for slot, e in ends[0].items() if ends[1].get(slot) == e}
                case ir.Scope(is_call=True) if not is_called:
                    self.body(s.body, {}, is_called=True)
                    for written in _written(s.body):
                        values = _without(values, written)
                case ir.Scope():
                    values = self.body(s.body, values, is_called)
                case ir.Apply():
                    table = self.program.tables[s.table]
                    for written in (w for a in table.actions for w in _written(a.body)):
                        values = _without(values, written)
                case ir.Execute() if s.output is not None:
                    values = _without(values, s.output)
        return values

    def _spans(self, position: Position, what: str) -> None:
        self.diagnostics.error(position, f"one action would take several stages for this and {what}: {APART}")

    def _bits(self, s: ir.Set) -> int:
        """Return the number of bits of an assigned value that anything reads; of what is read nowhere here all."""
        return self.read.get(s.slot, 0).bit_count() or s.slot.type.width

    def _immediate(self, bits: int, position: Position) -> None:
        if bits > self.limits["immediate_bits"]:
            self.diagnostics.error(
                position, f"hashes in a row are one action, which takes {self.limits['immediate_bits']} bits of them, "
                f"not {bits}: give each a table without keys",
            )  # fmt: skip

    # ---- tables and their actions ----

    def table(self, table: ir.Table) -> None:
        for key in table.keys:
            if key.match == "range" and key.value.type.width > self.limits["range_bits"]:
                self.diagnostics.error(
                    table.position, f"range key '{key.name}' has {key.value.type.width} bits, a {self.title} compares "
                    f"{self.limits['range_bits']} as a range: match its high bits, or ternary prefixes",
                )  # fmt: skip
        for action in table.actions:
            self._action(table, action)

    def _action(self, table: ir.Table, action: ir.TableAction) -> None:
        values: Values = {}
        hashed = 0
        for s in walk(action.body, registers=False):
            if (
                isinstance(s, ir.Execute)
                and action.parameters
                and gets(s.index)
                and not (table.keys or self.limits["mixed_actions"])
            ):
                self.diagnostics.error(
                    s.position, f"action '{action.name}' of a table without keys reaches a register by a field and "
                    "takes data: make it two actions",
                )  # fmt: skip
            if not isinstance(s, ir.Set):
                continue
            hashed += self._bits(s) if isinstance(s.value, ir.Hash | ir.Random) else 0
            self._immediate(hashed, s.position)
            value = _read(s.value, values)
            if not self.limits["chained"] and operations(value) > 1 and not is_linear(value):
                self._spans(s.position, "what it computes with")
            for e in every(value):
                if not isinstance(e, ir.Binary) or e.op not in ("-", "|-|") or self.limits["subtracts_data"]:
                    continue
                if set(gets(e.right)) & set(action.parameters):
                    self.diagnostics.error(
                        s.position, f"action '{action.name}' subtracts its data: give the two's complement, and add it"
                    )
            values = _without(values, s.slot)
            if s.slot not in gets(value):
                values[s.slot] = value

    # ---- conditions and indices ----

    def gateway(self, s: ir.If) -> None:
        compared = _compared(s.condition)
        bits = sum(compared.values())
        fields = any(isinstance(e, ir.Binary) for e in compared)  # conditions over constants alone are taken apart
        if bits > self.gateway_bits and fields and not self.limits["splits_conditions"]:
            self.diagnostics.error(
                s.position,
                f"the condition compares {bits} bits, a gateway of a {self.title} {self.gateway_bits}: nest ifs",
            )

    def index(self, s: ir.Execute) -> None:
        plain = s.index.operand if isinstance(s.index, ir.Slice | ir.Cast) else s.index
        if not isinstance(plain, ir.Get | ir.Const) and not self.limits["computed_indices"]:
            self.diagnostics.error(
                s.position, f"the index of register '{self.program.registers[s.register].name}' is too complex: "
                "compute it in a field, by a table without keys",
            )  # fmt: skip


def _read_bits(program: ir.Program) -> dict[ir.Slot, int]:
    """Return the bits of each field or variable that statements and tables' keys read, as a mask."""
    found: dict[ir.Slot, int] = {}

    def take(e: ir.Expr) -> None:
        match e:
            case ir.Get():
                found[e.slot] = (1 << e.slot.type.width) - 1
            case ir.Slice(operand=ir.Get(slot=slot)):
                found[slot] = found.get(slot, 0) | (1 << e.high + 1) - (1 << e.low)
            case _:
                for part in parts(e):
                    take(part)

    for body in (*program.bodies, *(gress.deparser for gress in program.gresses)):
        for s in walk(body):
            keys = program.tables[s.table].keys if isinstance(s, ir.Apply) else ()
            for e in (*expressions(s), *(key.value for key in keys)):
                take(e)
            if isinstance(s, ir.Emit):
                for slot in s.fields:
                    take(ir.Get(slot))
    return found


def _is_call(e: ir.Expr) -> bool:
    """Its result is not read through."""
    return isinstance(e, ir.Binary) and e.op in ("min", "max")


def _read(e: ir.Expr, values: Values) -> ir.Expr:
    return replaced(e, lambda slot: values.get(slot, ir.Get(slot)))


def _without(values: Values, slot: ir.Slot) -> Values:
    """Return the facts that still hold after another value is written to that variable."""
    return {target: e for target, e in values.items() if target != slot and slot not in gets(e)}


def _written(body: Sequence[ir.Stmt]) -> Iterator[ir.Slot]:
    for s in walk(body, registers=False):
        if isinstance(s, ir.Set):
            yield s.slot
        elif isinstance(s, ir.Execute) and s.output is not None:
            yield s.output


def _compared(e: ir.Expr) -> dict[ir.Expr, int]:
    """Bits that a gateway sees: of each field that it compares with a constant, and of one of two that it compares."""
    match e:
        case ir.Binary(op="&&" | "||"):
            return {**_compared(e.left), **_compared(e.right)}
        case ir.Unary(op="!"):
            return _compared(e.operand)
        case ir.Const():
            return {}
        case ir.Binary(op=op) if op in COMPARISONS:
            if isinstance(e.right, ir.Const):
                return _compared(e.left)
            if isinstance(e.left, ir.Const):
                return _compared(e.right)
            return {ir.Binary("==", e.left, e.right, ir.BOOL): e.left.type.width}
        case ir.Binary(op="&", right=ir.Const() as mask):
            return {e.left: mask.value.bit_count()}
    return {e: e.type.width}
