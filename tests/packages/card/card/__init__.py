"""A card that joins: what jumpgate.toml says of one, how rows reach it, and which joins it takes.

The card knows keys of 64 bits and numbers of rows. What Jumpgate speaks to is its gateway, a process on the host that
sends: it keeps the rows of the build side, and asks the card which of them have the key of a probing row.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

from jumpgate.dataflow.casts import cast_type
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Cast, Expression
from jumpgate.dataflow.operators import Join, Operator, Receive, column
from jumpgate.dataflow.types import Field, Schema, int64
from jumpgate.nca.device_kind import DeviceKind, Key, is_address
from jumpgate.nca.interface import (
    Completeness,
    Device,
    LifeCycle,
    Match,
    Offer,
    Unsupported,
    Wire,
    WireInput,
)  # fmt: skip
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import Transport
from jumpgate.ntf.descriptor import Descriptor

#: what travels to a gateway and from it, in the frames of the data path
TRANSPORT = Transport("join_card", layout=Descriptor.columnar)


def _offer(device: Device) -> Offer:
    return Offer((("rows", KIND.value(device, "rows")),), claims=("table",), ports=64)


KIND = DeviceKind(
    "join_card",
    "a card with hash tables of 64-bit keys",
    (
        Key("address", str, "where it listens; absent: a simulated one on this machine", own=True,
            holds=is_address, wanted="HOST:PORT"),
        Key("rows", int, "how many rows its tables hold together", 1 << 20, holds=lambda v: v > 0,
            wanted="a whole number, 1 or more"),
        Key("tables", int, "how many jobs can use it at a time", 4, holds=lambda v: v > 0,
            wanted="a whole number, 1 or more"),
    ),
    offers=_offer,
)  # fmt: skip


class CardJoin:
    """Inner joins on one whole number or date, whose build side fits the card."""

    name = "card_join"
    sample_devices = (KIND.device("card"),)

    @property
    def operators(self) -> CardJoin:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        from card.lifecycle import CardLifecycle

        return CardLifecycle()

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        if transport != TRANSPORT:
            return Unsupported(f"the card's gateway receives over {TRANSPORT.name}, not {transport.name}", "transport")
        return None if transport.carries(ntf) else Unsupported("the card's gateway reads columns", "layout")

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        if device.kind != KIND.name or not isinstance(node, Join) or not node.left_keys:
            return None
        if node.type != "inner":
            return Unsupported(f"the card finds partners; a {node.type} join needs more", "join_type")
        if len(node.left_keys) > 1 or node.residual is not None:
            return Unsupported("the card compares one key and nothing else", "keys", "Filter after the join.")
        type = node.left_keys[0].type
        if not type.is_integer:
            return Unsupported(f"the key is {type.name}; the card compares whole numbers of 64 bits", "key_type")
        rows = float(KIND.value(device, "rows"))
        return Match(
            self.name, (node,), Completeness.FULL, node.schema, wire=_wire(node), claims=("table",),
            rows_max=rows if node.right is node.left else (math.inf, rows),
        )  # fmt: skip

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.columnar(match.schema if match.wire is None else match.wire.body.schema), TRANSPORT

    def speeds(self, device: Device) -> Speeds:
        return Speeds(factor=0.0, receive_s=1 / 50e6, setup_s=0.5)


def _wire(node: Join) -> Wire:
    """Each side's columns and its key as an int64; the join of both; its columns without the keys."""
    left, probing = _side(node.left, node.left_keys[0], 0)
    right, building = _side(node.right, node.right_keys[0], 1)
    keys = len(node.left.schema), len(node.right.schema)
    body = Join(probing, building, "inner", (column(left.schema, keys[0]),), (column(right.schema, keys[1]),))
    back = tuple(column(body.schema, i) for i in range(len(body.schema)) if i not in (keys[0], len(body.schema) - 1))
    if node.right is node.left:  # one input, sent twice
        right = replace(right, leaf=0)
    return Wire((left, right), body, back, TRANSPORT)


def _side(node: Operator, key: Expression, number: int) -> tuple[WireInput, Receive]:
    if not key.type.same(int64):
        key = Cast(cast_type(key.type, int64.with_nullable(key.type.nullable), "error"), key)
    expressions = (*(column(node.schema, i) for i in range(len(node.schema))), key)
    schema = Schema(tuple(Field(f"c{i}", e.type) for i, e in enumerate(expressions)))
    return WireInput(number, expressions, schema, (len(node.schema),)), Receive(str(number), schema)


NCA = CardJoin()
