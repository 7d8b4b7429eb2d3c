"""The gateway: Arrow batches on one side, the card's messages on the other."""

from __future__ import annotations

import socket
import time
from array import array
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from card.device import ADD, BUSY, FULL, OK, OPEN, PROBE, Message, receive, send
from jumpgate.errors import CapacityExceeded, InternalError, Unreachable
from jumpgate.nca.worker import Input, serve

#: for other jobs to give a table back
WAIT_S = 20.0
KEYS_MAX = 8192


class Table:
    """A hash table on the card, until the connection is closed."""

    def __init__(self, card: str, address: str, job: int) -> None:
        self.card = card
        host, _, port = address.rpartition(":")
        try:
            self._connection = socket.create_connection((host, int(port)), WAIT_S)
        except OSError as error:
            raise Unreachable(f"no card answers at {address}: {error}", device=card) from None
        deadline = time.monotonic() + WAIT_S
        while (status := self._ask(Message(OPEN, job)).what) == BUSY and time.monotonic() < deadline:
            time.sleep(0.02)
        if status != OK:
            raise Unreachable(f"card '{card}' is busy with other jobs. Run it again later, or add a card.", device=card)

    def _ask(self, message: Message) -> Message:
        try:
            send(self._connection, message)
            return receive(self._connection)
        except (OSError, EOFError, ValueError) as error:
            raise Unreachable(f"card '{self.card}': {error}", device=self.card) from None

    def add(self, keys: pa.Array) -> None:
        """Raises CapacityExceeded where the card has no room for them."""
        answer = self._ask(Message(ADD, 0, words(keys)))
        if answer.what == FULL:
            raise CapacityExceeded(
                f"card '{self.card}' has room for {answer.number} more rows; the build side has more. "
                "Swap the join's sides, or leave the card out.",
                device=self.card,
            )
        if answer.what != OK:
            raise InternalError(f"card '{self.card}' answered {answer.what}", device=self.card)

    def probe(self, keys: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Positions of keys, and the rows that have them."""
        answer = self._ask(Message(PROBE, 0, words(keys)))
        if answer.what != OK:
            raise InternalError(f"card '{self.card}' answered {answer.what}", device=self.card)
        pairs = array("q", answer.words)
        return pa.array(pairs[::2], pa.int64()), pa.array(pairs[1::2], pa.int64())


def words(keys: pa.Array) -> bytes:
    """Keys without NULLs as the card has them."""
    return array("q", keys.to_pylist()).tobytes()


def compute(configuration: dict[str, Any], inputs: tuple[Input, ...]) -> Iterator[pa.RecordBatch]:
    """The inner join of two inputs by their last columns: NULL keys have no partner."""
    probe, build = inputs
    table = Table(configuration["card"], configuration["address"], configuration["job_number"])
    kept = []
    for batch in with_keys(build):
        table.add(batch.columns[-1])
        kept.append(batch)
    right = pa.Table.from_batches(kept, build.schema).combine_chunks()
    for batch in with_keys(probe):
        positions, rows = table.probe(batch.columns[-1])
        taken = right.take(rows).combine_chunks()
        columns = [*batch.take(positions).columns, *(c.chunk(0) if c.num_chunks else c for c in taken.columns)]
        if len(positions):
            fields = [pa.field(f"c{i}", c.type) for i, c in enumerate(columns)]
            yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def with_keys(input: Input) -> Iterator[pa.RecordBatch]:
    """Batches of rows whose key is not NULL, no larger than a message."""
    for batch in input:
        found = batch.filter(pc.is_valid(batch.columns[-1]))
        for start in range(0, found.num_rows, KEYS_MAX):
            yield found.slice(start, KEYS_MAX)


if __name__ == "__main__":
    serve(compute)
