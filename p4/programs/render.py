"""Renders the P4 programs: templates/p4 with sizes filled in.

A program's text depends on its sizes only, never on a request's words: columns travel in a fixed row that the sending
edge makes (`AGGREGATE_TUPLE`, `PRUNE_TUPLE`), and which algorithm a flow runs is a table entry. Equal sizes give
equal bytes.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import jinja2

from jumpgate.p4.programs.crc import POLYNOMIALS
from jumpgate.p4.programs.skyline import SCALE as LOG_SCALE

UDP_PORT = 9801
#: number of each algorithm in the entries of table `flow`
CODES = {
    "filter": 1, "distinct_lru": 2, "distinct_fifo": 3, "topn_det": 4, "topn_rand": 5, "groupby": 6, "join_bf": 7,
    "join_rbf": 8, "having": 9, "skyline": 10,
}  # fmt: skip


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
    flow_bits: int = 4
    window_bits: int = 8


@dataclass(frozen=True)
class PruneSizes:
    """What is packed into a program. `…_bits` is log2 of a structure's rows for each slot (d = slots 2^bits)."""

    algorithms: tuple[str, ...]
    slots: int = 1
    flow_bits: int = 4
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
    skyline_points: int = 2

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
    "prune_groupby": PruneSizes(("groupby",), groupby_columns=8),
    "prune_join": PruneSizes(("join_bf",), bloom_bits=22),
    "prune_skyline": PruneSizes(("skyline",)),
    "prune": PruneSizes(("filter", "distinct_lru", "topn_rand", "groupby", "join_rbf", "having")),
}


def render(sizes: AggregateSizes | PruneSizes) -> str:
    """P4-16 source of a program of these sizes."""
    aggregate = isinstance(sizes, AggregateSizes)
    row = AGGREGATE_TUPLE if aggregate else PRUNE_TUPLE
    template = _environment().get_template("aggregate.p4.j2" if aggregate else "prune.p4.j2")
    return template.render(
        fields=row,
        tuple_bytes=sum(field.bits for field in row) // 8,
        udp_port=UDP_PORT,
        polynomials=POLYNOMIALS,
        codes=CODES,
        log_scale=LOG_SCALE,
        **asdict(sizes),
    )


def write(folder: Path = Path(__file__).parent) -> None:
    """Writes the sources of PROGRAMS, which the repository keeps for review and for other compilers."""
    for name, sizes in PROGRAMS.items():
        (folder / f"{name}.p4").write_text(render(sizes))


@functools.cache
def _environment() -> jinja2.Environment:
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
