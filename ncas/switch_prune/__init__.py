"""Pruning on a switch (p4/programs/prune*.p4; Tirmazi et al., “Cheetah”, SIGMOD 2020).

The switch drops rows whose absence cannot change the query's result; all operators run again on what is left. Each
kind of query has a module, named as the algorithm's reference in p4/programs.
"""

from __future__ import annotations

import functools

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Filter, Join, Operator, Prune, Receive, Sort
from jumpgate.nca.interface import Completeness, Device, Estimates, InstancePlan, Match, Unsupported
from jumpgate.nca.matching import pruned_leaf
from jumpgate.ncas.switch import SwitchNCA
from jumpgate.ncas.switch.kind import SWITCH, program_of
from jumpgate.ncas.switch.resources import summary
from jumpgate.ncas.switch.task import Input, Row, Task
from jumpgate.ncas.switch.transport import TupleFormat
from jumpgate.ncas.switch_prune.distinct import prune_distinct
from jumpgate.ncas.switch_prune.filter import entries_of, prune_filter
from jumpgate.ncas.switch_prune.groupby import prune_groupby
from jumpgate.ncas.switch_prune.having import prune_having, threshold_of
from jumpgate.ncas.switch_prune.join import prune_join
from jumpgate.ncas.switch_prune.pruning import Pruning, Setting
from jumpgate.ncas.switch_prune.skyline import prune_skyline
from jumpgate.ncas.switch_prune.topn import prune_topn, wanted
from jumpgate.p4.programs.join import masks
from jumpgate.p4.programs.render import CODES, PROGRAMS, PruneSizes

#: (key, a, b), then the row that is pruned
TUPLES = TupleFormat((64, 32, 32), has_rows=True)
KINDS = (prune_distinct, prune_groupby, prune_topn, prune_join, prune_having, prune_skyline, prune_filter)
#: algorithm → how its registers' names begin, and the size that is log2 of their rows
REGISTERS = {
    "distinct_lru": ("lru_", "distinct_bits"), "distinct_fifo": ("fifo_", "distinct_bits"),
    "topn_det": ("det_", ""), "topn_rand": ("rand_", "topn_bits"), "groupby": ("groupby_", "groupby_bits"),
    "join_bf": ("bf_", "bloom_bits"), "join_rbf": ("rbf_", "rbf_bits"), "having": ("having_", "having_bits"),
    "skyline": ("sky_", ""), "filter": ("filter_", ""),
}  # fmt: skip
#: algorithms that are as right if each switch of a chain sees a part of the rows
CHAINED = ("distinct_lru", "distinct_fifo", "topn_det", "groupby", "skyline", "filter")
#: of a row's fixed part; what a datagram carries beside the headers and the tuple
ROW_BYTES_MAX = 1300
#: entries of the table of register-Bloom filters
RBF_MASKS = 8192


class SwitchPrune(SwitchNCA):
    """Drops rows on their way that cannot matter: distinct, top-n, max, min, joins, having, skylines, filters."""

    name = "switch_prune"
    sample_devices = tuple(SWITCH.device(p, program=p) for p in ("prune", "prune_topn"))

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        return self.match_estimated(node, device, dialect)

    def match_estimated(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT, estimates: Estimates | None = None
    ) -> Match | Unsupported | None:
        """`estimates` make a deterministic top-n prune more."""
        sizes = PROGRAMS.get(program_of(device))
        if not isinstance(sizes, PruneSizes):
            return None
        setting = Setting(sizes, SWITCH.value(device, "success"), estimates)
        found = next((f for kind in KINDS if (f := kind(node, setting)) is not None), None)
        if not isinstance(found, Pruning):
            return found
        no = _refusal(found, sizes, dialect)
        if no is not None:
            return no
        program = summary(program_of(device))
        return Match(
            self.name, found.operators, Completeness.PRUNE, pruned_leaf(found.operators).schema,
            note=f"{found.algorithm} of {program}" + (f"; {found.note}" if found.note else ""),
            wire=found.wire, claims=(found.algorithm,),
            rows_max=found.rows_max, chains=found.algorithm in CHAINED,
        )  # fmt: skip

    def task(self, instance: InstancePlan) -> Task:
        sizes = PROGRAMS[program_of(instance.device)]
        assert isinstance(sizes, PruneSizes)
        body = instance.root.inputs[0]
        assert isinstance(body, Prune)
        algorithm = _algorithm(body.input, sizes, instance.device)
        rows = entries_of(body.input) if isinstance(body.input, Filter) else ()
        inputs = tuple(
            Input((("algorithm", CODES[algorithm]), *p.items()), forwards=not p["absorbs"], rows=rows)
            for p in _parameters(body.input)
        )
        prefix, size = REGISTERS[algorithm]
        return Task(
            "run", TUPLES, inputs, (algorithm,), (prefix,), getattr(sizes, size) if size else 0,
            constants=_masks() if algorithm == "join_rbf" else (),
        )  # fmt: skip


def _refusal(found: Pruning, sizes: PruneSizes, dialect: Dialect) -> Unsupported | None:
    if sizes.slots != 1:
        return Unsupported("its program packs several tuples into a packet, which leaves no room for rows", "slots")
    if dialect.on_overflow == "wrap":
        return Unsupported("the senders' arithmetic does not wrap around", "overflow_wrap",
                           "Use a dialect with on_overflow = error or null.")  # fmt: skip
    row = sum(16 if f.type.is_text else f.type.width for f in pruned_leaf(found.operators).schema)
    if row > ROW_BYTES_MAX:
        return Unsupported(f"a row has at least {row} bytes, a datagram at most {ROW_BYTES_MAX}", "row",
                           "Select fewer columns.")  # fmt: skip
    return None


def _algorithm(pruned: Operator, sizes: PruneSizes, device: Device) -> str:
    """That of a body which one of KINDS made."""
    if isinstance(pruned, Join):
        names = ("having",) if isinstance(pruned.right, Filter) else ("join_bf", "join_rbf")
        return next(n for n in names if n in sizes.algorithms)
    setting = Setting(sizes, SWITCH.value(device, "success"))
    found = next(f for kind in KINDS if isinstance(f := kind(pruned, setting), Pruning))
    return found.algorithm


@functools.cache
def _masks() -> tuple[Row, ...]:
    """Which bits a key sets in its word of a register-Bloom filter."""
    return tuple(
        Row("rbf_masks_0", (("md.s0.rbf_mask", i),), "rbf_bits_0", (("high", bits >> 32), ("low", bits & 0xFFFFFFFF)))
        for i, bits in enumerate(masks(RBF_MASKS))
    )


def _parameters(pruned: Operator) -> list[dict[str, int]]:
    """Return for each input's flows the parameters of the program's action but for the algorithm and its region."""
    one = {"threshold": 0, "side": 0, "adds": 0, "absorbs": 0}
    match pruned:
        case Sort():
            return [one | {"threshold": wanted(pruned)}]
        case Join(right=Receive()):
            return [one, one | {"side": 1, "adds": 1, "absorbs": 1}]
        case Join():
            return [one | {"threshold": threshold_of(pruned)}, one | {"adds": 1, "absorbs": 1}]
    return [one]


PRUNE = SwitchPrune()
