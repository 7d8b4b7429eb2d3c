"""The program for transactions against its reference: packets into a software switch, without a network."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.transactions import lossy
from jumpgate.p4.compiler import report
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import ADD, RAISE, SET, SWAP, Guard, Instruction, Reference
from jumpgate.p4.switch.switch import Entry
from tests.support.switch_programs import SECRET, SENDER, wrapped
from tests.support.transactions import PAYLOAD_AT, SWITCH, Programmed, random_transaction

PROGRAMS = 2000


@pytest.fixture
def made() -> Iterator[Programmed]:
    programmed = Programmed()
    with programmed.switch:
        yield programmed


def test_the_source_in_the_repository_is_the_rendered_one() -> None:
    assert Path(p4.__file__).with_name("transactions.p4").read_text() == p4.render()


def test_fits_twelve_stages_of_a_tofino() -> None:
    found = report(p4.render(), "transactions.p4", "tofino1")
    assert not found.problems
    assert len(found.stages) <= 12


def test_random_transactions_agree_with_the_reference(made: Programmed) -> None:
    """Two databases in turn, one pass and many: results, numbers and all values at the end."""
    rng = random.Random(1)
    references = [Reference(), Reference()]
    for n in range(PROGRAMS):
        database = n % 2
        instructions = random_transaction(rng)
        [(header, results)] = made.run(made.frame(16 * database, instructions))
        assert (header.id, header.sequence) == (77, n // 2 + 1)
        assert results == references[database].run(instructions), instructions
        assert header.gid == references[database].gid
    for database, reference in enumerate(references):
        for (array, index), value in reference.cells.items():
            assert made.cell(array, 256 * database + index) == value


def test_histories_replay_with_loss_and_lost_registers() -> None:
    """A share of the bench: two databases, three in ten packets and answers lost, the registers lost 20 times."""
    assert lossy(2000) == (1.0, 1.0)


def test_a_repetition_is_answered_and_changes_nothing(made: Programmed) -> None:
    rng = random.Random(2)
    reference = Reference()
    for _ in range(200):
        instructions = random_transaction(rng)
        answers = made.run(made.frame(0, instructions), *(made.frame(0, instructions, again=True) for _ in range(2)))
        assert len({(header.gid, tuple(results)) for header, results in answers}) == 1
        assert answers[0][1] == reference.run(instructions)
        states = [header.state for header, _ in answers]
        assert states[0] == p4.FRESH and set(states[1:]) <= {p4.REPEATED}


def test_a_packet_from_before_is_dropped(made: Programmed) -> None:
    old = made.frame(0, [Instruction(0, 0, ADD, 1)])
    new = made.frame(0, [Instruction(0, 0, ADD, 10)])
    assert [results for _, results in made.run(old, new, old)] == [[0], [1]]
    assert made.cell(0, 0) == 11


def test_a_transaction_waits_for_the_half_that_it_touches_only(made: Programmed) -> None:
    made.switch.write_register(made.switch.register("locks"), 0, [(1, 0)])
    assert made.run(made.frame(0, [Instruction(7, 0, ADD, 1)]))
    assert not made.run(made.frame(1, [Instruction(1, 0, ADD, 1)]), passes_max=10)
    assert not made.run(made.frame(2, [Instruction(1, 0, ADD, 1)] * 2), passes_max=10)
    assert made.switch.read_register(made.switch.register("locks"), 0, 1) == [(1, 0)]
    assert made.run(made.frame(16, [Instruction(1, 0, ADD, 1)])), "another database has a lock of its own"


def test_a_withdrawal_that_is_not_covered_moves_no_money(made: Programmed) -> None:
    def transfer(amount: int) -> list[Instruction]:
        return [
            Instruction(0, 0, ADD, -amount, amount, gives=True),
            Instruction(3, 0, ADD, amount, guard=Guard.DONE),
            Instruction(5, 0, ADD, 1, guard=Guard.NOT_DONE),
        ]

    made.run(made.frame(0, [Instruction(0, 0, SET, 100)]))
    for amount in (60, 60, 40):
        made.run(made.frame(0, transfer(amount)))
    assert [made.cell(array, 0) for array in (0, 3, 5)] == [0, 100, 1]


def test_minimum_maximum_and_compare_and_set(made: Programmed) -> None:
    made.run(
        made.frame(0, [Instruction(0, 0, SET, 5), Instruction(1, 0, SET, 5), Instruction(2, 0, SET, 5)]),
        made.frame(0, [Instruction(0, 0, SET, 3, 4), Instruction(1, 0, RAISE, 9, 9), Instruction(2, 0, SWAP, 8, 5)]),
        made.frame(0, [Instruction(0, 0, SET, 4, 5), Instruction(1, 0, RAISE, 2, 2), Instruction(2, 0, SWAP, 1, 5)]),
    )
    assert [made.cell(array, 0) for array in range(3)] == [3, 9, 8]


def test_a_database_cannot_reach_another_ones_values(made: Programmed) -> None:
    made.run(made.frame(16, [Instruction(0, 3, SET, 42)]))
    [(_, results)] = made.run(made.frame(0, [Instruction(0, 256 + 3)]))
    assert results == [0]
    assert made.run(made.frame(0, [Instruction(0, 3)], secret=1)) == []


@pytest.mark.parametrize(("passes", "locks"), [(0, (1, 1)), (9, (1, 1)), (1, (2, 0)), (2, (0, 255))])
def test_headers_that_would_hold_up_others_are_dropped(made: Programmed, passes: int, locks: tuple[int, int]) -> None:
    frame = bytearray(made.frame(0, [Instruction(0, 0)]))
    at = 42 + 22
    frame[at : at + 3] = bytes([*locks, passes])
    assert made.run(bytes(frame)) == []
    assert made.run(made.frame(1, [Instruction(0, 0, ADD, 1)] * 2))


def test_a_decision_reaches_all_nodes_once(made: Programmed) -> None:
    made.switch.set_multicast(3, [(7, 0), (8, 0)])
    table = made.switch.table("flow")
    value, masks = (99, SECRET), (0xFFFF, (1 << 64) - 1)
    made.switch.insert(table, Entry(value, masks, 0, table.action("serve"), (99, 0, 0, 0xFF, 3)))
    instructions = [Instruction(0, 0, ADD, 1)] * 2
    header = p4.Header(99, 1, SECRET, 5, p4.locks_of(instructions), 2, announce=1)
    frame = wrapped(p4.pack(header, instructions), (SENDER, SWITCH))
    for ports in ([SENDER.port, 7, 8], [SENDER.port]):
        left = made.switch.process([(SENDER.port, frame)])
        assert sorted(port for port, _ in left) == ports
        for _, out in left:
            answer = p4.unpack(out[PAYLOAD_AT:])
            assert answer is not None and answer[1] == [0, 1]


def test_what_a_sender_says_of_the_switchs_own_fields_counts_for_nothing(made: Programmed) -> None:
    frame = bytearray(made.frame(0, [Instruction(0, 0, ADD, 1)]))
    frame[42 + 26] = p4.HOLDING
    [(header, _)] = made.run(bytes(frame))
    assert header.state == p4.FRESH and header.gid == 1
