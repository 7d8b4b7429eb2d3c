"""The experiments of P4DB's figures 11 to 18 on the store of store.cpp and in the simulator, beside what was published.

Both have 8 nodes of 20 workers, and the same costs. The store's are stretched: 1 us takes STRETCH us, so that two cores
are never what bounds it; rates are told in unstretched time. In the store a pass takes the software switch's own time,
some thousandths of a stretched microsecond; the simulator is run with passes of 0 us beside it, and with passes of 1 us
for what a switch would give.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from bench import _panels
from bench._measure import Figure, remark
from bench._panels import Panel
from bench._store import Run, Store
from jumpgate.study import charts
from jumpgate.transactions.simulate import PARTS, Costs, Counts, compare
from jumpgate.transactions.workloads import Setting

WORKERS = 20
STRETCH, STORE_SECONDS = 2000.0, 6.0
SIMULATED_SECONDS = 0.002
#: microseconds
COSTS = Costs()
SMALLBANK = Setting(hot_share=0.9)
MODES = {
    "no-wait": ("off", "no-wait"), "wait-die": ("off", "wait-die"), "locks in the switch": ("locks", "no-wait"),
    "switch": ("on", "no-wait"),
}  # fmt: skip


@cache
def simulated(workload: str, setting: Setting, workers: int = WORKERS, pass_us: float = 1.0) -> dict[str, Counts]:
    """Run all variants in virtual time."""
    return compare(workload, setting, workers, replace(COSTS, pass_us=pass_us), SIMULATED_SECONDS)


@cache
def measured(workload: str, setting: Setting, is_random: bool = False) -> dict[str, Run]:
    """Run the store in each mode; seconds are unstretched."""
    costs = Costs(COSTS.access_us * STRETCH, COSTS.round_trip_us * STRETCH, COSTS.log_us * STRETCH)
    found: dict[str, Run] = {}
    with tempfile.TemporaryDirectory(prefix="jumpgate-bench-") as name:
        store = Store(workload, setting, WORKERS, Path(name), is_random)
        for mode, how in MODES.items() if not is_random else [("switch", MODES["switch"])]:
            run = store.run(*how, costs, STORE_SECONDS)
            found[mode] = replace(
                run, seconds=run.seconds / STRETCH, parts_us={k: v / STRETCH for k, v in run.parts_us.items()}
            )
            remark(f"{workload} {setting}: {mode} {found[mode].per_second:,.0f} a second, {run.aborted} aborts")
    return found


def speedup(found: Mapping[str, Run] | Mapping[str, Counts], of: str = "switch") -> float:
    """Return how many times as many transactions commit as with the better policy of locking."""
    return found[of].per_second / max(found[policy].per_second for policy in ("no-wait", "wait-die"))


#: the settings that are both measured and simulated
CALIBRATED: tuple[tuple[str, Setting], ...] = (
    *(("ycsb-a", Setting(hot_share=share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0)),
    *(("ycsb-a", Setting(remote_share=share)) for share in (0.0, 0.5, 1.0)),
    *(("ycsb-a", Setting(switch_rows=rows)) for rows in (100, 200)),
    *(("smallbank", replace(SMALLBANK, hot_rows=rows)) for rows in (5, 10, 15)),
    *(("tpcc", Setting(warehouses=warehouses)) for warehouses in (8, 16, 32)),
    ("tpcc", Setting(warehouses=32, remote_share=0.5)),
)


def simulator_error() -> Figure:
    """Return the worst deviation of a simulated speed-up from the store's, with passes that take no time."""
    worst = 0.0
    for workload, setting in CALIBRATED:
        mine, other = speedup(simulated(workload, setting, pass_us=0.0)), speedup(measured(workload, setting))
        remark(f"{workload} {setting}: simulated {mine:.2f}, measured {other:.2f}, error {mine / other - 1:+.1%}")
        worst = max(worst, abs(mine / other - 1))
    notes = f"speed-ups of {len(CALIBRATED)} settings beside the store's, 8 x {WORKERS} workers, time {STRETCH:g} x"
    return Figure("simulator_error", worst, 0.2, "lower", notes)


# ---- the page ----


Points = list[tuple[float, float]]


def _over(workload: str, settings: Mapping[float, Setting], published: Mapping[float, float], logarithmic: bool = False
          ) -> object:  # fmt: skip
    """Draw speed-ups measured, simulated with passes of 0 and of 1 us, and published, over a number."""
    series: dict[str, Points] = {
        "measured": [(x, speedup(measured(workload, s))) for x, s in settings.items() if (workload, s) in CALIBRATED],
        "simulated, passes of 0 us": [(x, speedup(simulated(workload, s, pass_us=0.0))) for x, s in settings.items()],
        "simulated, passes of 1 us": [(x, speedup(simulated(workload, s))) for x, s in settings.items()],
        "published": list(published.items()),
    }
    return charts.lines({name: points for name, points in series.items() if points}, logarithmic=logarithmic)


def _contention() -> Panel:
    rates: dict[str, Points] = {}
    for workload in ("ycsb-a", "ycsb-b", "ycsb-c"):
        found = {n: speedup(simulated(workload, Setting(), n)) for n in (2, 5, 10, 20)}
        rates[f"{workload}, simulated"] = list(found.items())
    rates["ycsb-a, measured"] = [(WORKERS, speedup(measured("ycsb-a", Setting())))]
    rates["published, at most"] = [(WORKERS, 6.0)]
    text = "Speed-up over locking by the workers of a node. YCSB A, B and C: 50 hot keys a node, 75 % hot."
    return Panel("Contention: YCSB", text, charts.lines(rates))


def _steps() -> Panel:
    settings = (("ycsb-a", Setting()), ("smallbank", replace(SMALLBANK, hot_rows=10)), ("tpcc", Setting(warehouses=8)))
    rows = []
    for workload, setting in settings:
        found, made = simulated(workload, setting), measured(workload, setting)
        rows.append((
            workload, f"{speedup(made, 'locks in the switch'):.2f}",
            *(f"{speedup(found, name):.2f}" for name in
              ("switch, random layout, one lock", "switch, random layout", "switch")),
            f"{speedup(made):.2f}", "3.26 together" if workload == "ycsb-a" else "",
        ))  # fmt: skip
    columns = (
        "", "locks in the switch, measured", "rows in it, anywhere, one lock", "a lock of two halves", "max-cut",
        "measured, passes of 0 us", "published",
    )  # fmt: skip
    text = "Speed-ups over locking, simulated with passes of 1 us but for the measured ones."
    return Panel("Optimisations one by one; random layout beside the best", text, None, columns, tuple(rows))


def _latency() -> Panel:
    rows = []
    for name, run in measured("ycsb-a", Setting()).items():
        rows.append((f"{name}, measured", *(f"{run.parts_us[part]:.1f}" for part in PARTS)))
    for name, counts in simulated("ycsb-a", Setting()).items():
        each = [counts.parts_us[part] / max(1, counts.committed) for part in PARTS]
        rows.append((f"{name}, simulated", *(f"{us:.1f}" for us in each)))
    text = "Microseconds of a committed transaction of YCSB A, 75 % hot, by part."
    return Panel("Latency by part", text, None, ("", *PARTS), tuple(rows))


def panels() -> list[Panel]:
    ycsb, warehouses = "ycsb-a", {n: Setting(warehouses=n) for n in (8, 16, 32)}
    return [
        _contention(),
        Panel("Contention: SmallBank", "Speed-up by hot customers of a node, 90 % hot. Published: up to 3.",
              _over("smallbank", {n: replace(SMALLBANK, hot_rows=n) for n in (5, 10, 15)}, {5: 3.0})),
        Panel("Contention: TPC-C", "Speed-up by warehouses, NewOrder and Payment, 20 % remote. Published: 2 to 2.5.",
              _over("tpcc", warehouses, {8: 2.5, 16: 2.0})),
        Panel("Distribution: YCSB A", "Speed-up by the share of rows on another node.",
              _over(ycsb, {x: Setting(remote_share=x) for x in (0.0, 0.2, 0.5, 1.0)}, {0.2: 5.0})),
        Panel("Distribution: TPC-C", "Speed-up by the remote share, 32 warehouses. Published: below 1 at 50 %.",
              _over("tpcc", {x: Setting(warehouses=32, remote_share=x) for x in (0.2, 0.5)}, {0.5: 0.95})),
        Panel("Hot share: YCSB A", "Speed-up by the share of transactions on hot rows. Published: 50 at 1.",
              _over(ycsb, {x: Setting(hot_share=x) for x in (0.0, 0.25, 0.5, 0.75, 1.0)}, {1.0: 50.0})),
        Panel("Hot set beyond capacity: YCSB A", "Speed-up by the hot rows that the switch has room for, of 400.",
              _over(ycsb, {(x or 400): Setting(switch_rows=x) for x in (100, 200, 0)}, {})),
        _steps(),
        _latency(),
    ]  # fmt: skip


def page(figures: Sequence[Figure]) -> str:
    """Return the experiments beside the published figures, as one HTML file."""
    text = (
        f"An access takes {COSTS.access_us:g} µs, a round trip {COSTS.round_trip_us:g} µs, a synced log "
        f"{COSTS.log_us:g} µs. Measured: the store in memory and the software switch, with all of "
        "these stretched alike, so that two cores bound neither."
    )
    subtitle = "8 nodes of 20 workers, figures 11 to 18 of P4DB"
    return _panels.page("Transactions in the switch", subtitle, text, panels(), figures)
