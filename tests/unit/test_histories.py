"""The checker of histories finds what is wrong with one, of integers and of bigints with bases."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from bench._histories import Cell, Epoch, History
from jumpgate.p4.programs.transactions import ADD, Instruction, Reference

CELLS: list[Cell] = [(0, 0), (2, 0), (4, 0)]
#: epochs, acknowledgements
Made = tuple[list[Epoch], list[tuple[int, bool, list[int]]]]


def made(base: int) -> Made:
    """Three epochs of eight transfers each; the bases move between them, and one transaction needed no switch."""
    rng, gid = random.Random(1), 0
    values, epochs, told = dict.fromkeys(CELLS, base + 100), list[Epoch](), list[tuple[int, bool, list[int]]]()
    for turn in range(3):
        bases = dict(values) if base else dict.fromkeys(CELLS, 0)
        reference = Reference()
        reference.cells, reference.gid = {cell: values[cell] - bases[cell] for cell in CELLS}, gid
        epoch = Epoch(gid, dict(reference.cells), bases, [], {})
        for _ in range(8):
            source, target = sorted(rng.sample(CELLS, 2))
            instructions = [Instruction(*source, ADD, -rng.randint(1, 9)), Instruction(*target, ADD, rng.randint(1, 9))]
            results = reference.run(instructions)
            epoch.entries.append((reference.gid, instructions, results))
            told.append((reference.gid, True, [results[0] + bases[source], results[1] + bases[target]]))
        epoch.after, gid = dict(reference.cells), reference.gid
        values = {cell: epoch.after[cell] + bases[cell] for cell in CELLS}
        if turn == 1:
            epoch.alone = [(CELLS[0], 1 << 40, False, None), (CELLS[1], 7, True, None)]
            told.append((0, True, [values[CELLS[0]], values[CELLS[1]]]))
            values |= {CELLS[0]: values[CELLS[0]] + (1 << 40), CELLS[1]: 7}
        if turn == 1 and not base:  # what integers never do
            epoch.alone, values = [], {cell: epoch.after[cell] for cell in CELLS}
            told.pop()
        epochs.append(epoch)
    return epochs, told


def wrong(of: Made, folder: Path) -> list[str]:
    history = History("one", folder / "history")
    for at, epoch in enumerate(of[0]):
        history.add(epoch, f"epoch {at}")
    history.check(of[1])
    return history.wrong


def swap_numbers(epochs: list[Epoch], _: object) -> None:
    entries = epochs[1].entries
    entries[2], entries[3] = (entries[3][0], *entries[2][1:]), (entries[2][0], *entries[3][1:])


def lose(epochs: list[Epoch], _: object) -> None:
    del epochs[1].entries[3]


def lose_last(epochs: list[Epoch], _: object) -> None:
    """The registers have it, the log has not."""
    del epochs[2].entries[-1]


def double(epochs: list[Epoch], _: object) -> None:
    """A repeated packet was executed again, with the next number."""
    epoch = epochs[2]
    gid, instructions, _results = epoch.entries[-1]
    reference = Reference()
    reference.cells, reference.gid = dict(epoch.after), gid
    reference.run(instructions)
    epoch.after = dict(reference.cells)


def double_logged(epochs: list[Epoch], _: object) -> None:
    epochs[1].entries.append(epochs[1].entries[3])


def change_result(epochs: list[Epoch], _: object) -> None:
    gid, instructions, results = epochs[0].entries[4]
    epochs[0].entries[4] = gid, instructions, [results[0] + 1, results[1]]


def change_base(epochs: list[Epoch], _: object) -> None:
    epochs[2].bases[CELLS[2]] += 1


def forget_epoch(epochs: list[Epoch], _: object) -> None:
    del epochs[1]


def tell_other(_: object, told: list[tuple[int, bool, list[int]]]) -> None:
    gid, done, values = told[5]
    told[5] = gid, done, [values[0] + 1, values[1]]


def tell_not_done(_: object, told: list[tuple[int, bool, list[int]]]) -> None:
    told[5] = told[5][0], False, []


def tell_twice(_: object, told: list[tuple[int, bool, list[int]]]) -> None:
    told.append(told[5])


def tell_later(_: object, told: list[tuple[int, bool, list[int]]]) -> None:
    told.append((25, True, [1, 2]))


def lose_alone(epochs: list[Epoch], _: object) -> None:
    epochs[1].alone = []


def double_alone(epochs: list[Epoch], told: list[tuple[int, bool, list[int]]]) -> None:
    told.append(next(each for each in told if not each[0]))


@pytest.mark.parametrize("base", [0, 1 << 50])
def test_what_holds_is_found_to_hold(base: int, tmp_path: Path) -> None:
    epochs, told = made(base)
    assert wrong((epochs, told), tmp_path) == []
    assert len({cell for epoch in epochs for cell, of in epoch.bases.items() if of}) == (len(CELLS) if base else 0)


BOTH = (
    swap_numbers, lose, lose_last, double, double_logged, change_result, change_base, forget_epoch, tell_other,
    tell_not_done, tell_twice, tell_later,
)  # fmt: skip
PLANTED = [(0, plant) for plant in BOTH] + [(1 << 50, plant) for plant in (*BOTH, lose_alone, double_alone)]


@pytest.mark.parametrize(("base", "plant"), PLANTED)
def test_a_planted_error_is_found(base: int, plant: Callable[..., None], tmp_path: Path) -> None:
    epochs, told = copy.deepcopy(made(base))
    plant(epochs, told)
    assert wrong((epochs, told), tmp_path)
