"""Workers, a network that loses, repeats and reorders, and the switch: each transaction is executed once."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator

import pytest

from jumpgate.errors import Unreachable
from jumpgate.p4.programs.transactions import ADD, Instruction, Reference
from jumpgate.p4.switch.switch import PortSpec
from jumpgate.transactions.channel import Channel, Lease, Sender
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
    """A network between a worker and the switch. Of the packets to the switch it loses three in ten, repeats one in
    ten, and keeps one in ten to send it later."""

    def __init__(self, switch: tuple[str, int], seed: int) -> None:
        self.random, self.kept = random.Random(seed), list[bytes]()
        self.near, self.far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.near.bind(("127.0.0.1", 0))
        self.far.connect(switch)
        self.worker = "", 0
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self._there, self._back)]
        for thread in self.threads:
            thread.start()

    def _there(self) -> None:
        while packet := self._received():
            luck = self.random.random()
            if luck >= 0.3:
                self.far.send(packet)
            if luck >= 0.9:
                self.far.send(packet)
            if 0.8 <= luck < 0.9:
                self.kept.append(packet)
            elif self.kept and luck > 0.6:
                self.far.send(self.kept.pop())

    def _received(self) -> bytes:
        packet, self.worker = self.near.recvfrom(2048)
        return packet

    def _back(self) -> None:
        while packet := self.far.recv(2048):
            self.near.sendto(packet, self.worker)

    def close(self) -> None:
        self.far.shutdown(socket.SHUT_RD)
        self.near.sendto(b"", self.near.getsockname())
        for thread in self.threads:
            thread.join()
        self.near.close()
        self.far.close()


def test_histories_replay_in_the_order_of_their_numbers(made: tuple[Programmed, tuple[str, int]]) -> None:
    """Concurrent workers, one pass and many, over a bad network: numbers without gaps, results, and the final state."""
    programmed, address = made
    history: list[tuple[int, tuple[int, ...], list[Instruction]]] = []

    def work(flow: int) -> None:
        rng = random.Random(flow)
        network = Hostile(address, flow)
        sender = Sender(network.near.getsockname())
        channel = Channel(sender, Lease(flow, SECRET))
        for _ in range(EACH):
            instructions = random_transaction(rng, indices=2)
            answer = channel.execute(instructions)
            history.append((answer.gid, answer.results, instructions))
        sender.close()
        network.close()

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
    with (
        Sender(address, lost_s=0.1) as sender,
        pytest.raises(Unreachable, match="did not answer transaction 5 for 0.1 s"),
    ):
        Channel(sender, Lease(WORKERS, SECRET + 1)).execute([Instruction(0, 0, ADD, 1)], 5)
