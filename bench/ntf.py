"""Columnar NTF over loopback TCP into Arrow in Python, against a plain socket that moves as many bytes.

A C++ process sends, Python receives, both ways in turns. `plain` is 1 MiB sends into recv_into of one buffer; `ntf` is
the C++ emitter (one thread, encoding and checksums included) into record batches that are looked at and dropped, every
checksum and offset verified.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench._measure import Figure, medians, remark, report
from jumpgate.dataflow.types import DataType, Schema, decimal, int32, int64, string
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.receive import Endpoint
from tests.support import cpp

HERE = Path(__file__).parent
ROWS = 20_000_000
PLAIN_BYTES = 1 << 20
SCHEMA = Schema.of(
    id=int64.with_nullable(False), item=int32, price=decimal(7, 2), quantity=int32, amount=DataType("float64"),
    brand=string,
)  # fmt: skip


def ntf(program: Path, folder: Path) -> tuple[float, int]:
    """(seconds, bytes) of one stream, from the first byte to the last batch."""
    descriptor = Descriptor.columnar(SCHEMA)
    path = folder / "ntf"
    path.write_text(descriptor.text())
    with Endpoint.open() as endpoint:
        endpoint.expect(job="job", edge="e", token="t", descriptor=descriptor, producers=1)
        command = ["send", path, descriptor.fingerprint(), "e", "t", 0, "single", 1, f"{ROWS}:repeat", endpoint.address]
        with subprocess.Popen([str(program), *map(str, command)], stdout=subprocess.DEVNULL):
            start, rows = 0.0, 0
            for batch in endpoint:
                start = start or time.perf_counter()
                rows += batch.num_rows
            seconds = time.perf_counter() - start
    assert rows == ROWS
    return seconds, endpoint.bytes


def plain(program: Path, size: int) -> float:
    """Seconds of as many bytes through recv_into."""
    buffer = memoryview(bytearray(PLAIN_BYTES))
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [str(program), str(server.getsockname()[1]), str(size)]
        with subprocess.Popen(command), server.accept()[0] as connection:
            got = connection.recv_into(buffer)
            start = time.perf_counter()
            while n := connection.recv_into(buffer):
                got += n
            seconds = time.perf_counter() - start
    assert got == size
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--runs", type=int, default=9)
    arguments = parser.parse_args()
    peer = cpp.build("ntf_peer", [HERE.parent / "tests" / "cpp" / "ntf_peer.cpp", *cpp.ntf_sources()], cpp.RELEASE)
    sender = cpp.build("plain_sender", [HERE / "plain_sender.cpp"], cpp.RELEASE)
    times: dict[str, list[float]] = {"ntf": [], "plain": []}
    with tempfile.TemporaryDirectory() as folder:
        _, size = ntf(peer, Path(folder))
        plain(sender, size)
        for _ in range(arguments.runs):
            times["ntf"].append(ntf(peer, Path(folder))[0])
            times["plain"].append(plain(sender, size))
    middle = medians(times)
    for name, seconds in middle.items():
        remark(f"{name}: {size / seconds / 1e9:.2f} GB/s, median of {arguments.runs} runs of {size / 1e9:.2f} GB")
    compared = "bytes per second, columnar NTF into Arrow ÷ plain socket (1 MiB sends, recv_into), C++ to Python"
    report(Figure("ntf_vs_socket", middle["plain"] / middle["ntf"], 0.7, "higher", compared), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
