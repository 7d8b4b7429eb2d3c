"""FPGA join units: the RTL's tuples a cycle, with DDR3 timing too, and the emulated card's table on a core.

    ./dev bench fpga [--json] [--only FIGURE] [--page fpga.html]

Cycles are counted by the model that Verilator makes of ncas/fpga_join/rtl; seconds follow from a clock of 200 MHz.
No FPGA has run it. The paper's experiments are modelled at full size, and counted in network namespaces, which needs
root and sshd.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
from pathlib import Path
from typing import Any

from bench import _fpga_links
from bench._fpga_depth import logic_levels
from bench._fpga_size import lut_share, verilated_tuples_per_s
from bench._fpga_ssb import ssb_bytes_saved
from bench._measure import Figure, remark, report
from jumpgate.ncas.fpga_join.build import build

TUPLES = 100_000
#: of the core's table: 2^20 buckets of 64 bytes, three entries each, are twice as many as the tuples need
CORE_TUPLES, CORE_BITS = 1_500_000, 20
ROUNDS = 5
#: of the table whose rest is counted
REST_BITS = 18
#: of each table, and rows that probe
CARD_ROWS = 20_000
KEYS = ("uniform", "sequential", "all_equal", "adversarial")


@functools.cache
def rates() -> dict[str, Any]:
    done = subprocess.run([build("rtl_bench"), "rates", str(TUPLES)], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    remark(done.stdout.strip())
    return found


@functools.cache
def core() -> dict[str, float]:
    """Return the median of each rate over the rounds."""
    command = [build("table_bench"), "rates", str(CORE_TUPLES), str(CORE_BITS)]
    rounds = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(ROUNDS)]
    remark(f"emulated: {rounds}")
    return {name: sorted(r[name] for r in rounds)[ROUNDS // 2] for name in rounds[0]}


def build_tuples_per_cycle() -> Figure:
    worst = min(rates()[keys]["build"] for keys in KEYS)
    return Figure("build_tuples_per_cycle", worst, 1, "higher", "the worst of four kinds of keys, ideal memory")


def probe_tuples_per_cycle() -> Figure:
    worst = min(rates()[keys]["probe"] for keys in KEYS)
    return Figure("probe_tuples_per_cycle", worst, 1, "higher", "the worst of four kinds of keys, ideal memory")


def ddr3_build_per_s() -> Figure:
    return Figure("ddr3_build_per_s", rates()["ddr3"]["build_per_s"], 56e6, "higher", "one controller, uniform keys")


def ddr3_probe_per_s() -> Figure:
    return Figure("ddr3_probe_per_s", rates()["ddr3"]["probe_per_s"], 98e6, "higher", "one controller, uniform keys")


def ddr3_two_controllers() -> list[Figure]:
    """Three tables of the whole card, spread over one or two controllers: the less of both ratios."""
    command = [build("card_rates_bench"), str(CARD_ROWS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    remark(f"card: {done.stdout.strip()}")
    found = json.loads(done.stdout)
    one, two = found["one"], found["two"]
    ratio = min(two[name] / one[name] for name in ("build_per_s", "probe_per_s"))
    which = "three tables of the whole card, one controller"
    return [
        Figure("ddr3_card_build_per_s", one["build_per_s"], 56e6, "higher", which),
        Figure("ddr3_card_probe_per_s", one["probe_per_s"], 98e6, "higher", which),
        Figure("ddr3_two_controllers", ratio, 1.9, "higher", "two controllers beside one, three tables over both"),
    ]


def emulated_tuples_per_core_s() -> Figure:
    worst = min(core()["build_per_s"], core()["probe_per_s"])
    return Figure("emulated_tuples_per_core_s", worst, 20e6, "higher", "the slower of building and probing, in process")


def rest_share() -> Figure:
    """Measure the fraction of entries in a half-full table that find no room in their buckets: all keys differ."""
    done = subprocess.run([build("table_bench"), "rest", str(REST_BITS)], check=True, capture_output=True, text=True)
    for found in json.loads(done.stdout):
        remark(f"rest: {found}")
    share = next(r["entries"] for r in json.loads(done.stdout) if (r["load"], r["copies"]) == (0.5, 1))
    return Figure(
        "rest_share", share, 0, "lower", "entries that the host joins, three to a bucket, half full; reported"
    )


def experiments() -> list[Figure]:
    return _fpga_links.modelled()


def counted() -> list[Figure]:
    return _fpga_links.counted_figures()


FIGURES = (
    build_tuples_per_cycle,
    probe_tuples_per_cycle,
    ddr3_build_per_s,
    ddr3_probe_per_s,
    ddr3_two_controllers,
    emulated_tuples_per_core_s,
    rest_share,
    verilated_tuples_per_s,
    lut_share,
    logic_levels,
    experiments,
    counted,
    ssb_bytes_saved,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=[figure.__name__ for figure in FIGURES])
    parser.add_argument("--page", type=Path, help="write the experiments' curves as one HTML file")
    arguments = parser.parse_args()
    found: list[Figure] = []
    for measure in FIGURES:
        if arguments.only in (None, measure.__name__):
            made = measure()
            for figure in [made] if isinstance(made, Figure) else made:
                report(figure, arguments.json)
                found.append(figure)
    if arguments.page:
        arguments.page.write_text(_fpga_links.page(found))
        remark(f"wrote {arguments.page}")


if __name__ == "__main__":
    main()
