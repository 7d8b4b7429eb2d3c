"""Turns what a transaction wants of hot values into instructions, or says why the switch cannot."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from jumpgate.errors import InvalidDataflow
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import ADD, DEFAULT, INSTRUCTIONS_MAX, SET, Guard, Instruction
from jumpgate.transactions.channel import plain_fields
from jumpgate.transactions.postgres import Name, Place

#: registers stay within ± this; what is left of an int32 is for workers that overshoot at once
VALUE_MAX = 1 << 30
#: shapes that are kept until they are all made anew
SHAPES_MAX = 4096
_BOUNDS = slice(p4.FIRST + p4.BOUND, None, p4.EACH)


def amount_max(workers: int) -> int:
    """Return how much a transaction may add to a value, so that none wraps, nor reaches the greatest int32."""
    return (p4.GREATEST - 1 - VALUE_MAX) // workers


class Step(NamedTuple):
    """Adds `amount` (0: reads), or sets the value to it. `at_least`: nothing of the transaction is done unless the
    value, after an addition, is so much at least."""

    name: Name
    amount: int = 0
    sets: bool = False
    at_least: int | None = None


class Conditions:
    """The instructions of a transaction that give are conditions of the whole."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._at = [at for at, i in enumerate(instructions) if i.gives]
        self._is_equal = any(i.guard == Guard.SWAPPED for i in instructions)

    def hold(self, results: Sequence[int], bounds: Sequence[int]) -> bool:
        """Tell from the results of all instructions, and their bounds."""
        holds = operator.eq if self._is_equal else operator.ge
        return not self._at or all(holds(results[at], bounds[at]) for at in self._at)


@dataclass(frozen=True)
class Executed:
    """A transaction's instructions, as a log has them."""

    instructions: tuple[Instruction, ...]

    def is_done(self, results: Sequence[int]) -> bool:
        return Conditions(self.instructions).hold(results, [i.bound for i in self.instructions])

    def accesses(self) -> list[int]:
        """Return the instructions that are steps or conditions, not the begin of a pass."""
        is_conditional = any(i.gives for i in self.instructions)
        return [
            at for at, i in enumerate(self.instructions) if i.gives or i.guard != Guard.NONE or not is_conditional
        ]  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """An instruction but for its numbers. Its operand is the amount of step `adds`, its bound what step `requires`
    asks for, or the value that is expected of a name; 0 and the least where there is none. `base`: of the place."""

    instruction: Instruction
    base: int = 0
    adds: int | None = None
    requires: int | None = None
    expects: Name | None = None


class Form(NamedTuple):
    """A step but for its numbers."""

    name: Name
    place: Place
    sets: bool
    is_required: bool


class Shape:
    """All that transactions share whose steps differ in numbers alone. `where[i]` is the instruction of step i."""

    def __init__(self, slots: Sequence[Slot], where: Sequence[int]) -> None:
        instructions = [slot.instruction for slot in slots]
        self.where, self.conditions = tuple(where), Conditions(instructions)
        self._fields = plain_fields(instructions)
        numbered = [(p4.FIRST + p4.EACH * at, slot) for at, slot in enumerate(slots)]
        self._adds = [(at + p4.OPERAND, s.base, s.adds) for at, s in numbered if s.adds is not None]
        self._requires = [(at + p4.BOUND, s.base, s.requires) for at, s in numbered if s.requires is not None]
        self._expects = [(at + p4.BOUND, s.base, s.expects) for at, s in numbered if s.expects is not None]

    def compile(self, steps: Sequence[Step], expected: Mapping[Name, int]) -> Compiled:
        """Fill in the numbers."""
        fields = self._fields.copy()
        for at, base, i in self._adds:
            _, amount, sets, _ = steps[i]
            fields[at] = amount - base if sets else amount
        for at, base, i in self._requires:
            fields[at] = _least(steps[i], base)
        for at, base, name in self._expects:
            fields[at] = _bound(expected[name] - base)
        return Compiled(fields, self)


class Compiled(NamedTuple):
    """Steps as the fields of a packet."""

    fields: list[int]
    shape: Shape

    def is_done(self, results: Sequence[int]) -> bool:
        return self.shape.conditions.hold(results, self.fields[_BOUNDS])


class Places(dict[Name, Place]):
    """Where values are, and shapes of transactions there."""

    def __init__(self, places: Mapping[Name, Place]) -> None:
        super().__init__(places)
        self._shapes: dict[Hashable, Shape] = {}

    def compile(self, steps: Sequence[Step], expected: Mapping[Name, int]) -> Compiled:
        """Sorts the steps by their arrays behind the conditions: that steps are so much at least, or that values are as
        `expected` before. Raises InvalidDataflow, with the way out."""
        key = (tuple([(s.name, s.sets, s.at_least is None) for s in steps]), *expected)
        shape = self._shapes.get(key)
        if shape is None:
            gone = next((n for n in itertools.chain((s.name for s in steps), expected) if n not in self), None)
            if gone is not None:
                raise InvalidDataflow(f"{text(gone)} is not in the switch any more: declare the transaction again")
            if len(self._shapes) >= SHAPES_MAX:
                self._shapes.clear()
            forms = [Form(s.name, self[s.name], s.sets, s.at_least is not None) for s in steps]
            shape = self._shapes[key] = _shape(forms, {name: self[name] for name in expected})
        return shape.compile(steps, expected)


def too_large(steps: Sequence[Step], places: Mapping[Name, Place], most: int) -> Step | None:
    """Return a step that sets a register to what it does not hold, or one of those that together add more than `most`
    to a value."""
    added: dict[Name, int] = {}
    for step in steps:
        if step.sets:
            is_large = abs(step.amount - places[step.name].base) > VALUE_MAX
        else:
            added[step.name] = added.get(step.name, 0) + abs(step.amount)
            is_large = added[step.name] > most
        if is_large:
            return step
    return None


def _shape(forms: Sequence[Form], expected: Mapping[Name, Place]) -> Shape:
    if len(forms) > INSTRUCTIONS_MAX:
        raise InvalidDataflow(f"a transaction has {len(forms)} hot steps; the switch takes {INSTRUCTIONS_MAX}")
    required = [i for i, form in enumerate(forms) if form.is_required]
    if expected and required:
        raise InvalidDataflow(
            f"{text(forms[required[0]].name)} is required in a transaction that expects values: expect its value, too"
        )
    _check_first(forms, required)
    checks = [Slot(_check(name, place), place.base, expects=name) for name, place in expected.items()]
    if checks:
        return _chained(checks, Guard.SWAPPED, forms)
    checks = [Slot(_check(forms[i].name, forms[i].place), forms[i].place.base, requires=i) for i in required]
    if len(checks) > 1:
        return _chained(checks, Guard.DONE, forms)
    if checks:  # a step that is its own condition
        [first], [check] = required, checks
        check = replace(check, instruction=replace(check.instruction, action=_action(forms[first])), adds=first)
        return _behind([check], {first: 0}, Guard.DONE, forms)
    order = sorted(range(len(forms)), key=lambda i: forms[i].place.array)
    return Shape([_slot(i, forms[i], Guard.NONE) for i in order], [order.index(i) for i in range(len(forms))])


def _check(name: Name, place: Place) -> Instruction:
    """Return a condition on a value. Raises InvalidDataflow for an array that gives none."""
    if place.array % DEFAULT.columns:
        raise InvalidDataflow(
            f"{text(name)} lies in an array that gives no condition: release it, and offload it with checked=True"
        )
    return Instruction(place.array, place.index, gives=True)


def _check_first(forms: Sequence[Form], required: Sequence[int]) -> None:
    for i in required:
        if any(form.name == forms[i].name for form in forms[:i]):
            raise InvalidDataflow(
                f"{text(forms[i].name)} is changed or read before the step that requires it: require it first"
            )


def _chained(checks: Sequence[Slot], guard: Guard, forms: Sequence[Form]) -> Shape:
    """Read what conditions ask for, each if those before held, then execute the steps if all did.

    A condition that is skipped leaves what the failed one left, so the guard of all that follow tells of all.
    """
    made: list[Slot] = []
    for check in sorted(checks, key=lambda check: check.instruction.array):
        is_guarded = bool(made) or len(checks) == 1 and not forms  # which tells what is asked for
        made.append(replace(check, instruction=replace(check.instruction, guard=guard if is_guarded else Guard.NONE)))
    return _behind(made, {}, guard, forms)


def _behind(made: list[Slot], where: dict[int, int], guard: Guard, forms: Sequence[Form]) -> Shape:
    """Add the steps, but for those in `where`, that are executed if the conditions in `made` held."""
    columns, array = DEFAULT.columns, made[-1].instruction.array
    rest = sorted((i for i in range(len(forms)) if i not in where), key=lambda i: forms[i].place.array)
    later = [i for i in rest if forms[i].place.array // columns > array // columns]
    sooner = [i for i in rest if i not in later]
    if not later and sooner and forms[sooner[0]].place.array > array:
        # in the level of the last condition: a pass of its own begins with an array that does not ascend
        made.append(Slot(Instruction(0, 0)))
    for i in (*later, *sooner):
        where[i] = len(made)
        made.append(_slot(i, forms[i], guard))
    if len(made) > INSTRUCTIONS_MAX:
        raise InvalidDataflow(
            f"a transaction with conditions has {len(made)} instructions, the switch takes {INSTRUCTIONS_MAX}: release "
            "some of its rows, or split it"
        )
    return Shape(made, [where[i] for i in range(len(forms))])


def _slot(i: int, form: Form, guard: Guard) -> Slot:
    place = form.place
    return Slot(Instruction(place.array, place.index, _action(form), guard=guard), place.base, adds=i)


def _action(form: Form) -> int:
    return SET if form.sets else ADD


def _least(step: Step, base: int) -> int:
    """Return what the register must hold before a step at least."""
    assert step.at_least is not None
    return _bound(step.at_least - base - (0 if step.sets else step.amount))


def _bound(value: int) -> int:
    """Return what registers, which reach neither end of an int32, compare with as with this."""
    return min(p4.GREATEST, max(p4.LEAST, value))


def text(name: Name) -> str:
    table, key, column = name
    return f"{table}[{key}].{column}"
