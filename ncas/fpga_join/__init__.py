"""Joins on an FPGA card in the network (after the join units of ADMS 2019).

Hosts send their tables to the card once: it builds hash tables of the small ones in its own memory, and the rows of
the large one pass through it on their way to who goes on with the joined rows. Nothing is shuffled between hosts.
"""

from __future__ import annotations

import math
from functools import cached_property

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Operator
from jumpgate.nca.interface import Answer, Completeness, Device, LifeCycle, Match, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import Transport
from jumpgate.ncas.fpga_join.chain import Chain, chains, is_root, leaves, value_bytes
from jumpgate.ncas.fpga_join.kind import FPGA, TABLES, bucket_bits, signature, slots
from jumpgate.ncas.switch.transport import DATAGRAMS, packed
from jumpgate.ntf.descriptor import Descriptor

#: a table that is fuller than this has many buckets that are full
FILL_MAX = 0.5
#: the table is worked on as rows pass: a byte takes what it takes on the card's links, 4 of 10 Gbit/s. A bitstream is
#: loaded when the card starts; a job only has its tables cleared
SPEEDS = Speeds(factor=0.0, receive_s=1 / 5e9, setup_s=0.05)
#: a process that shares the machine with everybody else
EMULATED_SPEEDS = Speeds(factor=0.0, receive_s=1 / 400e6, setup_s=0.05)
VERILATED_SPEEDS = Speeds(factor=0.0, receive_s=1 / 2e6, setup_s=0.05)


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
        if device.kind != FPGA.name or not is_root(node):
            return None
        if dialect.on_overflow == "wrap":
            return Unsupported("the senders' arithmetic does not wrap around", "overflow_wrap",
                               "Use a dialect with on_overflow = error or null.")  # fmt: skip
        # cards of a pool share rows by one key
        found = tuple(chains(node, 1 if device.pool else FPGA.value(device, "tables")))
        return tuple(self._match(c, device) if isinstance(c, Chain) else c for c in found)

    def _match(self, chain: Chain, device: Device) -> Match:
        buckets, rows_max = 1 << bucket_bits(device), [math.inf] * len(leaves(chain.operators))
        widths = []
        for side in chain.builds:
            width = signature(value_bytes(side.sent(0).schema))
            assert width is not None
            widths.append(width)
            rows_max[side.leaf] = min(rows_max[side.leaf], buckets * slots(width) * FILL_MAX)
        tables = ", ".join(f"{slots(w)} × ({8 * 8} + {8 * w}) bits" for w in widths)
        return Match(
            self.name, chain.operators, Completeness.FULL, chain.operators[0].schema,
            note=f"{len(widths)} of {FPGA.value(device, 'tables')} tables, 2^{bucket_bits(device)} buckets of {tables}",
            wire=chain.wire(), claims=(TABLES,), rows_max=tuple(rows_max),
        )  # fmt: skip

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        schema = match.schema if match.wire is None else match.wire.body.schema
        return packed(schema), DATAGRAMS

    def speeds(self, device: Device) -> Speeds:
        return VERILATED_SPEEDS if FPGA.value(device, "backend") == "verilated" else EMULATED_SPEEDS


FPGA_JOIN = FpgaJoin()
