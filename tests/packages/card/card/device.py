"""What stands for the card: hash tables of 64-bit keys behind a socket, so many rows and no more.

A message is a header (magic, operation or status, table, count) and so many words of 64 bits, all little endian. The
card numbers the rows of a table as they come, and answers a probe with pairs: the position of a key among those that
were sent, and the number of a row with that key. A table goes with the connection that opened it.
"""

from __future__ import annotations

import socket
import struct
import sys
import threading
from array import array
from typing import NamedTuple

HEADER = struct.Struct("<4sIQQ")
MAGIC = b"CARD"
OPEN, ADD, PROBE, COUNT = range(1, 5)
OK, FULL, BUSY, WRONG = range(4)


class Message(NamedTuple):
    """`what` is an operation or a status, `number` a job or what the operation says."""

    what: int
    number: int = 0
    words: bytes = b""


def send(connection: socket.socket, message: Message) -> None:
    connection.sendall(HEADER.pack(MAGIC, message.what, message.number, len(message.words)) + message.words)


def receive(connection: socket.socket) -> Message:
    """Raises EOFError when the other end is gone, ValueError for what is not a message."""
    magic, what, number, size = HEADER.unpack(_exactly(connection, HEADER.size))
    if magic != MAGIC:
        raise ValueError(f"{magic!r} begins no message of a card")
    return Message(what, number, _exactly(connection, size))


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError("the other end of the card's connection is gone")
        data += piece
    return bytes(data)


class Card:
    """Tables of all connections, in `rows` rows of memory; at most `tables` at a time."""

    def __init__(self, rows: int, tables: int) -> None:
        self.free_rows, self.free_tables = rows, tables
        self.jobs: list[int] = []
        self.lock = threading.Lock()

    def serve(self, connection: socket.socket) -> None:
        """One connection, until its end."""
        table: dict[int, list[int]] | None = None
        rows, job = 0, 0
        try:
            while True:
                message = receive(connection)
                words = array("q", message.words)
                answer = Message(WRONG)
                with self.lock:
                    match message.what:
                        case 1 if table is None:
                            answer = Message(OK if self.free_tables else BUSY)
                            if self.free_tables:
                                self.free_tables -= 1
                                table, job = {}, message.number
                                self.jobs.append(job)
                        case 2 if table is not None and len(words) > self.free_rows:
                            answer = Message(FULL, self.free_rows)
                        case 2 if table is not None:
                            for row, key in enumerate(words, rows):
                                table.setdefault(key, []).append(row)
                            rows += len(words)
                            self.free_rows -= len(words)
                            answer = Message(OK, rows)
                        case 3 if table is not None:
                            found = array("q")
                            for position, key in enumerate(words):
                                for row in table.get(key, ()):
                                    found.extend((position, row))
                            answer = Message(OK, len(found) // 2, found.tobytes())
                        case 4:
                            answer = Message(OK, self.jobs.count(message.number))
                send(connection, answer)
        except (EOFError, OSError, ValueError):
            pass
        finally:
            with self.lock:
                self.free_rows += rows
                if table is not None:
                    self.free_tables += 1
                    self.jobs.remove(job)
            connection.close()


def main() -> None:
    """`python -m card.device ROWS TABLES`: says its port, and ends with its standard input."""
    card = Card(int(sys.argv[1]), int(sys.argv[2]))
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept() -> None:
        while True:
            threading.Thread(target=card.serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
