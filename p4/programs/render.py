"""Renders the P4 programs: templates/p4 with sizes filled in.

A program's text depends on its sizes only, never on a request's words: columns travel in a fixed row that the sending
edge makes (`AGGREGATE_TUPLE`, `PRUNE_TUPLE`), and which algorithm a flow runs is a table entry. Equal sizes give
equal bytes.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import jinja2

from jumpgate.p4.programs.crc import POLYNOMIALS
from jumpgate.p4.programs.protocol import HEADER
from jumpgate.p4.programs.skyline import SCALE as LOG_SCALE

UDP_PORT = 9801
#: number of each algorithm in the entries of table `flow`
CODES = {
    "filter": 1, "distinct_lru": 2, "distinct_fifo": 3, "topn_det": 4, "topn_rand": 5, "groupby": 6, "join_bf": 7,
    "join_rbf": 8, "having": 9, "skyline": 10,
}  # fmt: skip
#: an algorithm without rows keeps one state for each of 2^REGION_BITS jobs
REGION_BITS = 4
#: of an algorithm with rows: the size that says how many, and what chooses a tuple's
_ROWS: dict[str, tuple[str, tuple[int | str, ...]]] = {
    "distinct_lru": ("distinct_bits", (0,)),
    "distinct_fifo": ("distinct_bits", (0,)),
    "topn_rand": ("topn_bits", ("random",)),
    "groupby": ("groupby_bits", (0,)),
    "join_bf": ("bloom_bits", (0, 1, 2)),
    "join_rbf": ("rbf_bits", (0,)),
    "having": ("having_bits", (0, 1, 2)),
}


@dataclass(frozen=True)
class Field:
    """A header field; several make up a column of the edge's packed, big-endian row."""

    name: str
    bits: int


#: rows (nulls, key int64, value int64) and (nulls, key int64, a int32, b int32); a null bit vector of one byte leads
AGGREGATE_TUPLE = (Field("nulls", 8), *(Field(f, 32) for f in ("key_high", "key_low", "value_high", "value_low")))
PRUNE_TUPLE = (Field("nulls", 8), *(Field(f, 32) for f in ("key_high", "key_low", "a", "b")))


@dataclass(frozen=True)
class AggregateSizes:
    """2^bucket_bits buckets for each of the slots; a flow's window is 2^window_bits packets."""

    slots: int = 4
    bucket_bits: int = 14
    flow_bits: int = 6
    window_bits: int = 8


@dataclass(frozen=True)
class PruneSizes:
    """The structures that are packed into a program. `…_bits` is log2 of a structure's rows for each slot
    (d = slots 2^bits)."""

    algorithms: tuple[str, ...]
    slots: int = 1
    flow_bits: int = 6
    window_bits: int = 8
    distinct_bits: int = 12
    distinct_columns: int = 2
    topn_bits: int = 12
    topn_columns: int = 4
    topn_thresholds: int = 4
    groupby_bits: int = 12
    groupby_columns: int = 3
    bloom_bits: int = 20
    rbf_bits: int = 14
    having_bits: int = 10
    skyline_points: int = 3

    @property
    def row_bits(self) -> int:
        """Width of `base` and `mask` in a flow's entry: that of the widest index."""
        widths: list[int] = [getattr(self, _ROWS[a][0]) for a in self.algorithms if a in _ROWS]
        return max([REGION_BITS, *widths])

    @property
    def rows(self) -> tuple[int | str, ...]:
        """Which rows of a tuple the program computes: hashes by polynomial, or `random`."""
        found = {which for a in self.algorithms if a in _ROWS for which in _ROWS[a][1]}
        return tuple(sorted(found, key=str))

    def __post_init__(self) -> None:
        unknown = [name for name in self.algorithms if name not in CODES]
        if unknown or not self.algorithms:
            raise ValueError(
                f"no such pruning algorithm: {', '.join(unknown) or 'none given'}. There are {', '.join(CODES)}"
            )
        for field in fields(self):
            size = getattr(self, field.name)
            if field.name != "algorithms" and size < 1:
                raise ValueError(f"{field.name} must be at least 1, not {size}")
        if self.slots > 8:
            raise ValueError(f"a packet has at most 8 slots, not {self.slots}")


#: the programs of this folder: what a switch is loaded with
PROGRAMS: dict[str, AggregateSizes | PruneSizes] = {
    "aggregate": AggregateSizes(),
    "prune_distinct": PruneSizes(("distinct_lru",), slots=4, distinct_bits=10),
    "prune_topn": PruneSizes(("topn_rand", "topn_det")),
    "prune_groupby": PruneSizes(("groupby",), groupby_columns=6),
    "prune_join": PruneSizes(("join_bf",), bloom_bits=22),
    "prune_skyline": PruneSizes(("skyline",), skyline_points=2),
    "prune": PruneSizes(("filter", "having", "distinct_lru", "topn_rand", "groupby", "join_rbf")),
}


@dataclass(frozen=True)
class Entry:
    """A constant entry of a table, as P4 source."""

    key: str
    action: str


def _fates(slots: int, tuple_bytes: int, absorbing: bool) -> list[Entry]:
    """Table `leave`: what becomes of DATA, for each set of tuples that came and of those that are taken out.

    Its key: `routed`, the tuples that came, `absorbs` where flows may be insert-only, for each slot whether it goes.
    """
    out = []
    for routed, present in itertools.product(range(2), range(1 << slots)):
        for gone, absorbs in itertools.product(range(1 << slots), range(2 if absorbing else 1)):
            if gone & ~present:
                continue
            left = present & ~gone
            key = [routed, present, *([absorbs] if absorbing else []), *(gone >> i & 1 for i in range(slots))]
            if absorbs or not left:
                action = f"acknowledge({_shorter(tuple_bytes * present.bit_count())})"
            elif routed:
                action = f"forward({left}, {_shorter(tuple_bytes * gone.bit_count())})"
            else:
                continue
            out.append(Entry(", ".join(map(str, key)), action))
    return out


def _shorter(size: int) -> str:
    """Return the addend that takes `size` from a 16-bit length: actions cannot subtract their data."""
    return f"0x{-size & 0xFFFF:X}" if size else "0"


def _answers(slots: int) -> list[Entry]:
    """Table `reads`: lengths of the answers to READ_FIRST and READ_SECOND, for each set of slots in them."""
    out = []
    for kind, words in (("KIND_READ_FIRST", 8), ("KIND_READ_SECOND", 3)):
        for read in range(1 << slots):
            key = ", ".join([kind, *(str(read >> i & 1) for i in range(slots))])
            udp = 8 + HEADER.size + 4 * words * read.bit_count()
            out.append(Entry(key, f"answer_read({read}, {20 + udp}, {udp})"))
    return out


def render(sizes: AggregateSizes | PruneSizes) -> str:
    """P4-16 source of a program of these sizes."""
    is_aggregate = isinstance(sizes, AggregateSizes)
    row = AGGREGATE_TUPLE if is_aggregate else PRUNE_TUPLE
    context = asdict(sizes)
    context["zeroed"] = []
    if is_aggregate:
        slots = range(sizes.slots)
        context["answers"] = _answers(sizes.slots)
        context["keys"] = " ".join(f"md.s{i}.mine[0:0]: exact;" for i in slots)
        context["zeroed"] = [f"md.s{i}.{name}" for i in slots for name in ("key", "mine", "min_is", "max_is")]
    if isinstance(sizes, PruneSizes):
        pruned = (f"md.s{i}.pruned[1:1]: exact;" for i in range(sizes.slots))
        has_empty_key = bool({"distinct_lru", "distinct_fifo"} & set(sizes.algorithms))
        zeroed = ("run", "pruned", "empty_key") if has_empty_key else ("run", "pruned")
        context |= {
            "has_empty_key": has_empty_key,
            "zeroed": [f"md.s{i}.{name}" for i in range(sizes.slots) for name in zeroed],
            "keys": " ".join(("md.absorbs: exact;", *pruned)),
            "region_bits": REGION_BITS,
            "row_bits": sizes.row_bits,
            "rows": sizes.rows,
            "polynomials": POLYNOMIALS,
            "codes": CODES,
            "log_scale": LOG_SCALE,
        }
    return (
        environment()
        .get_template("aggregate.p4.j2" if is_aggregate else "prune.p4.j2")
        .render(
            fields=row,
            fates=_fates(sizes.slots, sum(field.bits for field in row) // 8, not is_aggregate),
            udp_port=UDP_PORT,
            **context,
        )
    )


def write(folder: Path = Path(__file__).parent) -> None:
    """Writes the sources of PROGRAMS, which the repository keeps for review and for other compilers."""
    for name, sizes in PROGRAMS.items():
        (folder / f"{name}.p4").write_text(render(sizes))


@functools.cache
def environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("jumpgate.templates", "p4"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        keep_trailing_newline=True,
    )


if __name__ == "__main__":
    write()
