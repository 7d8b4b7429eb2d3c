"""Measures the cost of encryption: the same scan to the client over the loopback, with encrypted edges and without."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench._measure import Figure, alternate, remark, report
from jumpgate.client import read
from jumpgate.client.session import Session
from jumpgate.hosts.config import TlsConfig, local_hosts
from jumpgate.service import embedded

ROWS, COLUMNS = 8_000_000, 4
RUNS = 9


def tls_vs_plain() -> Figure:
    """Throughput of a scan whose whole result, numbers that do not compress, goes to the client."""
    bytes_ = ROWS * COLUMNS * 8
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        random = np.random.default_rng(1)
        table = pa.table({f"c{i}": random.integers(0, 2**62, ROWS) for i in range(COLUMNS)})
        pq.write_table(table, folder / "t.parquet", compression="none", use_dictionary=False, row_group_size=ROWS // 16)
        flow = read(str(folder / "t.parquet"))
        services = {
            name: embedded.start(replace(local_hosts(1), tls=encryption))
            for name, encryption in (("plain", None), ("tls", TlsConfig(place)))
        }
        sessions = {name: Session(service.address) for name, service in services.items()}
        try:
            times = alternate({name: lambda s=session: _received(s, flow) for name, session in sessions.items()}, RUNS)
        finally:
            for name in services:
                sessions[name].close()
                services[name].close()
    found = {name: statistics.median(seconds) for name, seconds in times.items()}
    remark("  " + ", ".join(f"{name} {bytes_ / seconds / 1e9:.2f} GB/s" for name, seconds in found.items()))
    text = f"GB/s of a scan of {bytes_ >> 20} MiB to a client over the loopback: encrypted edges beside plain ones"
    return Figure("tls_vs_plain", found["plain"] / found["tls"], 0.6, "higher", text)


def _received(session: Session, flow: object) -> None:
    rows = sum(batch.num_rows for batch in session.run(flow))  # type: ignore[arg-type]
    assert rows == ROWS, rows


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def main(as_json: bool) -> None:
    """Measures encrypted edges."""
    report(tls_vs_plain(), as_json)


if __name__ == "__main__":
    main()
