"""Measures Flight SQL: a result's bytes for a second of the service's CPU, and its throughput beside the own format;
and what a bare machine spends until the first result.

    ./dev bench doors --json
    ./dev bench doors --json --ibis FOLDER --adbc-python PYTHON

With `--ibis`, a checkout of Ibis and its testing-data (bench/_doors_suites.py), Ibis's own tests run in place of this;
with `--adbc-python`, an interpreter that has adbc-drivers/validation and adbc-driver-flightsql, the driver validation
suite does.

The service runs in a process of its own, its instances in others. A client of Arrow's fetches an offloaded scan of
numbers and text; a session receives the same by NTF, in turns.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import flight

from bench import _doors_suites, _install
from bench._measure import Figure, alternate, remark, report
from jumpgate.client import read
from jumpgate.client.session import Session
from jumpgate.flight.clients import Clients
from jumpgate.flight.door import Door
from jumpgate.hosts.config import TableConfig, local_hosts
from jumpgate.service import embedded
from tests.support.flight import Raw

ROWS, BRANDS = 12_000_000, 100
RUNS = 7
QUERY = "SELECT * FROM t"


@dataclass
class Served:
    """A service of another process."""

    pid: int
    door: str
    token: str
    address: str

    def cpu_s(self) -> float:
        """Return the seconds of CPU that the process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _serve(file: str, told: Connection) -> None:
    config = replace(local_hosts(1), tables=(TableConfig("t", (file,), "parquet"),))
    service = embedded.start(config)
    door = Door(Clients(lambda: config, service.service, service.loop), "127.0.0.1", 0, None)
    told.send((door.address, service.token, service.address))
    told.recv()
    door.close()
    service.close()


@contextmanager
def served(file: Path) -> Iterator[Served]:
    """Serve the file as the table t."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(str(file), there))
    process.start()
    assert process.pid is not None
    yield Served(process.pid, *here.recv())
    here.send(None)
    process.join()


def _table() -> pa.Table:
    random = np.random.default_rng(1)
    brands = np.array([f"brand#{i}" for i in range(BRANDS)])
    return pa.table({
        "id": np.arange(ROWS), "item": random.integers(0, 18_000, ROWS, "int32"), "amount": random.random(ROWS),
        "quantity": random.integers(0, 100, ROWS, "int32"), "brand": brands[random.integers(0, BRANDS, ROWS)],
    })  # fmt: skip


def figures() -> Iterator[Figure]:
    """Fetch the table by both ways."""
    with tempfile.TemporaryDirectory() as folder:
        file, table = Path(folder) / "t.parquet", _table()
        pq.write_table(table, file, compression="none", use_dictionary=["brand"], row_group_size=1 << 20)
        gigabytes = table.nbytes / 1e9
        with served(file) as service, Session(service.address) as session:
            raw, spent = Raw(flight.connect(service.door), service.token), list[float]()
            raw.option("offload", "always")

            def by_flight() -> None:
                before = service.cpu_s()
                assert sum(chunk.data.num_rows for chunk in raw.get(raw.info(QUERY))) == ROWS
                spent.append(service.cpu_s() - before)

            def by_own() -> None:
                assert sum(batch.num_rows for batch in session.run(read(str(file)))) == ROWS

            times = alternate({"flight": by_flight, "own": by_own}, RUNS)
    found = {name: gigabytes / statistics.median(seconds) for name, seconds in times.items()}
    remark("  " + ", ".join(f"{name} {rate:.2f} GB/s" for name, rate in found.items()))
    what = f"a scan of {gigabytes:.2f} GB, numbers and text, to a client over the loopback"
    rate = gigabytes / statistics.median(spent[1:])
    yield Figure("flight_gb_per_core_s", rate, 1.5, "higher", f"{what}: GB for a second of the service's CPU")
    text = f"{what}: GB/s by Flight SQL ÷ by NTF"
    yield Figure("flight_vs_own", found["flight"] / found["own"], 0.8, "higher", text)
    install, query = _install.cpu_s()
    remark(f"  pip install {install:.1f} s of CPU, the first query {query:.1f} s")
    text = "CPU from `pip install` of the platform's wheel, after the download, to the result over two rows of CSV"
    yield Figure("install_to_first_result_cpu_s", install + query, 10, "lower", text)


def suites(ibis: Path | None, adbc_python: Path | None) -> Iterator[Figure]:
    """Run what others test doors with, where it is at hand."""
    if ibis is not None:
        theirs, ours = _doors_suites.ibis(ibis)
        remark(f"  {ours.passed} tests pass, {theirs.passed} by DuckDB's backend")
        for name in sorted(set(ours.failed) - set(theirs.failed)):
            remark(f"  failed: {name}")
        text = "Ibis's own tests of its backends: those that pass, whatever can be offloaded is ÷ by DuckDB's backend"
        yield Figure("ibis_tests", ours.passed / theirs.passed, 0.98, "higher", text)
    if adbc_python is not None:
        found = _doors_suites.adbc(adbc_python)
        remark(f"  {found.passed} tests of the driver validation suite pass")
        for name in found.failed:
            remark(f"  failed: {name}")
        text = "the driver validation suite by ADBC's driver for Flight SQL: tests that pass, of those that apply"
        yield Figure("adbc_conformance", found.share, 1.0, "higher", text)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--ibis", type=click.Path(exists=True, path_type=Path), help="A checkout of Ibis with its data.")
@click.option("--adbc-python", type=click.Path(exists=True, path_type=Path), help="Python with the validation suite.")
def main(as_json: bool, ibis: Path | None, adbc_python: Path | None) -> None:
    """Measure Flight SQL, and run what others test doors with."""
    for figure in suites(ibis, adbc_python) if ibis or adbc_python else figures():
        report(figure, as_json)


if __name__ == "__main__":
    main()
