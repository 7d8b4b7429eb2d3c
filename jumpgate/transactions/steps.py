"""Turns what a transaction wants of hot values into instructions, or says why the switch cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

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
    """`where[i]` is the instruction of step i; `check`: that of the step that is required, or -1."""

    instructions: tuple[Instruction, ...]
    where: tuple[int, ...]
    check: int = -1

    def is_done(self, results: Sequence[int]) -> bool:
        return self.check < 0 or results[self.check] >= self.instructions[self.check].bound


def too_large(steps: Sequence[Step], places: dict[Name, Place], most: int) -> Step | None:
    """Return a step that sets a register to what it does not hold, or one of those that together add more than `most`
    to a value."""
    added: Counter[Name] = Counter()
    for step in steps:
        if step.sets:
            is_large = abs(step.amount - places[step.name].base) > VALUE_MAX
        else:
            added[step.name] += abs(step.amount)
            is_large = added[step.name] > most
        if is_large:
            return step
    return None


def compile_steps(steps: Sequence[Step], places: dict[Name, Place], most: int) -> Compiled:
    """Sorts the steps by their arrays behind the required one. Raises InvalidDataflow, with the way out."""
    if len(steps) > INSTRUCTIONS_MAX:
        raise InvalidDataflow(f"a transaction has {len(steps)} hot steps; the switch takes {INSTRUCTIONS_MAX}")
    step = too_large(steps, places, most)
    if step is not None:
        limit = VALUE_MAX if step.sets else most
        raise InvalidDataflow(f"{text(step.name)}: {step.amount} is beyond ±{limit}: release the row, or split it")
    required = [i for i, step in enumerate(steps) if step.at_least is not None]
    if len(required) > 1:
        names = " and ".join(text(steps[i].name) for i in required)
        raise InvalidDataflow(f"{names} are both required: a transaction in the switch has one requirement")
    if not required:
        order = sorted(range(len(steps)), key=lambda i: places[steps[i].name].array)
        instructions = [_instruction(steps[i], places, Guard.NONE) for i in order]
        return Compiled(tuple(instructions), tuple(order.index(i) for i in range(len(steps))))
    return _guarded(steps, places, required[0])


def _guarded(steps: Sequence[Step], places: dict[Name, Place], first: int) -> Compiled:
    columns = DEFAULT.columns
    array = places[steps[first].name].array
    if array % columns:
        raise InvalidDataflow(
            f"{text(steps[first].name)} lies in an array that gives no condition: release it, and offload it with "
            "checked=True"
        )
    if any(step.name == steps[first].name for step in steps[:first]):
        raise InvalidDataflow(
            f"{text(steps[first].name)} is changed or read before the step that requires it: require it first"
        )
    rest = sorted((i for i in range(len(steps)) if i != first), key=lambda i: places[steps[i].name].array)
    later = [i for i in rest if places[steps[i].name].array // columns > array // columns]
    sooner = [i for i in rest if i not in later]
    instructions = [_instruction(steps[first], places, Guard.NONE)]
    order = [first]
    for i in (*later, *sooner):
        if i in sooner and order == [first] and places[steps[i].name].array > array:
            # in the level of the required one: a pass of its own begins with an array that does not ascend
            instructions.append(Instruction(0, 0))
            order.append(-1)
        instructions.append(_instruction(steps[i], places, Guard.DONE))
        order.append(i)
    if len(instructions) > INSTRUCTIONS_MAX:
        raise InvalidDataflow(f"a transaction with a requirement has {len(steps)} hot steps; 7 are certain to fit")
    return Compiled(tuple(instructions), tuple(order.index(i) for i in range(len(steps))), 0)


def _instruction(step: Step, places: dict[Name, Place], guard: Guard) -> Instruction:
    place = places[step.name]
    action, operand = (SET, step.amount - place.base) if step.sets else (ADD, step.amount)
    if step.at_least is not None:
        after = 0 if step.sets else step.amount
        bound = min(p4.GREATEST, max(p4.LEAST, step.at_least - place.base - after))
        return Instruction(place.array, place.index, action, operand, bound, gives=True)
    return Instruction(place.array, place.index, action, operand, guard=guard)


def text(name: Name) -> str:
    table, key, column = name
    return f"{table}[{key}].{column}"
