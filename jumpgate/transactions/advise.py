"""Says what of a trace a switch would take over: hot rows, passes, and why a transaction is not hot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from jumpgate.p4.programs.transactions import DEFAULT, INSTRUCTIONS_MAX, TransactionSizes
from jumpgate.transactions.layout import Layout, Work, arrange
from jumpgate.transactions.trace import Transaction

#: a row is hot if it has so many times the accesses that it would have if all rows had equally many
HOT_TIMES = 4.0


@dataclass(frozen=True)
class Verdict:
    """`kind`: hot (the switch alone), warm (the switch and PostgreSQL) or cold; `passes` of its hot part."""

    kind: str
    passes: int
    reason: str

    def text(self) -> str:
        return f"{self.kind}{f', {self.passes} passes' if self.passes > 1 else ''}: {self.reason}"


@dataclass(frozen=True)
class Advice:
    """`hot_share`: of all accesses, those of hot rows; `single_pass`: of the transactions with a hot part."""

    transactions: int
    rows: int
    hot: tuple[tuple[str, str, int, int], ...]
    hot_share: float
    kinds: dict[str, int]
    single_pass: float
    gain: float

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def work_of(transaction: Transaction) -> Work:
    """Its rows; what it writes after a read is taken to need what was read."""
    rows = tuple(dict.fromkeys(a.row for a in transaction if a.row is not None))
    needs, read = [], list[tuple[str, str]]()
    for access in transaction:
        if access.row is None:
            continue
        if access.writes:
            needs += [(a, access.row) for a in read if a != access.row]
        else:
            read.append(access.row)
    return Work(rows, tuple(dict.fromkeys(needs)))


def lay_out(trace: Sequence[Transaction], rows_max: int = 0, sizes: TransactionSizes = DEFAULT) -> Layout:
    """The layout of the rows that are worth it: those with HOT_TIMES the mean of accesses, `rows_max` at most."""
    works = [work_of(t) for t in trace]
    counts = Counter(row for work in works for row in work.rows)
    mean = sum(counts.values()) / max(1, len(counts))
    hot = sum(count >= HOT_TIMES * mean for count in counts.values())
    return arrange(works, sizes, rows_max or max(1, hot))


def explain(transaction: Transaction, layout: Layout) -> Verdict:
    """Hot, warm or cold, and why. What is cold must not need what is hot: it runs first."""
    work = work_of(transaction)
    hot = tuple(row for row in work.rows if row in layout.arrays)
    needs = tuple((a, b) for a, b in work.needs if a in layout.arrays and b in layout.arrays)
    if not hot:
        return Verdict("cold", 0, "none of its rows is hot")
    if len(hot) > INSTRUCTIONS_MAX:
        return Verdict("cold", 0, f"it touches {len(hot)} hot rows; a packet has {INSTRUCTIONS_MAX} instructions")
    late = next((b for a, b in work.needs if a in layout.arrays and b not in layout.arrays), None)
    if isinstance(late, tuple):
        return Verdict(
            "cold", 0, f"cold row {'.'.join(map(str, late))} is written after a hot row was read: make it hot, too"
        )
    passes = layout.passes(Work(hot, needs)) or 0
    other = next((a.statement for a in transaction if a.row is None), None)
    if other is not None:
        return Verdict("warm", passes, f"'{other.split(maxsplit=1)[0]} …' is not of one row by its key")
    if len(hot) < len(work.rows):
        return Verdict("warm", passes, f"{len(work.rows) - len(hot)} of its {len(work.rows)} rows are not hot")
    reason = "all its rows are hot" + (", two of them in one array or in another order" if passes > 1 else "")
    return Verdict("hot", passes, reason)


def advise(trace: Sequence[Transaction], layout: Layout) -> Advice:
    """Sums the verdicts up. `gain`: how many times fewer of a row's locks are held, at the row with the most left."""
    verdicts = [explain(t, layout) for t in trace]
    counts = Counter(a.row for t in trace for a in t if a.row is not None)
    hot = {row: n for row, n in counts.items() if row in layout.arrays}
    switched = [v for v in verdicts if v.kind != "cold"]
    before = max(counts.values(), default=1)
    locked: Counter[tuple[str, str]] = Counter()
    for transaction, verdict in zip(trace, verdicts, strict=True):
        locked.update(
            {a.row for a in transaction if a.row is not None and (verdict.kind == "cold" or a.row not in hot)}
        )
    return Advice(
        transactions=len(trace),
        rows=len(counts),
        hot=tuple(
            (*row, n, layout.arrays[row]) for row, n in sorted(hot.items(), key=lambda item: (-item[1], item[0]))
        ),
        hot_share=sum(hot.values()) / max(1, sum(counts.values())),
        kinds=dict(Counter(v.kind for v in verdicts)),
        single_pass=sum(v.passes == 1 for v in switched) / len(switched) if switched else 0.0,
        gain=before / max(1, *locked.values()) if locked else float(before),
    )
