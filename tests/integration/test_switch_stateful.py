"""Value sets and meters of compiled programs, as P4Runtime's clients set them and as packets see them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from finsy.proto import p4i, p4r

from jumpgate.p4.compiler import compile_source
from jumpgate.p4.switch import library
from jumpgate.p4.switch.entities import Entities
from jumpgate.p4.switch.refusal import Refused
from jumpgate.p4.switch.switch import Switch

CASES = Path(__file__).resolve().parents[1] / "cases" / "p4"
#: kind, flag, short, a, b, c, long of tests/cases/p4/include/frame.p4h
DATA = struct.Struct(">BBHIIIQ")
INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
INVALID, NOT_FOUND, EXHAUSTED = (
    grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.RESOURCE_EXHAUSTED,
)  # fmt: skip


class Bench:
    """A compiled program in a switch, with its control plane."""

    def __init__(self, text: str) -> None:
        compiled = compile_source(text, str(CASES / "x.p4"), profile="none")
        self.info: p4i.P4Info = compiled.p4info
        self.switch = Switch(library.build_program("x", compiled.cpp))
        self.entities = Entities(self.switch, self.info)

    def write(self, entity: p4r.Entity, kind: int = MODIFY) -> grpc.StatusCode:
        try:
            self.entities.write(p4r.Update(type=kind, entity=entity))  # type: ignore[arg-type]
        except Refused as refused:
            return refused.status
        return grpc.StatusCode.OK

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]:
        return list(self.entities.read(entity))

    def packet(self, *data: int) -> tuple[int, ...]:
        """Its fields behind the switch."""
        ((_, frame),) = self.switch.process([(1, DATA.pack(*data))])
        return DATA.unpack(frame)


SETS = """
#include "include/frame.p4h"
struct pair_of_t { bit<8> flag; bit<16> short; }
parser Other(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
    value_set<bit<8>>(4) kinds;
    value_set<pair_of_t>(size = 2) pairs;
    state start {
        pkt.extract(ig);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition select(hdr.data.kind) { 9: last; kinds: first; 7: last; default: second; }
    }
    state first {
        md.x = 1;
        transition select(hdr.data.flag, hdr.data.short) {
            (1, 1): last;
            pairs: third;
            (kinds, 5): fourth;
            default: accept;
        }
    }
    state second { md.x = 2; transition accept; }
    state third { md.x = 3; transition accept; }
    state fourth { md.x = 4; transition accept; }
    state last { md.x = 5; transition accept; }
}
INGRESS { apply { hdr.data.a = md.x; tm.ucast_egress_port = 2; } }
#define IngressParser Other
#include "include/rest.p4h"
"""


@pytest.fixture
def sets() -> Iterator[Bench]:
    bench = Bench(SETS)
    yield bench
    bench.switch.close()


def members(value_set: int, *wanted: tuple[int, ...]) -> p4r.Entity:
    made = p4r.ValueSetEntry(value_set_id=value_set)
    for values in wanted:
        member = made.members.add()
        for i, value in enumerate(values, 1):
            member.match.add(
                field_id=i, exact=p4r.FieldMatch.Exact(value=value.to_bytes(2, "big").lstrip(b"\0") or b"\0")
            )
    return p4r.Entity(value_set_entry=made)


def test_value_sets_decide_where_a_parser_goes(sets: Bench) -> None:
    kinds, pairs = (v.preamble.id for v in sets.info.value_sets)
    assert [v.size for v in sets.info.value_sets] == [4, 2] and not sets.info.tables
    assert [[m.bitwidth for m in v.match] for v in sets.info.value_sets] == [[8], [8, 16]]
    assert sets.packet(3, 1, 2, 0, 0, 0, 0)[3] == 2, "they are empty at first"
    assert sets.write(members(kinds, (3,), (7,), (9,), (0,))) is grpc.StatusCode.OK
    assert sets.write(members(pairs, (1, 2), (1, 1))) is grpc.StatusCode.OK
    expected = {
        (3, 0, 0): 1, (3, 1, 2): 3, (3, 2, 1): 1, (3, 7, 5): 4, (3, 8, 5): 1,
        (3, 1, 1): 5, (9, 1, 2): 5, (7, 1, 2): 3, (0, 9, 9): 1, (4, 1, 2): 2,
    }  # fmt: skip
    for (kind, flag, short), state in expected.items():
        assert sets.packet(kind, flag, short, 0, 0, 0, 0)[3] == state, (kind, flag, short)
    assert sets.write(members(kinds, (4,))) is grpc.StatusCode.OK, "it replaces all"
    assert [sets.packet(kind, 1, 2, 0, 0, 0, 0)[3] for kind in (3, 4, 7)] == [2, 3, 5]


def test_value_sets_are_read_back(sets: Bench) -> None:
    kinds, pairs = (v.preamble.id for v in sets.info.value_sets)
    sets.write(members(pairs, (0, 65535), (255, 0)))
    assert sets.read(members(kinds)) == [members(kinds)]
    (found,) = sets.read(members(pairs))
    assert sorted(m.SerializeToString() for m in found.value_set_entry.members) == sorted(
        m.SerializeToString() for m in members(pairs, (0, 65535), (255, 0)).value_set_entry.members
    )
    assert {e.value_set_entry.value_set_id for e in sets.read(members(0))} == {kinds, pairs}
    assert sets.read(p4r.Entity(table_entry=p4r.TableEntry())) == [], "they are no tables"


def test_what_a_value_set_refuses(sets: Bench) -> None:
    kinds, pairs = (v.preamble.id for v in sets.info.value_sets)
    assert sets.write(members(kinds, (1,)), INSERT) is INVALID
    assert sets.write(members(kinds), DELETE) is INVALID
    assert sets.write(members(kinds + 1, (1,))) is NOT_FOUND
    assert sets.write(members(pairs, (1, 1), (1, 2), (1, 3))) is EXHAUSTED
    assert sets.write(members(pairs, (1, 1), (1, 1), (1, 2))) is grpc.StatusCode.OK
    assert sets.write(members(kinds, (256,))) is grpc.StatusCode.OUT_OF_RANGE
    for wrong in (members(kinds, (1, 2)), members(pairs, (1,))):
        assert sets.write(wrong) is INVALID
    assert sets.write(p4r.Entity(table_entry=p4r.TableEntry(table_id=kinds)), INSERT) is NOT_FOUND
