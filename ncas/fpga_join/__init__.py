"""Joins on an FPGA card in the network (after the join units of ADMS 2019).

Hosts send their tables to the card once: it builds hash tables of the small ones in its own memory, and the rows of
the large one pass through it on their way to who goes on with the joined rows. Nothing is shuffled between hosts.
"""

from __future__ import annotations

from functools import cached_property

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Aggregate, Operator
from jumpgate.nca.interface import Answer, Device, Estimates, LifeCycle, Match, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import Transport
from jumpgate.ncas.fpga_join.chain import Chain, chains, is_root, value_bytes
from jumpgate.ncas.fpga_join.kind import (
    BUCKET_BYTES,
    EMULATED,
    FPGA,
    ROW_BYTES_MAX,
    TABLES,
    VERILATED,
    buckets,
    signature,
    slots,
)
from jumpgate.ncas.fpga_join.memory import FILL_MAX, Tables, table_bits
from jumpgate.ncas.fpga_join.totals import Totals, refusal, totals
from jumpgate.ncas.switch.transport import DATAGRAMS, packed
from jumpgate.ntf.descriptor import Descriptor

#: for a byte that reaches the card's process, which shares the machine with everybody else
RECEIVE_S = {EMULATED: 1 / 400e6, VERILATED: 1 / 2e6}


class FpgaJoin:
    """Inner, left, semi and anti joins in the network, on keys of 64 bits, beside columns of a fixed width."""

    name = "fpga_join"
    sample_devices = (FPGA.device("card"),)

    @property
    def operators(self) -> FpgaJoin:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        from jumpgate.ncas.fpga_join.lifecycle import FpgaLifecycle

        return FpgaLifecycle()

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        if transport != DATAGRAMS:
            return Unsupported(f"a card reads datagrams, not {transport.name}", "transport")
        if not transport.carries(ntf):
            return Unsupported("a card reads packed rows in network order", "layout")
        return None

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        return self.match_estimated(node, device, dialect)

    def match_estimated(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT, estimates: Estimates | None = None
    ) -> Answer:
        """`estimates` size the tables."""
        root = node.input if isinstance(node, Aggregate) and node.phase == "full" else node
        if device.kind != FPGA.name or not is_root(root):
            return None
        if dialect.on_overflow == "wrap":
            return Unsupported("the senders' arithmetic does not wrap around", "overflow_wrap",
                               "Use a dialect with on_overflow = error or null.")  # fmt: skip
        # cards of a pool share rows by one key
        tables = 1 if device.pool else FPGA.value(device, "tables")
        if isinstance(node, Aggregate) and (no := refusal(node, dialect)) is not None:
            return no
        found = chains(root, tables, ROW_BYTES_MAX[FPGA.value(device, "backend")])
        return tuple(self._match(c, node, device, estimates) if isinstance(c, Chain) else c for c in found)

    def _match(self, chain: Chain, root: Operator, device: Device, estimates: Estimates | None) -> Match | Unsupported:
        widths = [signature(value_bytes(side.sent(0).schema)) or 0 for side in chain.builds]
        if FPGA.value(device, "backend") == VERILATED:  # a bitstream has one width
            widths = [max(widths)] * len(widths)
        rows = [estimates.of(side.node).rows if estimates else None for side in chain.builds]
        bits = table_bits(rows, [slots(w) for w in widths], device)
        if bits is None:
            need = sum(n / (slots(w) * FILL_MAX) for n, w in zip(rows, widths, strict=True) if n is not None)
            return Unsupported(
                f"its build sides need {need * BUCKET_BYTES:.3g} bytes of memory, the card has "
                f"{buckets(device) * BUCKET_BYTES:.3g}", "rows", "Give the card more memory_bytes.",
            )  # fmt: skip
        tables = ", ".join(f"2^{b} buckets of {slots(w)} × (64 + {8 * w}) bits"
                           for b, w in zip(bits, widths, strict=True))  # fmt: skip
        of: Chain | Totals = totals(root, chain) if isinstance(root, Aggregate) else chain
        return Match(
            self.name, of.operators, of.completeness, of.schema,
            note=f"{len(widths)} of {FPGA.value(device, 'tables')} tables: {tables}{of.note}",
            wire=of.wire(), claims=(TABLES,),
            settings=Tables(bits, tuple(widths)),
        )  # fmt: skip

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        schema = match.schema if match.wire is None else match.wire.body.schema
        return packed(schema), DATAGRAMS

    def speeds(self, device: Device) -> Speeds:
        return Speeds(factor=0.0, receive_s=RECEIVE_S[FPGA.value(device, "backend")],
                      setup_s=FPGA.value(device, "setup_s"))  # fmt: skip


FPGA_JOIN = FpgaJoin()
