"""Value sets and meters of compiled programs, as P4Runtime's clients set them and as packets see them."""

from __future__ import annotations

import asyncio
import random
import struct
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import finsy
import grpc
import pytest
from finsy.p4entity import P4ValueSetMember
from finsy.proto import p4i, p4r
from google.protobuf import text_format

from jumpgate.p4.compiler import compile_source
from jumpgate.p4.switch import library
from jumpgate.p4.switch.device import Device, device_config
from jumpgate.p4.switch.entities import Entities
from jumpgate.p4.switch.p4runtime import Server
from jumpgate.p4.switch.refusal import Refused
from jumpgate.p4.switch.switch import Switch
from tests.support import cpp

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


async def _with_finsy(port: int, info: Path, blob: Path) -> list[object]:
    options = finsy.SwitchOptions(p4info=info, p4blob=blob, device_id=1)
    wanted = finsy.P4MeterConfig(cir=10, cburst=20, pir=30, pburst=40)
    kinds = finsy.P4ValueSetEntry("kinds", members=[P4ValueSetMember(3), P4ValueSetMember(250)])
    pairs = finsy.P4ValueSetEntry("pairs", members=[P4ValueSetMember(flag=1, short=2)])
    found: list[object] = []
    async with finsy.Switch("switch", f"127.0.0.1:{port}", options) as switch:
        await switch.modify([finsy.P4MeterEntry("packets", index=1, config=wanted), kinds, pairs])
        async for meter in switch.read(finsy.P4MeterEntry("packets")):
            found.append(meter.config)
        for values in (kinds, pairs):
            async for read in switch.read(finsy.P4ValueSetEntry(values.value_set_id, members=[])):
                found.append(sorted(read.members, key=str) == sorted(values.members, key=str))
    assert found[1] == wanted
    return found


def test_finsy_sets_both(tmp_path: Path) -> None:
    text = SETS.replace(
        "apply {", "Meter<bit<8>>(3, MeterType_t.BYTES) packets; apply { hdr.data.flag = packets.execute(1);"
    )
    compiled = compile_source(text, str(CASES / "x.p4"), profile="none")
    (tmp_path / "p4info.txt").write_text(text_format.MessageToString(compiled.p4info))
    (tmp_path / "blob").write_bytes(device_config(library.build_program("x", compiled.cpp)))
    device = Device([])
    server = Server(device, "127.0.0.1:0", anyone=True)
    try:
        found = asyncio.run(_with_finsy(server.port, tmp_path / "p4info.txt", tmp_path / "blob"))
    finally:
        server.close()
        device.close()
    assert (found[0], found[2:]) == (None, [None, True, True])


METERS = """
#include "include/frame.p4h"
INGRESS {
    Meter<bit<8>>(4, MeterType_t.PACKETS) packets;
    Meter<bit<8>>(size = 2, type = MeterType_t.BYTES, red = 7, yellow = 6, green = 5) bytes;
    DirectMeter(MeterType_t.BYTES) direct;
    action colour(bit<8> x) { hdr.data.flag = direct.execute(); hdr.data.a = (bit<32>)x; }
    action other() { hdr.data.flag = direct.execute(); }
    table t { key = { hdr.data.kind: exact; } actions = { colour; other; } default_action = other; size = 8; }
    apply {
        tm.ucast_egress_port = 2;
        if (hdr.data.short == 1) {
            hdr.data.flag = packets.execute(hdr.data.kind);
        } else if (hdr.data.short == 2) {
            hdr.data.flag = packets.execute(hdr.data.kind, (MeterColor_t)hdr.data.flag);
        } else if (hdr.data.short == 3) {
            hdr.data.flag = bytes.execute(hdr.data.kind, MeterColor_t.GREEN, 4);
        } else {
            t.apply();
        }
    }
}
#include "include/rest.p4h"
"""
GREEN, YELLOW, RED = 0, 1, 3


@pytest.fixture
def metered() -> Iterator[Bench]:
    bench = Bench(METERS)
    yield bench
    bench.switch.close()


def meter(number: int, index: int | None, *config: int) -> p4r.Entity:
    made = p4r.MeterEntry(meter_id=number)
    if index is not None:
        made.index.index = index
    if config:
        made.config.CopyFrom(rates(*config))
    return p4r.Entity(meter_entry=made)


def rates(cir: int, cburst: int, pir: int, pburst: int) -> p4r.MeterConfig:
    return p4r.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)


def flags(bench: Bench, count: int, *data: int) -> list[int]:
    return [bench.packet(*data, 0, 0, 0, 0)[1] for _ in range(count)]


def test_meters_mark_what_is_more_than_their_bursts(metered: Bench) -> None:
    packets, by_bytes = (m.preamble.id for m in metered.info.meters)
    assert flags(metered, 6, 1, 9, 1) == [GREEN] * 6, "nobody has set it"
    assert metered.write(meter(packets, 1, 0, 2, 0, 5)) is grpc.StatusCode.OK
    assert flags(metered, 7, 1, 9, 1) == [GREEN] * 2 + [YELLOW] * 3 + [RED] * 2, "nothing fills the buckets"
    assert flags(metered, 2, 2, 9, 1) == [GREEN] * 2, "another cell"
    assert flags(metered, 2, 4, 9, 1) == [GREEN] * 2, "beyond its end"
    metered.write(meter(packets, 3, 0, 2, 0, 3))
    before = [(YELLOW, YELLOW), (RED, RED), (GREEN, GREEN), (GREEN, GREEN), (GREEN, RED)]
    assert [flags(metered, 1, 3, colour, 2) for colour, _ in before] == [[after] for _, after in before]
    metered.write(meter(packets, 1, 10**12, 2, 10**12, 2))
    assert flags(metered, 50, 1, 9, 1) == [GREEN] * 50, "a packet a picosecond"
    metered.write(meter(packets, 1))
    assert flags(metered, 9, 1, 9, 1) == [GREEN] * 9, "not set any more"
    # 24 bytes of a packet, less 4
    metered.write(meter(by_bytes, 0, 0, 40, 0, 79))
    assert flags(metered, 4, 0, 9, 3) == [5, 5, 6, 7]


def test_direct_meters_go_with_their_entries(metered: Bench) -> None:
    (table,), (direct,) = metered.info.tables, metered.info.direct_meters
    assert direct.direct_table_id == table.preamble.id and direct.preamble.id in table.direct_resource_ids
    action = next(a.preamble.id for a in metered.info.actions if a.preamble.alias == "colour")

    def entry(kind: int, *config: int) -> p4r.Entity:
        made = p4r.TableEntry(table_id=table.preamble.id)
        made.match.add(field_id=1, exact=p4r.FieldMatch.Exact(value=bytes((kind,))))
        made.action.action.action_id = action
        made.action.action.params.add(param_id=1, value=b"\x01")
        if config:
            made.meter_config.CopyFrom(rates(*config))
        return p4r.Entity(table_entry=made)

    def of(entity: p4r.Entity, *config: int) -> p4r.Entity:
        made = p4r.DirectMeterEntry()
        made.table_entry.CopyFrom(entity.table_entry)
        made.table_entry.ClearField("action")
        made.table_entry.ClearField("meter_config")
        if config:
            made.config.CopyFrom(rates(*config))
        return p4r.Entity(direct_meter_entry=made)

    assert metered.write(entry(1, 0, 24, 0, 48), INSERT) is metered.write(entry(2), INSERT) is grpc.StatusCode.OK
    assert flags(metered, 3, 1, 9, 0) == [GREEN, YELLOW, RED] and flags(metered, 3, 2, 9, 0) == [GREEN] * 3
    assert metered.read(of(entry(1))) == [of(entry(1), 0, 24, 0, 48)] and metered.read(of(entry(2))) == [of(entry(2))]
    assert metered.write(of(entry(2), 0, 0, 0, 24)) is grpc.StatusCode.OK
    assert flags(metered, 2, 2, 9, 0) == [YELLOW, RED]
    every = p4r.TableEntry(table_id=table.preamble.id, meter_config=p4r.MeterConfig())
    found = [e.table_entry.meter_config for e in metered.read(p4r.Entity(table_entry=every))]
    assert found == [rates(0, 24, 0, 48), rates(0, 0, 0, 24)]
    assert metered.write(entry(2), MODIFY) is grpc.StatusCode.OK
    assert flags(metered, 3, 2, 9, 0) == [GREEN] * 3, "modified without a meter's rates"
    metered.write(entry(1), DELETE)
    metered.write(entry(1), INSERT)
    assert flags(metered, 3, 1, 9, 0) == [GREEN] * 3, "a new entry's is not set"
    miss = p4r.TableEntry(table_id=table.preamble.id, is_default_action=True)
    assert metered.write(of(p4r.Entity(table_entry=miss), 0, 24, 0, 24)) is grpc.StatusCode.OK
    assert flags(metered, 2, 7, 9, 0) == [GREEN, RED], "the default action's"


def test_meters_are_read_back_and_refuse_what_they_cannot(metered: Bench) -> None:
    packets, by_bytes = (m.preamble.id for m in metered.info.meters)
    assert [(m.size, m.spec.unit) for m in metered.info.meters] == [
        (4, p4i.MeterSpec.PACKETS), (2, p4i.MeterSpec.BYTES)
    ]  # fmt: skip
    metered.write(meter(packets, 2, 1, 2, 3, 4))
    assert metered.read(meter(packets, None)) == [
        meter(packets, i, *((1, 2, 3, 4) if i == 2 else ())) for i in range(4)
    ]
    assert metered.read(meter(packets, 2)) == [meter(packets, 2, 1, 2, 3, 4)]
    assert len(metered.read(meter(0, None))) == 6
    wrong = [
        (meter(packets, 4, 1, 1, 1, 1), grpc.StatusCode.OUT_OF_RANGE),
        (meter(packets, None, 1, 1, 1, 1), INVALID),
        (meter(packets + 1, 0, 1, 1, 1, 1), NOT_FOUND),
        (meter(packets, 0, 2, 1, 1, 1), INVALID),
        (meter(packets, 0, -1, 1, 1, 1), INVALID),
    ]
    for entity, status in wrong:
        assert metered.write(entity) is status, entity
    assert metered.write(meter(packets, 0, 1, 1, 1, 1), INSERT) is INVALID
    single = meter(packets, 0, 1, 1, 1, 1)
    single.meter_entry.config.eburst = 1
    assert metered.write(single) is grpc.StatusCode.UNIMPLEMENTED
    counted = meter(packets, 0, 1, 1, 1, 1)
    counted.meter_entry.counter_data.green.packet_count = 1
    assert metered.write(counted) is grpc.StatusCode.UNIMPLEMENTED
    assert metered.read(meter(packets, 0)) == [meter(packets, 0)], "none of them has changed anything"


MARK = """
#include <cinttypes>
#include <cstdio>
#include "jgsw/program.h"
int main() {
  jgsw::MeterCell cell{};
  uint64_t a, b, c, d, now;
  unsigned before;
  if (std::scanf("%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNu64, &a, &b, &c, &d) != 4) return 2;
  cell.configure({a, b, c, d, true});
  while (std::scanf("%" SCNu64 "%" SCNu64 "%u", &now, &a, &before) == 3)
    std::printf("%u\\n", unsigned(cell.mark(a, now, static_cast<jgsw::Colour>(before))));
}
"""


@pytest.mark.parametrize("seed", range(4))
def test_meters_are_those_of_rfc_2698(tmp_path: Path, seed: int) -> None:
    """Against exact fractions: times that stand still, go back and leap, colour-blind and colour-aware."""
    source = tmp_path / "mark.cpp"
    source.write_text(MARK)
    program = cpp.build("mark", [source], (*cpp.SANITIZED, "-I", str(library.INCLUDE)))
    r = random.Random(seed)
    cir, pir = sorted(r.choice([0, 1, 1000, 10**9, 2**62]) for _ in range(2))
    cbs, pbs = (r.choice([0, 1500, 10**6, 2**62]) for _ in range(2))
    now, last = 10**18, 0
    committed, peak = Fraction(cbs), Fraction(pbs)
    lines, expected = [f"{cir} {cbs} {pir} {pbs}"], []
    for _ in range(400):
        now += r.choice([0, 0, 1, 999, 10**6, 10**9, -500, 10**15])
        units, before = r.choice([0, 1, 64, 1500, 10**6]), r.choice([0, 0, 0, 1, 2])
        if now > last:
            passed = Fraction(now - last, 10**9) if last else 0
            committed, peak = min(cbs, committed + cir * passed), min(pbs, peak + pir * passed)
            last = now
        colour = 2 if before == 2 or peak < units else 1 if before == 1 or committed < units else 0
        peak -= units if colour < 2 else 0
        committed -= units if colour == 0 else 0
        lines.append(f"{now} {units} {before}")
        expected.append(colour)
    done = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=True)
    assert [int(line) for line in done.stdout.split()] == expected
