"""Workers, a network that loses, repeats and reorders, and the switch: each transaction is executed once."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest

from jumpgate.errors import Unreachable
from jumpgate.p4.programs.transactions import ADD, Instruction, Reference
from jumpgate.p4.switch.switch import PortSpec
from jumpgate.transactions.channel import Channel, Lease
from tests.support.switch_programs import SECRET
from tests.support.transactions import Programmed, random_transaction

WORKERS, EACH = 4, 60


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[Programmed, tuple[str, int]]]:
    programmed = Programmed(databases=1, workers=WORKERS + 1)
    with programmed.switch:
        port = programmed.switch.add_port(PortSpec.parse("3=127.0.0.1:0,as=9802"))
        programmed.switch.start()
        yield programmed, ("127.0.0.1", port)


class Hostile:
    """A channel that loses three in ten of the packets that it sends, repeats one in ten, and keeps one in ten to send
    it later."""

    def __init__(self, channel: Channel, seed: int) -> None:
        self.random, self.send = random.Random(seed), channel._send
        self.kept: list[bytes] = []
        channel._send = self

    def __call__(self, packet: bytes) -> None:
        luck = self.random.random()
        if luck >= 0.3:
            self.send(packet)
        if luck >= 0.9:
            self.send(packet)
        if 0.8 <= luck < 0.9:
            self.kept.append(packet)
        elif self.kept and luck > 0.6:
            self.send(self.kept.pop())


def test_histories_replay_in_the_order_of_their_numbers(made: tuple[Programmed, tuple[str, int]]) -> None:
    """Concurrent workers, one pass and many, over a bad network: numbers without gaps, results, and the final state."""
    programmed, address = made
    history: list[tuple[int, tuple[int, ...], list[Instruction]]] = []

    def work(flow: int) -> None:
        rng = random.Random(flow)
        channel = Channel(address, Lease(flow, SECRET))
        Hostile(channel, flow)
        for _ in range(EACH):
            instructions = random_transaction(rng, indices=2)
            answer = channel.execute(instructions)
            history.append((answer.gid, answer.results, instructions))
        channel.close()

    threads = [threading.Thread(target=work, args=(flow,)) for flow in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reference = Reference()
    assert [gid for gid, _, _ in sorted(history)] == list(range(1, WORKERS * EACH + 1))
    for gid, results, instructions in sorted(history, key=lambda entry: entry[0]):
        assert reference.run(instructions) == list(results), gid
    for (array, index), value in reference.cells.items():
        assert programmed.cell(array, index) == value
    assert programmed.switch.read_register(programmed.switch.register("locks"), 0, 1) == [(0, 0)]


def test_a_switch_that_does_not_answer_is_said_to_be_lost(made: tuple[Programmed, tuple[str, int]]) -> None:
    _, address = made
    channel = Channel(address, Lease(WORKERS, SECRET + 1), lost_s=0.1)
    with pytest.raises(Unreachable, match="did not answer transaction 5 for 0.1 s"):
        channel.execute([Instruction(0, 0, ADD, 1)], 5)
    channel.close()
