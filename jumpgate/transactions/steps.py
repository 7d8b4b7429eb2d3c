"""Turns what a transaction wants of hot values into instructions, or says why the switch cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jumpgate.errors import InvalidDataflow
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import ADD, DEFAULT, INSTRUCTIONS_MAX, SET, Guard, Instruction
from jumpgate.transactions.postgres import Name, Place

#: registers stay within ± this; what is left of an int32 is for workers that overshoot at once
VALUE_MAX = 1 << 30


def amount_max(workers: int) -> int:
    """Return how much a transaction may add to a value, so that none wraps, nor reaches the greatest int32."""
    return (p4.GREATEST - 1 - VALUE_MAX) // workers


@dataclass(frozen=True)
class Step:
    """Adds `amount` (0: reads), or sets the value to it. `at_least`: nothing of the transaction is done unless the
    value, after an addition, is so much at least."""

    name: Name
    amount: int = 0
    sets: bool = False
    at_least: int | None = None


@dataclass(frozen=True)
class Compiled:
    """`where[i]` is the instruction of step i. Instructions that give are conditions of the whole transaction."""

    instructions: tuple[Instruction, ...]
    where: tuple[int, ...] = ()

    def is_done(self, results: Sequence[int]) -> bool:
        is_equal = any(i.guard == Guard.SWAPPED for i in self.instructions)
        return all(
            result == i.bound if is_equal else result >= i.bound
            for i, result in zip(self.instructions, results, strict=True) if i.gives
        )  # fmt: skip

    def accesses(self) -> list[int]:
        """Return the instructions that are steps or conditions, not the begin of a pass."""
        is_conditional = any(i.gives for i in self.instructions)
        return [
            at for at, i in enumerate(self.instructions) if i.gives or i.guard != Guard.NONE or not is_conditional
        ]  # fmt: skip


def too_large(steps: Sequence[Step], places: dict[Name, Place], most: int) -> Step | None:
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


def compile_steps(
    steps: Sequence[Step], places: dict[Name, Place], most: int, expected: Mapping[Name, int] | None = None
) -> Compiled:  # fmt: skip
    """Sorts the steps by their arrays behind the conditions: that steps are so much at least, or that values are as
    `expected` before. Raises InvalidDataflow, with the way out."""
    if len(steps) > INSTRUCTIONS_MAX:
        raise InvalidDataflow(f"a transaction has {len(steps)} hot steps; the switch takes {INSTRUCTIONS_MAX}")
    step = too_large(steps, places, most)
    if step is not None:
        limit = VALUE_MAX if step.sets else most
        raise InvalidDataflow(f"{text(step.name)}: {step.amount} is beyond ±{limit}: release the row, or split it")
    required = [i for i, step in enumerate(steps) if step.at_least is not None]
    if expected and required:
        raise InvalidDataflow(
            f"{text(steps[required[0]].name)} is required in a transaction that expects values: expect its value, too"
        )
    if expected:
        checks = [Instruction(*_cell(name, places), ADD, 0, _bound(value - places[name].base), gives=True)
                  for name, value in expected.items()]  # fmt: skip
        return _chained(checks, Guard.SWAPPED, steps, places)
    if len(required) == 1:
        return _guarded(steps, places, required[0])
    if required:
        _check_first(steps, required)
        checks = [Instruction(*_cell(s.name, places), ADD, 0, _least(s, places[s.name]), gives=True)
                  for s in map(steps.__getitem__, required)]  # fmt: skip
        return _chained(checks, Guard.DONE, steps, places)
    order = sorted(range(len(steps)), key=lambda i: places[steps[i].name].array)
    instructions = [_instruction(steps[i], places, Guard.NONE) for i in order]
    return Compiled(tuple(instructions), tuple(order.index(i) for i in range(len(steps))))


def _cell(name: Name, places: dict[Name, Place]) -> tuple[int, int]:
    """Return where a condition's value lies. Raises InvalidDataflow for an array that gives none."""
    place = places[name]
    if place.array % DEFAULT.columns:
        raise InvalidDataflow(
            f"{text(name)} lies in an array that gives no condition: release it, and offload it with checked=True"
        )
    return place.array, place.index


def _check_first(steps: Sequence[Step], required: Sequence[int]) -> None:
    for i in required:
        if any(step.name == steps[i].name for step in steps[:i]):
            raise InvalidDataflow(
                f"{text(steps[i].name)} is changed or read before the step that requires it: require it first"
            )


def _chained(
    checks: Sequence[Instruction], guard: Guard, steps: Sequence[Step], places: dict[Name, Place]
) -> Compiled:  # fmt: skip
    """Read what conditions ask for, each if those before held, then execute the steps if all did.

    A condition that is skipped leaves what the failed one left, so the guard of all that follow tells of all.
    """
    made: list[Instruction] = []
    for check in sorted(checks, key=lambda check: check.array):
        made.append(replace(check, guard=guard if made else Guard.NONE))
    if len(made) == 1 and not steps:
        made.append(replace(made[0], guard=guard))  # which tells what is asked for
    return _behind(made, {}, guard, [replace(step, at_least=None) for step in steps], places)


def _guarded(steps: Sequence[Step], places: dict[Name, Place], first: int) -> Compiled:
    _cell(steps[first].name, places)
    _check_first(steps, [first])
    return _behind([_instruction(steps[first], places, Guard.NONE)], {first: 0}, Guard.DONE, steps, places)


def _behind(
    made: list[Instruction], where: dict[int, int], guard: Guard, steps: Sequence[Step], places: dict[Name, Place]
) -> Compiled:  # fmt: skip
    """Add the steps, but for those in `where`, that are executed if the conditions in `made` held."""
    columns, array = DEFAULT.columns, made[-1].array
    rest = sorted((i for i in range(len(steps)) if i not in where), key=lambda i: places[steps[i].name].array)
    later = [i for i in rest if places[steps[i].name].array // columns > array // columns]
    sooner = [i for i in rest if i not in later]
    if not later and sooner and places[steps[sooner[0]].name].array > array:
        # in the level of the last condition: a pass of its own begins with an array that does not ascend
        made.append(Instruction(0, 0))
    for i in (*later, *sooner):
        where[i] = len(made)
        made.append(_instruction(steps[i], places, guard))
    if len(made) > INSTRUCTIONS_MAX:
        raise InvalidDataflow(
            f"a transaction with conditions has {len(made)} instructions, the switch takes {INSTRUCTIONS_MAX}: release "
            "some of its rows, or split it"
        )
    return Compiled(tuple(made), tuple(where[i] for i in range(len(steps))))


def _instruction(step: Step, places: dict[Name, Place], guard: Guard) -> Instruction:
    place = places[step.name]
    action, operand = (SET, step.amount - place.base) if step.sets else (ADD, step.amount)
    if step.at_least is not None:
        return Instruction(place.array, place.index, action, operand, _least(step, place), gives=True)
    return Instruction(place.array, place.index, action, operand, guard=guard)


def _least(step: Step, place: Place) -> int:
    """Return what the register must hold before a step at least."""
    assert step.at_least is not None
    return _bound(step.at_least - place.base - (0 if step.sets else step.amount))


def _bound(value: int) -> int:
    """Return what registers, which reach neither end of an int32, compare with as with this."""
    return min(p4.GREATEST, max(p4.LEAST, value))


def text(name: Name) -> str:
    table, key, column = name
    return f"{table}[{key}].{column}"
