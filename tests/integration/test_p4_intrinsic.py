"""Each intrinsic field of TNA by its meaning: packets that say what ingress sets, and what left for it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace

import pytest

from jumpgate.p4.compiler import P4Error, compile_source, front_end
from jumpgate.p4.compiler.walk import parser_errors
from jumpgate.p4.switch import library
from jumpgate.p4.switch.switch import CPU_PORT, Switch

FRAME = """
#include <core.p4>
#include <tna.p4>
header ask_h {
    bit<8> drop; bit<8> egress_drop; bit<8> mirrors; bit<8> resubmits; bit<8> to_cpu; bit<8> bypass;
    bit<16> port; bit<16> group_a; bit<16> group_b; bit<16> rid; bit<16> excluded_1; bit<16> excluded_2;
    bit<8> qid; bit<8> cos; bit<8> icos;
}
header seen_h { bit<16> port; bit<16> rid; bit<8> first; bit<8> qid; bit<8> cos; bit<16> length; bit<16> sum; }
header again_h { bit<8> a; bit<16> b; bit<40> rest; }
header copy_h { bit<8> kind; bit<16> two; bit<8> tag; }
struct headers_t { copy_h copy; seen_h seen; ask_h ask; }
struct md_t { bit<8> a; bit<16> b; bit<16> err; }

parser IngressParser(packet_in pkt, out headers_t hdr, out md_t md, out ingress_intrinsic_metadata_t ig) {
    again_h again;
    state start {
        pkt.extract(ig);
        transition select(ig.resubmit_flag) { 1: resubmitted; default: first; }
    }
    state resubmitted { pkt.extract(again); md.a = again.a; md.b = again.b; transition ask; }
    state first { pkt.advance(PORT_METADATA_SIZE); transition ask; }
    state ask { pkt.extract(hdr.ask); transition accept; }
}
control Ingress(inout headers_t hdr, inout md_t md, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
    inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        tm.ucast_egress_port = hdr.ask.port[8:0];
        tm.mcast_grp_a = hdr.ask.group_a;
        tm.mcast_grp_b = hdr.ask.group_b;
        tm.rid = hdr.ask.rid;
        tm.level1_exclusion_id = hdr.ask.excluded_1;
        if (hdr.ask.excluded_2 != 0xffff) { tm.level2_exclusion_id = hdr.ask.excluded_2[8:0]; }
        tm.qid = hdr.ask.qid[4:0];
        tm.ingress_cos = hdr.ask.cos[2:0];
        tm.icos_for_copy_to_cpu = hdr.ask.icos[2:0];
        tm.copy_to_cpu = hdr.ask.to_cpu[0:0];
        tm.bypass_egress = hdr.ask.bypass[0:0];
        dprsr.drop_ctl = hdr.ask.drop[2:0];
        dprsr.mirror_type = hdr.ask.mirrors[2:0];
        if (ig.resubmit_flag == 0) { dprsr.resubmit_type = hdr.ask.resubmits[2:0]; }
        else { hdr.ask.icos = md.a; hdr.ask.rid = md.b; }
    }
}
control IngressDeparser(packet_out pkt, inout headers_t hdr, in md_t md,
    in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Mirror() mirror;
    Resubmit() again;
    apply {
        if (dprsr.mirror_type == 1) { mirror.emit<copy_h>(5, {tag = 0xee, kind = 1, two = 2}); }
        if (dprsr.mirror_type == 2) { mirror.emit<copy_h>(5, {1, 2, 0xee}); }
        if (dprsr.resubmit_type == 1) { again.emit<again_h>({rest = 0, b = 0x1234, a = 0x56}); }
        pkt.emit(hdr);
    }
}
parser EgressParser(packet_in pkt, out headers_t hdr, out md_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); transition select(pkt.lookahead<bit<8>>()) { 0x10: copy; default: ask; } }
    state copy { pkt.extract(hdr.copy); transition ask; }
    state ask { pkt.extract(hdr.ask); transition accept; }
}
control Egress(inout headers_t hdr, inout md_t md, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
    inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply {
        hdr.seen.setValid();
        hdr.seen.port = (bit<16>)eg.egress_port;
        hdr.seen.rid = eg.egress_rid;
        hdr.seen.first = (bit<8>)eg.egress_rid_first;
        hdr.seen.qid = (bit<8>)eg.egress_qid;
        hdr.seen.cos = (bit<8>)eg.egress_cos;
        hdr.seen.length = eg.pkt_length;
        if (!hdr.copy.isValid()) {
            dprsr.drop_ctl = hdr.ask.egress_drop[2:0];
            if (hdr.ask.mirrors == 4) { dprsr.mirror_type = 4; }
        }
    }
}
control EgressDeparser(packet_out pkt, inout headers_t hdr, in md_t md,
    in egress_intrinsic_metadata_for_deparser_t dprsr) {
    Mirror() mirror;
    Checksum() sum;
    apply {
        hdr.seen.sum = sum.update({hdr.seen.port, hdr.seen.rid});
        if (dprsr.mirror_type == 4) { mirror.emit<copy_h>(5, {0x10, 2, 3}); }
        pkt.emit(hdr);
    }
}
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
"""
MIRROR_PORT = 30
ASK, SEEN = struct.Struct(">6B6H3B"), struct.Struct(">HHBBBHH")
NONE = 0xFFFF


@dataclass(frozen=True)
class Ask:
    """A packet, and what becomes of it."""

    drop: int = 0
    egress_drop: int = 0
    mirrors: int = 0
    resubmits: int = 0
    to_cpu: int = 0
    bypass: int = 0
    port: int = 9
    group_a: int = 0
    group_b: int = 0
    rid: int = 0
    excluded_1: int = 0
    excluded_2: int = NONE
    qid: int = 0
    cos: int = 0
    icos: int = 0

    @property
    def bytes(self) -> bytes:
        return ASK.pack(*astuple(self))


def seen(ask: Ask, port: int, rid: int = 0, first: int = 1, qid: int = 0, cos: int = 0) -> bytes:
    """What egress writes in front; the sum is RFC 1071's over port and rid."""
    return SEEN.pack(port, rid, first, qid, cos, ASK.size, ~(port + rid) & 0xFFFF) + ask.bytes


@pytest.fixture(scope="module")
def switch() -> Iterator[Switch]:
    cpp = compile_source(FRAME, "intrinsic.p4", profile="none").cpp
    with Switch(library.build_program("intrinsic.p4", cpp)) as made:
        made.set_multicast(1, [(11, 1), (12, 2), (13, 3)])
        made.set_multicast(2, [(14, 1)])
        made.set_mirror(5, MIRROR_PORT)
        yield made


def left(switch: Switch, ask: Ask) -> list[tuple[int, bytes]]:
    """What left, and what the controller got under the CPU port's number."""
    out = switch.process([(1, ask.bytes)])
    while (event := switch.next_event(0)) is not None:
        out.append((CPU_PORT, event.data))  # type: ignore[union-attr]
    return sorted(out)


def copies(ask: Ask, *ports: tuple[int, int, int]) -> list[tuple[int, bytes]]:
    return [(port, seen(ask, port, rid, first)) for port, rid, first in ports]


MIRRORED = bytes.fromhex("010002ee")


@pytest.mark.parametrize("drop", range(8))
def test_drop_ctl_of_ingress(switch: Switch, drop: int) -> None:
    """Bit 0: unicast, multicast and resubmission; bit 1: the copy for the CPU; bit 2: mirrored copies."""
    ask = Ask(drop=drop, mirrors=1, to_cpu=1, group_a=2)
    wanted = [] if drop & 1 else copies(ask, (9, 0, 1), (14, 1, 1))
    if not drop & 2:
        wanted += [(CPU_PORT, seen(ask, CPU_PORT))]
    if not drop & 4:
        wanted += [(MIRROR_PORT, mirrored(ask))]
    assert left(switch, ask) == sorted(wanted)


def mirrored(ask: Ask) -> bytes:
    """A copy of the packet as it came behind its header of four bytes; it passes egress, and is no replica."""
    return SEEN.pack(MIRROR_PORT, 0, 0, 0, 0, 4 + ASK.size, ~MIRROR_PORT & 0xFFFF) + MIRRORED + ask.bytes


@pytest.mark.parametrize("kind", [1, 2])
def test_mirrors_by_name_and_by_place(switch: Switch, kind: int) -> None:
    ask = Ask(mirrors=kind)
    assert left(switch, ask) == sorted([*copies(ask, (9, 0, 1)), (MIRROR_PORT, mirrored(ask))])


def test_drop_ctl_stops_resubmissions(switch: Switch) -> None:
    ask = Ask(resubmits=1)
    again = replace(ask, icos=0x56, rid=0x1234)
    assert left(switch, ask) == [(9, seen(again, 9))]
    assert left(switch, replace(ask, drop=1)) == []


@pytest.mark.parametrize("drop", range(8))
def test_drop_ctl_of_egress(switch: Switch, drop: int) -> None:
    """The copy is of the packet as it would have left, its checksum included."""
    ask = Ask(egress_drop=drop, mirrors=4)
    gone = seen(ask, 9)
    wanted = [] if drop & 1 else [(9, gone)]
    if not drop & 4:
        again = SEEN.pack(MIRROR_PORT, 0, 0, 0, 0, 4 + len(gone), ~MIRROR_PORT & 0xFFFF)
        wanted.append((MIRROR_PORT, bytes.fromhex("10000203") + again + gone))
    assert left(switch, ask) == sorted(wanted)


@pytest.mark.parametrize(
    ("ask", "ports"),
    [
        (Ask(port=0x1FF, group_a=1), [(11, 1, 1), (12, 2, 0), (13, 3, 0)]),
        (Ask(port=0x1FF, group_a=1, group_b=2), [(11, 1, 1), (12, 2, 0), (13, 3, 0), (14, 1, 1)]),
        (Ask(port=0x1FF, group_a=1, excluded_2=12), [(11, 1, 1), (13, 3, 0)]),
        (Ask(port=0x1FF, group_a=1, excluded_2=11), [(12, 2, 1), (13, 3, 0)]),
        (Ask(port=0x1FF, group_a=1, excluded_1=3), [(11, 1, 1), (12, 2, 0)]),
        (Ask(port=0x1FF, group_a=1, excluded_1=3, excluded_2=11, rid=7), [(12, 2, 1)]),
        (Ask(port=9, group_a=2, excluded_2=9), [(9, 0, 1), (14, 1, 1)]),
    ],
)
def test_groups_and_what_is_excluded(switch: Switch, ask: Ask, ports: list[tuple[int, int, int]]) -> None:
    """Level 1 excludes replicas by their id, level 2 by their port; neither touches unicast."""
    assert left(switch, ask) == copies(ask, *ports)


def test_queue_and_class_reach_egress(switch: Switch) -> None:
    ask = Ask(qid=21, cos=5, icos=3, to_cpu=1)
    assert left(switch, ask) == [(9, seen(ask, 9, qid=21, cos=5)), (CPU_PORT, seen(ask, CPU_PORT, cos=3))]


def test_bypass_egress(switch: Switch) -> None:
    ask = Ask(bypass=1)
    assert left(switch, ask) == [(9, ask.bytes)]


def test_deflection_is_of_what_full_queues_drop() -> None:
    """There are none."""
    assert compile_source(FRAME.replace("tm.qid = ", "tm.deflect_on_drop = 1;\ntm.qid = "), "x.p4", profile="none").cpp


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ("egress.coalesce_flush", "does not coalesce"),
        ("egress.coalesce_length", "does not coalesce"),
        ("oport.update_delay_on_tx", "has no clock"),
    ],
)
def test_what_the_switch_does_not_do_is_refused(field: str, what: str) -> None:
    place = "hdr.seen.setValid();"
    line = f"{field.replace('egress.', 'dprsr.')} = {{}};\n"
    compile_source(FRAME.replace(place, line.format(0) + place), "x.p4", profile="none")
    with pytest.raises(P4Error, match=f"'{field.split('.')[1]}': the software switch {what}"):
        compile_source(FRAME.replace(place, line.format(1) + place), "x.p4", profile="none")


QUEUES = """
#include <core.p4>
#include <tna.p4>
header hops_h { bit<8> hops; bit<8> by; }
struct headers_t { hops_h hops; }
struct md_t {}
parser IngressParser(packet_in pkt, out headers_t hdr, out md_t md, out ingress_intrinsic_metadata_t ig) {
    state start { pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); pkt.extract(hdr.hops); transition accept; }
}
control Ingress(inout headers_t hdr, inout md_t md, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
    inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        if (hdr.hops.hops == 0) { tm.mcast_grp_a = 1; }
        else if (hdr.hops.hops == 1) {
            tm.ucast_egress_port = 70;
            hdr.hops.by = (bit<8>)ig.ingress_port;
            if (ig.ingress_port == 69) { tm.qid = 3; }
        } else { tm.ucast_egress_port = 9; }
        hdr.hops.hops = hdr.hops.hops + 1;
    }
}
control IngressDeparser(packet_out pkt, inout headers_t hdr, in md_t md,
    in ingress_intrinsic_metadata_for_deparser_t dprsr) { apply { pkt.emit(hdr); } }
parser EgressParser(packet_in pkt, out headers_t hdr, out md_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); transition accept; }
}
control Egress(inout headers_t hdr, inout md_t md, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
    inout egress_intrinsic_metadata_for_output_port_t oport) { apply {} }
control EgressDeparser(packet_out pkt, inout headers_t hdr, in md_t md,
    in egress_intrinsic_metadata_for_deparser_t dprsr) { apply { pkt.emit(hdr); } }
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
"""


def test_a_higher_queue_comes_in_again_first() -> None:
    """Three copies recirculate at once; the one that the program puts into queue 3 passes the one before it."""
    cpp = compile_source(QUEUES, "queues.p4", profile="none").cpp
    with Switch(library.build_program("queues.p4", cpp)) as made:
        made.set_multicast(1, [(68, 1), (69, 2), (71, 3)])
        out = made.process([(1, bytes([0, 0]))])
    assert out == [(9, bytes([3, port])) for port in (69, 68, 71)]


@pytest.mark.parametrize("read", ["if (prsr.parser_err != 0) { tm.qid = 1; }", "md.err = prsr.parser_err;"])
def test_short_packets_go_on_where_the_error_is_read(read: str) -> None:
    """2: a header is cut off; 1: no case of a select is met."""
    text = FRAME.replace("tm.qid = ", f"{read} hdr.ask.setValid(); hdr.ask.icos = (bit<8>)prsr.parser_err; tm.qid = ")
    text = text.replace("state ask { pkt.extract(hdr.ask); transition accept; }\n}\ncontrol Ingress", """
        state ask { transition select(pkt.lookahead<bit<8>>()) { 0x77: reject; 0 .. 9: more; } }
        state more { pkt.extract(hdr.ask); transition accept; }\n}\ncontrol Ingress""")  # fmt: skip
    text = text.replace("tm.ucast_egress_port = hdr.ask.port[8:0];", "tm.ucast_egress_port = 3; tm.bypass_egress = 1;")
    text = text.replace("tm.bypass_egress = hdr.ask.bypass[0:0];", "")
    program = compile_source(text, "errors.p4", profile="none")
    with Switch(library.build_program("errors.p4", program.cpp)) as made:
        for frame, error in ((b"\0\1\2", 2), (b"\x77" * 30, 1), (b"\x50", 1)):
            ((port, found),) = made.process([(1, frame)])
            assert (port, found) == (3, Ask(port=0, excluded_2=0, icos=error).bytes + frame)


def test_parser_err_counts_as_read_in_actions_and_keys() -> None:
    table = "action a() {} table t { key = { prsr.parser_err: exact; } actions = { a; } }"
    text = FRAME.replace("    apply {\n        tm.ucast", f"    {table}\n    apply {{ t.apply();\n        tm.ucast")
    program = front_end(text, "x.p4")
    assert parser_errors(program, program.ingress) is not None
    plain = front_end(FRAME, "x.p4")
    assert parser_errors(plain, plain.ingress) is None
