"""What programs of public systems do: loops over several stacks, one control at two places, sums over odd bytes."""

from __future__ import annotations

import zlib

import pytest

from jumpgate.p4.compiler import P4Error, compile_source, front_end
from jumpgate.p4.compiler.interpret import Interpreter
from tests.unit.test_p4_idioms import STACK, made, written
from tests.unit.test_p4_language import CASES, DATA, ran

# ---- parsers that loop ----

#: up to eight tags of 0x80 and more, then `a` and `b` in any order, then an end
LOOPS = """
state begin {
    transition select(pkt.lookahead<bit<8>>()) { 0x80 &&& 0x80: skip; default: more; }
}
state skip { pkt.extract(hdr.tags.next); transition begin; }
state more {
    transition select(pkt.lookahead<bit<8>>()) { 1: a; 2: b; 3: end; }
}
state a { pkt.extract(hdr.a); transition more; }
state b { pkt.extract(hdr.b); transition more; }
state end { pkt.extract(hdr.end); transition accept; }
"""
LOOPED = STACK + "header one_h { bit<8> kind; bit<8> x; }"
MEMBERS = "tag_h[8] tags; one_h a; one_h b; tag_h end;"
#: the number of tags in the end's place
COUNTS = LOOPS.replace("pkt.extract(hdr.end);", "pkt.extract(hdr.end); hdr.end.x = (bit<8>)hdr.tags.lastIndex;")
LAST = LOOPS.replace("pkt.extract(hdr.end);", "pkt.extract(hdr.end); hdr.end.x = hdr.tags.last.x;")


@pytest.mark.parametrize(
    ("states", "apply", "frame", "out"),
    [
        (LOOPS, "hdr.a.x = 0x11;", "01aa03", "011103"),
        # deparsed in the order of the headers: tags, a, b, end
        (LOOPS, "hdr.tags[1].x = 9; hdr.b.x = 8;", "8182" "02bb01aa03" "ff", "8109" "01aa" "0208" "03" "ff"),
        (LOOPS, "hdr.tags[7].x = 9;", "8081828384858687" "03", "8081828384858609" "03"),
        (COUNTS, "", "8081" "01aa02bb03", "8081" "01aa02bb" "01"),
        (COUNTS, "", "808182" "02bb03", "808182" "02bb" "02"),
        (LAST, "", "808192" "02bb03", "808192" "02bb" "92"),
    ],
)  # fmt: skip
def test_loops_follow_each_other(states: str, apply: str, frame: str, out: str) -> None:
    assert made(MEMBERS, states, "", apply, bytes.fromhex(frame), before=LOOPED).hex() == out


def test_the_last_of_no_headers_is_an_error() -> None:
    """P4-16, 8.18: a packet without tags goes to reject (StackOutOfBounds), others pass."""
    program = front_end(written(MEMBERS, LAST, "", "", LOOPED), str(CASES / "x.p4"))
    assert Interpreter(program).run(program.ingress, bytes.fromhex("02bb03"), {}) is None


def test_a_state_is_one_where_no_position_is_asked_for() -> None:
    """The states behind the tags are there once, not once for each number of tags."""

    def states(size: int, text: str) -> int:
        members = MEMBERS.replace("[8]", f"[{size}]")
        return len(front_end(written(members, text, "", "", LOOPED), str(CASES / "x.p4")).ingress.states)

    assert states(8, LOOPS) - states(4, LOOPS) == 4 * 2  # begin and skip
    assert states(8, COUNTS) - states(4, COUNTS) == 4 * 6


# ---- one control at several places ----

ADDS = """
control Adds(in bit<32> by, inout bit<32> sum, out bit<32> before)(bit<32> bias) {
    bit<32> seen = bias;
    action more() { seen = seen + 100; }
    table t { actions = { more; } const default_action = more(); }
    apply {
        before = sum;
        if (by == 0) { return; }
        if (by == 7) { TABLE }
        sum = sum + by + seen;
    }
}
"""


@pytest.mark.parametrize(
    ("apply", "after"),
    [
        # `seen` begins with 1 each time; 4 + 7 + 101 = 112, 112 + 5 + 1 = 118
        ("adds.apply(7, hdr.data.a, hdr.data.b); adds.apply(5, hdr.data.a, hdr.data.c);", (118, 4, 112)),
        # what one use wrote the next one reads: b = 5 + 4 + 1 = 10, then a = 4 + 10 + 1 = 15
        ("adds.apply(hdr.data.a, hdr.data.b, md.x); adds.apply(hdr.data.b, hdr.data.a, md.y);", (15, 10, 6)),
        # the return of one use ends that use alone
        ("adds.apply(0, hdr.data.a, hdr.data.b); adds.apply(1, hdr.data.a, hdr.data.c);", (6, 4, 4)),
        ("adds.apply(sum = hdr.data.a, by = 1, before = md.x); adds.apply(by = 2, before = md.x, sum = hdr.data.b);",
         (6, 8, 6)),
    ],
)  # fmt: skip
def test_a_control_is_applied_several_times(apply: str, after: tuple[int, ...]) -> None:
    assert ran("Adds(1) adds;", apply, before=ADDS.replace("TABLE", "more();"))[3:6] == after


def test_a_table_is_applied_at_several_places_of_which_a_packet_passes_one() -> None:
    apply = "if (hdr.data.kind == 1) { adds.apply(7, hdr.data.c, md.x); } else { adds.apply(7, hdr.data.a, md.x); }"
    before = ADDS.replace("TABLE", "t.apply();")
    assert ran("Adds(1) adds;", apply, before=before)[3:6] == (4, 5, 114)
    assert ran("Adds(1) adds;", apply, (0, 2, 3, 4, 5, 6, 7), before)[3:6] == (112, 5, 6)
    with pytest.raises(P4Error, match="'Ingress.adds.t' is reached twice, or in two orders"):
        ran("Adds(1) adds;", "adds.apply(7, hdr.data.a, md.x); adds.apply(7, hdr.data.b, md.x);", before=before)


def test_uses_of_a_control_share_its_registers() -> None:
    """Packets of kind 1 and others count in one register; headers of an `out` parameter begin invalid."""
    before = """
    control Counts(out headers_t made, inout bit<32> n) {
        Register<bit<32>, bit<8>>(4) r;
        RegisterAction<bit<32>, bit<8>, bit<32>>(r) add = {
            void apply(inout bit<32> v, out bit<32> o) { v = v + 1; o = v; }
        };
        apply { n = add.execute(0); if (made.data.isValid()) { n = 99; } }
    }
    """
    declares = "Counts() counts; headers_t own;"
    apply = "own.data.setValid(); if (hdr.data.kind == 1) { counts.apply(own, hdr.data.a); }"
    apply += " else { counts.apply(own, hdr.data.b); }"
    text = f'#include "include/frame.p4h"\n{before} INGRESS {{ {declares} apply {{ {apply} }} }}\n'
    program = front_end(text + '#include "include/rest.p4h"', str(CASES / "x.p4"))
    assert [r.name for r in program.registers] == ["Ingress.counts.r"]
    switch = Interpreter(program)
    got = [switch.run(program.ingress, DATA.pack(kind, 2, 3, 4, 5, 6, 7), {}) for kind in (1, 2, 1, 2)]
    assert [DATA.unpack(g.deparsed)[3:5] for g in got if g] == [(1, 5), (4, 2), (3, 5), (4, 4)]
    with pytest.raises(P4Error, match="register 'Ingress.counts.r' is accessed twice in one pass"):
        ran(declares, "counts.apply(own, hdr.data.a); counts.apply(own, hdr.data.b);", before=before)


def test_a_control_is_applied_in_one_other() -> None:
    before = """
    control Inner(inout bit<32> x) { apply { x = x + 1; } }
    control First(inout bit<32> x)(Inner inner) { apply { inner.apply(x); } }
    """
    with pytest.raises(P4Error, match="control 'inner' is applied in two controls; make two instances"):
        ran("Inner() inner; First(inner) first;", "inner.apply(hdr.data.a); first.apply(hdr.data.b);", before=before)
    with pytest.raises(P4Error, match="'x' is inout: give a variable"):
        ran("Inner() inner;", "inner.apply(hdr.data.a); inner.apply(32w1);", before=before)


# ---- checksums ----


def words(data: bytes) -> int:
    """RFC 1071: the ones' complement sum of 16-bit words; an odd byte is the high one of the last."""
    total = sum(int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


SUMMED = STACK + "header seven_h { bit<16> csum; bit<32> a; bit<8> b; }  header two_h { bit<16> x; }"
SUM_FRAME = bytes.fromhex("beef01020304f50a0bcc")


@pytest.mark.parametrize(
    ("method", "fields", "wanted"),
    [
        ("add", "hdr.seven", SUM_FRAME[:7]),
        ("add", "{hdr.seven.a, hdr.seven.b}", SUM_FRAME[2:7]),
        ("add", "{hdr.seven.b}", SUM_FRAME[6:7]),
        ("add", "{hdr.seven.b, hdr.seven.a}", SUM_FRAME[6:7] + SUM_FRAME[2:6]),
    ],
)
def test_checksums_over_odd_bytes(method: str, fields: str, wanted: bytes) -> None:
    """In the order of the list, zero behind it; what is subtracted counts inverted."""
    for name, out in ((method, words(wanted)), ("subtract", words(wanted) ^ 0xFFFF)):
        states = f"""Checksum() c;
        state begin {{
            pkt.extract(hdr.seven); c.{name}({fields}); hdr.seven.csum = c.get(); transition accept;
        }}"""
        got = made("seven_h seven;", states, "", "", SUM_FRAME, before=SUMMED)
        assert got == out.to_bytes(2, "big") + SUM_FRAME[2:]


def test_a_checksum_is_brought_up_to_date() -> None:
    """The residue is what neither header contributes, so that a new header's sum with it is the whole's (RFC 1624)."""
    tail = bytes.fromhex("a0b0c0d1e2")
    states = """Checksum() c;
    state begin {
        pkt.extract(hdr.top);
        c.subtract({hdr.top.csum});
        c.subtract({hdr.top.x, hdr.top.y, hdr.top.z});
        c.subtract_all_and_deposit(md.s);
        transition select(hdr.top.z) { 9: more; default: accept; }
    }
    state more { pkt.extract(hdr.more); transition accept; }"""
    members = "top_h top; two_h more;"
    before = "header top_h { bit<16> csum; bit<16> x; bit<8> y; bit<8> z; } header two_h { bit<16> x; }"
    for z, behind in ((8, b""), (9, tail[:2])):
        fields = bytes((0x12, 0x34, 0x56, z))
        csum = words(fields + tail) ^ 0xFFFF
        frame = csum.to_bytes(2, "big") + fields + tail
        got = made(members, states, "", "hdr.top.csum = md.s;", frame, before=before)
        # the sum of what is neither in the first header nor in the second, modulo the two zeros of ones' complement
        rest = words(tail[len(behind) :])
        assert int.from_bytes(got[:2], "big") % 0xFFFF == rest % 0xFFFF
        assert got[2:] == frame[2:]
    with pytest.raises(P4Error, match="a header of an odd number of bytes behind subtract_all_and_deposit"):
        made("top_h top; tag_h more;", states, "", "", frame, before=before + STACK)
    with pytest.raises(P4Error, match="subtract_all_and_deposit takes a field of bit<16>"):
        made(members, states.replace("md.s", "md.x"), "", "", frame, before=before)


# ---- conditions of RegisterActions ----

NAMED = """
Register<bit<8>, bit<8>>(4, 7) r;
RegisterAction<bit<8>, bit<8>, bit<8>>(r) act = {
    void apply(inout bit<8> value, out bit<8> rv) {
        bool low = hdr.data.kind == 1;
        bool high = value + hdr.data.flag == 9;
        rv = this.predicate(low, high);
        if (low && !high) { value = 0; } else if (!low && high) { value = 5; }
        BEHIND
    }
};
"""


@pytest.mark.parametrize(
    ("kind", "flag", "given", "left"),
    [(0, 0, 1, 7), (1, 0, 2, 0), (0, 2, 4, 5), (1, 2, 8, 7)],
)
def test_predicates_of_conditions_with_names(kind: int, flag: int, given: int, left: int) -> None:
    """TNA: 1, 2, 4, 8 for neither, the first, the second, both; and what is named once holds as it was then."""
    text = f'#include "include/frame.p4h"\nINGRESS {{ {NAMED} apply {{ hdr.data.a = (bit<32>)act.execute(0); }} }}\n'
    text += '#include "include/rest.p4h"'
    for behind, after in (("", left), ("value = 9; if (high) { value = 8; }", 8 if given > 2 else 9)):
        program = front_end(text.replace("BEHIND", behind), str(CASES / "x.p4"))
        switch = Interpreter(program)
        done = switch.run(program.ingress, DATA.pack(kind, flag, 3, 4, 5, 6, 7), {})
        assert done is not None and DATA.unpack(done.deparsed)[3] == given
        assert switch.registers[0][0] == [after]
    for profile in ("none", "tofino1"):
        compile_source(text.replace("BEHIND", ""), str(CASES / "x.p4"), profile=profile)


@pytest.mark.parametrize(("field", "taken"), [("capture_tstamp_on_tx", True), ("update_delay_on_tx", False)])
def test_times_of_departure(field: str, taken: bool) -> None:
    """A time that is captured changes no packet; a correction that a port writes into one does."""
    rest = (CASES / "include" / "rest.p4h").read_text()
    assert "oport) { apply {} }" in rest
    text = rest.replace("oport) { apply {} }", f"oport) {{ apply {{ oport.{field} = 1; }} }}")
    text = '#include "include/frame.p4h"\nINGRESS { apply { } }\n' + text
    if taken:
        assert compile_source(text, str(CASES / "x.p4"), profile="none").cpp
    else:
        with pytest.raises(P4Error, match=f"'{field}': the software switch has no clock at its ports"):
            compile_source(text, str(CASES / "x.p4"), profile="none")


def test_intrinsic_fields_are_invalidated() -> None:
    """TNA: as if nothing had been assigned, so that a packet without a port is dropped."""
    text = '#include "include/frame.p4h"\nINGRESS { apply { {} } }\n#include "include/rest.p4h"'
    kind = "ingress_intrinsic_metadata_for_tm_t"
    for field, assigned, nothing in (("ucast_egress_port", 3, 0x1FF), ("mcast_grp_a", 3, 0)):
        for more, value in (("", assigned), (f"invalidate(tm.{field});", nothing)):
            program = front_end(text.replace("{}", f"tm.{field} = 3; {more}"), str(CASES / "x.p4"))
            done = Interpreter(program).run(program.ingress, DATA.pack(1, 2, 3, 4, 5, 6, 7), {})
            assert done is not None and done.field(kind, field) == value
    with pytest.raises(P4Error, match="invalidate takes a field of the intrinsic metadata"):
        ran("", "invalidate(hdr.data.a);")


# ---- hashes ----


@pytest.mark.parametrize(
    "symmetric", ['@symmetric("hdr.data.a", "hdr.data.b")', '@pragma symmetric "hdr.data.a" "hdr.data.b"\n']
)
def test_fields_of_a_symmetric_hash_may_change_places(symmetric: str) -> None:
    """The hash unit's matrix has in each one's place what tells them apart: crc(kind, a ^ b, b ^ a)."""
    declared = f"{symmetric} Hash<bit<32>>(HashAlgorithm_t.CRC32) both; Hash<bit<32>>(HashAlgorithm_t.CRC32) plain;"
    apart = zlib.crc32(bytes((1, *(4 ^ 5).to_bytes(4, "big") * 2)))
    for first, second in (("a", "b"), ("b", "a")):
        given = f"{{ hdr.data.kind, hdr.data.{first}, hdr.data.{second} }}"
        after = ran(declared, f"hdr.data.c = both.get({given}); hdr.data.long = (bit<64>)plain.get({given});")
        assert after[5] == apart != after[6]
    with pytest.raises(P4Error, match="names two fields of one type among the inputs of the hash"):
        ran(declared, "hdr.data.c = both.get({ hdr.data.kind, hdr.data.a });")
    of_no_hash = '@symmetric("hdr.data.a", "hdr.data.b") Counter<bit<32>, bit<8>>(9, CounterType_t.BYTES) c;'
    with pytest.raises(P4Error, match="@symmetric is for a Hash"):
        ran(of_no_hash, "")
