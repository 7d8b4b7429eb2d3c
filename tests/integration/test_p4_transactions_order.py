"""Who goes first in the program for transactions, pass by pass: a switch whose packets come round by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import ADD, Instruction, Move, Order, Reference, Waiting
from tests.support.switch_programs import SENDER
from tests.support.transactions import PAYLOAD_AT, Programmed, random_transaction

#: ports that lead out, in place of those that lead back in
OUT = {p4.HOLDERS: 20, p4.WAITERS[0]: 21, p4.WAITERS[1]: 22, p4.REPEATS: 23}
WORKERS = 6


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programmed]:
    source = p4.render()
    for inner, outer in OUT.items():
        assert source.count(f"= {inner};") == 1
        source = source.replace(f"= {inner};", f"= {outer};")
    path = tmp_path_factory.mktemp("program") / "transactions.p4"
    path.write_text(source)
    programmed = Programmed(databases=3, workers=WORKERS, source=path)
    with programmed.switch:
        yield programmed


class Stepper:
    """Sends packets of a database's workers, one pass at a time, and checks each pass against the reference."""

    def __init__(self, made: Programmed, database: int) -> None:
        self.made, self.first = made, 16 * database
        self.order, self.reference = Order(), Reference()
        self.on_the_way: dict[int, tuple[int, bytes, Waiting]] = {}
        self.results: dict[int, list[int]] = {}
        self.open: dict[int, list[Instruction]] = {}
        self.longest = 0

    def send(self, worker: int, instructions: list[Instruction]) -> Move:
        frame = self.made.frame(self.first + worker, instructions)
        packet = Waiting(self.first + worker, p4.locks_of(instructions), len(p4.passes_of(instructions)))
        self.open[worker] = instructions
        return self._step(worker, SENDER.port, frame, packet, comes_again=False)

    def again(self, worker: int) -> Move:
        port, frame, packet = self.on_the_way.pop(worker)
        return self._step(worker, port, frame, packet, comes_again=True)

    def _step(self, worker: int, port: int, frame: bytes, packet: Waiting, comes_again: bool) -> Move:
        held = packet.is_holding
        expected = self.order.move(packet, comes_again)
        if expected is not Move.WAIT and not held:  # it is atomic: all of it counts from here
            self.results[worker] = self.reference.run(self.open[worker])
        [(left_by, out)] = self.made.switch.process([(port, frame)])
        if expected is Move.ANSWER:
            answer = p4.unpack(out[PAYLOAD_AT:])
            assert left_by == SENDER.port and answer is not None
            assert answer[1] == self.results.pop(worker)
            assert answer[0].recirculations == packet.recirculations
            self.longest = max(self.longest, packet.recirculations)
        else:
            by = p4.HOLDERS if expected is Move.HOLD else p4.WAITERS[packet.recirculations % 2]
            assert left_by == OUT[by]
            self.on_the_way[worker] = left_by, out, packet
        return expected


def test_random_packets_move_as_the_reference_says(stepped: Programmed) -> None:
    """Also between the passes of others; what holds the locks is slow at times, so that some wait for long."""
    stepper, rng = Stepper(stepped, 0), random.Random(3)
    for n in range(6000):
        worker = rng.randrange(WORKERS)
        if worker not in stepper.on_the_way:
            stepper.send(worker, random_transaction(rng, indices=2))
        elif not stepper.on_the_way[worker][2].is_holding or n % 2000 < 500 or rng.random() < 0.03:
            stepper.again(worker)
    assert stepper.longest > p4.PATIENCE, "nobody claimed a turn"
    assert stepper.reference.gid > 100


@pytest.mark.parametrize("instructions", [1, 2], ids=["one pass", "two passes"])
def test_a_packet_that_others_overtake_goes_first_in_the_end(stepped: Programmed, instructions: int) -> None:
    """Each time that the lock is free another worker takes it before the packet comes round."""
    stepper = Stepper(stepped, instructions)
    two = [Instruction(0, 0, ADD, 1)] * 2
    holder, rounds = 1, 0
    stepper.send(holder, two)
    assert stepper.send(0, [Instruction(0, 0, ADD, 1)] * instructions) is Move.WAIT
    while stepper.again(0) is Move.WAIT:
        rounds += 1
        assert rounds < 2 * p4.PATIENCE
        if holder in stepper.on_the_way:
            assert stepper.again(holder) is Move.ANSWER
        newcomer = 3 - holder
        if newcomer not in stepper.on_the_way:
            stepper.send(newcomer, two)
            holder = newcomer
    assert p4.PATIENCE <= rounds <= p4.PATIENCE + 2
    assert stepper.again(0) is Move.ANSWER
    while stepper.on_the_way:  # the others follow
        for worker in list(stepper.on_the_way):
            stepper.again(worker)
    assert stepper.order.eldest == (0, 0)
    assert stepped.switch.read_register(stepped.switch.register("eldest"), instructions, 1) == [(0, 0)]
