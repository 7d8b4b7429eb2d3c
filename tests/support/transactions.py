"""Random transactions, and the program of p4/programs/transactions.py on a software switch without a network."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import Guard, Header, Instruction
from jumpgate.p4.switch.build import build
from jumpgate.p4.switch.switch import PASSES_MAX, Entry, Switch
from jumpgate.transactions.log import Log
from tests.support.switch_programs import SECRET, SENDER, Host, wrapped

SWITCH = Host("02:00:00:00:00:02", "10.0.0.2", p4.UDP_PORT, 0)
EXTREMES = (p4.LEAST, p4.LEAST + 1, -1, 0, 1, p4.GREATEST - 1, p4.GREATEST)
PAYLOAD_AT = 42
PROGRAM = Path(p4.__file__).with_name("transactions.p4")


def random_instruction(rng: random.Random, array: int, indices: int) -> Instruction:
    def value() -> int:
        return rng.choice(EXTREMES) if rng.random() < 0.2 else rng.randint(-50, 50)

    return Instruction(
        array, rng.randrange(indices), rng.randrange(4), value(), p4.LEAST if rng.random() < 0.4 else value(),
        rng.random() < 0.4, rng.choice((0, 0, 0, 1, 2, 3)), rng.choice((0, 0, 0, *map(int, Guard), 7)),
    )  # fmt: skip


def random_transaction(rng: random.Random, indices: int = 4, single: bool = False) -> list[Instruction]:
    """Up to eight instructions, each of any kind; `single`: in one pass."""
    arrays = p4.DEFAULT.arrays
    count = rng.randint(0 if not single else 8, 8)
    if single or rng.random() < 0.5:
        chosen = sorted(rng.sample(range(arrays), count))
    else:
        chosen = [rng.randrange(arrays) for _ in range(count)]
    return [random_instruction(rng, array, indices) for array in chosen]


def fill(log: Log) -> None:
    """From now on the disk of a log is full."""
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log.file)
    os.close(full)


class Programmed:
    """The program, with workers of databases that each own 256 indices; worker w of database d is flow 16 d + w."""

    def __init__(self, databases: int = 2, workers: int = 4, source: Path = PROGRAM) -> None:
        self.switch = Switch(build(source, "tofino1").program)
        self.sequences: dict[int, int] = {}
        table = self.switch.table("flow")
        for database in range(databases):
            for worker in range(workers):
                flow = 16 * database + worker
                data = (flow, database, 256 * database, 0xFF, 0)
                value, masks = (flow, SECRET), (0xFFFF, (1 << 64) - 1)
                self.switch.insert(table, Entry(value, masks, 0, table.action("serve"), data))

    def frame(self, flow: int, instructions: Sequence[Instruction], again: bool = False, secret: int = SECRET) -> bytes:
        """The next packet of a flow, or the last one again."""
        self.sequences[flow] = self.sequences.get(flow, 0) + (not again)
        passes = len(p4.passes_of(instructions))
        header = Header(flow, self.sequences[flow], secret, 77, p4.locks_of(instructions), passes)
        return wrapped(p4.pack(header, instructions), (SENDER, SWITCH))

    def run(self, *frames: bytes, passes_max: int = PASSES_MAX) -> list[tuple[Header, list[int]]]:
        """What leaves for whoever sent them, in order."""
        out = []
        for port, frame in self.switch.process(((SENDER.port, frame) for frame in frames), passes_max):
            assert port == SENDER.port
            answer = p4.unpack(frame[PAYLOAD_AT:])
            assert answer is not None
            out.append(answer)
        return out

    def cell(self, array: int, index: int) -> int:
        found = self.switch.register(f"array_{array}")
        word = self.switch.read_register(found, index, 1)[0][0]
        return word - (1 << 32) if word > p4.GREATEST else word
