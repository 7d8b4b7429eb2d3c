"""Empties rows of an algorithm's registers with packets, where others use the rest of them (p4/PROTOCOL.md, CLEAR)."""

from __future__ import annotations

import asyncio

from jumpgate.errors import Unreachable
from jumpgate.ntf.addresses import host_of
from jumpgate.p4.programs.protocol import HEADER

CLEAR = 5
#: rows asked for and not answered yet
WINDOW = 256
RETRY_S, RETRIES_MAX = 0.05, 40


class _Answers(asyncio.DatagramProtocol):
    def __init__(self, flow: int, secret: int, rows: int) -> None:
        self.flow, self.secret, self.left = flow, secret, set(range(rows))
        self.answered = asyncio.Event()

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        if len(data) >= HEADER.size:
            kind, _, flow, row, secret = HEADER.unpack_from(data)
            if (kind, flow, secret) == (CLEAR, self.flow, self.secret):
                self.left.discard(row)
                self.answered.set()


async def clear_rows(switch: str, flow: int, secret: int, rows: int) -> None:
    """Empties the first `rows` rows of the flow's region. Raises Unreachable."""
    host, port = host_of(switch), int(switch.rpartition(":")[2])
    loop = asyncio.get_running_loop()
    transport, answers = await loop.create_datagram_endpoint(
        lambda: _Answers(flow, secret, rows), remote_addr=(host, port)
    )
    try:
        tries = 0
        while answers.left:
            before = len(answers.left)
            for row in sorted(answers.left)[:WINDOW]:
                transport.sendto(HEADER.pack(CLEAR, 0, flow, row, secret))
            wanted = max(0, before - WINDOW)
            try:
                async with asyncio.timeout(RETRY_S):
                    while len(answers.left) > wanted:
                        answers.answered.clear()
                        await answers.answered.wait()
            except TimeoutError:
                pass
            tries = tries + 1 if len(answers.left) == before else 0
            if tries == RETRIES_MAX:
                raise Unreachable(f"the switch at {switch} does not answer packets of flow {flow}")
    finally:
        transport.close()
