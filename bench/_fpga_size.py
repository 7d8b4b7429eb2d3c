"""Measures the FPGA resources of the RTL, as yosys maps it, and the speed of its model under Verilator as a card on the
network."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench._fpga_depth import netlist
from bench._measure import Figure, remark
from jumpgate.client import col, count
from jumpgate.client.session import Session
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.ncas.fpga_join.build import TABLE
from jumpgate.ncas.fpga_join.kind import FPGA
from jumpgate.service import embedded
from jumpgate.testing.lab import Lab

TABLES = 3
#: bytes of values
SIGNATURES = (1, 8, 23)
#: a Virtex-7 690T, as on NetFPGA SUME
HAS = {"LUT": 433_200, "FF": 866_400, "BRAM": 1_470, "DSP": 3_600}
#: LUTs that a cell of yosys's takes: a RAM64M is four as memory
LUTS = {**{f"LUT{n}": 1 for n in range(1, 7)}, "RAM64M": 4, "RAM32M": 4, "SRL16E": 1, "SRLC32E": 1}
BUILD_ROWS, PROBE_ROWS = 2_000, 60_000


def lut_share() -> Figure:
    """The largest share of three tables, over the signatures."""
    shares = []
    for bytes in SIGNATURES:
        cells = netlist(TABLE, (("VALUE_BITS", 8 * bytes),)).counts
        used = {
            "LUT": sum(LUTS.get(name, 0) * n for name, n in cells.items()),
            "FF": sum(n for name, n in cells.items() if name.startswith("FD")),
            "BRAM": sum(n for name, n in cells.items() if name.startswith("RAMB")),
            "DSP": cells.get("DSP48E1", 0),
        }
        remark(f"{TABLES} tables, keys of 64 and values of {8 * bytes} bits: "
               + ", ".join(f"{TABLES * n} {what}" for what, n in used.items()))  # fmt: skip
        shares.append(max(TABLES * n / HAS[what] for what, n in used.items()))
    return Figure(
        "lut_share", max(shares), 0.6, "lower", f"{TABLES} tables of a Virtex-7 690T, {len(shares)} signatures"
    )


def verilated_tuples_per_s() -> Figure:
    """Measure the whole device: rows sent to it, over the time of its instance of a job."""
    service = embedded.start(Config(local_hosts(1).hosts, (FPGA.device("card", backend="verilated"),)))
    try:
        with tempfile.TemporaryDirectory() as folder, Session(service.address, prefer=("fpga_join",)) as session:
            lab = Lab(session, Path(folder))
            probe = lab.table({"a": "int64"}, [(i % BUILD_ROWS,) for i in range(PROBE_ROWS)])
            build = lab.table({"k": "int64", "x": "int64"}, [(i, i) for i in range(BUILD_ROWS)])
            flow = probe.join(build, left_on=col("a"), right_on=col("k")).aggregate(n=count())
            for _ in range(2):
                lab.run(flow)
            record = session.describe(session.jobs()[0].id).record
    finally:
        service.close()
    assert record is not None
    (of_card,) = (c for c in record["counters"].values() if "card" in c)
    seconds = (of_card["stages"][-1]["end_ns"] - of_card["stages"][0]["start_ns"]) / 1e9
    card = of_card["card"]
    rate = (card["built"] + card["probed"]) / seconds
    remark(f"verilated: {card}, {seconds:.2f} s")
    return Figure("verilated_tuples_per_s", rate, 0, "higher", "the card's process with the RTL's model; reported")
