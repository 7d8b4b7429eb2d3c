"""What public TNA programs write: a small program for each, with the packet that follows from its text."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from jumpgate.p4.compiler import P4Error, compile_source, front_end, ir
from jumpgate.p4.compiler.interpret import Interpreter
from jumpgate.p4.compiler.walk import walk
from tests.unit.test_p4_language import CASES, DATA, ran


def written(headers: str, states: str, declares: str, apply: str, before: str = "") -> str:
    """A program with its own headers (members of `own_t`) and states from `begin` on."""
    return f"""
    #include "include/frame.p4h"
    {before}
    struct own_t {{ {headers} }}
    #define headers_t own_t
    parser Own(packet_in pkt, out own_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {{
        state start {{ pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); transition begin; }}
        {states}
    }}
    INGRESS {{ {declares} apply {{ {apply} }} }}
    #define IngressParser Own
    #include "include/rest.p4h"
    """


def made(headers: str, states: str, declares: str, apply: str, frame: bytes, before: str = "") -> bytes:
    """The packet behind such a program; its C++ is made, too."""
    text = written(headers, states, declares, apply, before)
    assert compile_source(text, str(CASES / "x.p4"), profile="none").cpp
    program = front_end(text, str(CASES / "x.p4"))
    done = Interpreter(program).run(program.ingress, frame, {})
    assert done is not None
    return done.deparsed


TAG = "struct tag_t { bit<32> a; bit<32> b; bit<32> c; }"


@pytest.mark.parametrize(
    ("declares", "apply"),
    [
        ("tag_t t;", "t = {c = 7, a = 9, b = 8};"),
        ("tag_t t;", "t = (tag_t){b = 8, c = 7, a = 9};"),
        ("const tag_t T = {c = 7, a = 9, b = 8}; tag_t t;", "t = T; t.b = T.b;"),
        ("action f(in tag_t x) { hdr.data.a = x.a; hdr.data.b = x.b; hdr.data.c = x.c; } tag_t t;",
         "t = {0, 0, 0}; f({c = 7, a = 9, b = 8}); t = {c = hdr.data.c, a = hdr.data.a, b = hdr.data.b};"),
        ("tag_t t;", "t = {8, 9, 7}; t = {a = t.b, b = t.a, c = t.c};"),  # all is read before anything is written
        ("tag_t t;", "t = make(9, 8);"),
    ],
)  # fmt: skip
def test_values_by_name_go_to_their_fields(declares: str, apply: str) -> None:
    before = TAG + "tag_t make(in bit<32> a, in bit<32> b) { return {c = 7, b = b, a = a}; }"
    after = ran(declares, apply + "hdr.data.a = t.a; hdr.data.b = t.b; hdr.data.c = t.c;", before=before)
    assert after == (1, 2, 3, 9, 8, 7, 7)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{c = 7, a = 9, d = 8}", "tag_t has no field 'd'; it has a, b, c"),
        ("{c = 7, a = 9}", "tag_t has 3 fields, the list 2 values"),
        ("{c = 7, a = 9, a = 8}", "two values are for one field"),
        ("{c = 7, 9, 8}", "all by name, or all in order"),
        ("{1, 2, 8w3}", "expected bit<32>, this is bit<8>"),
        ("{1, 2, 4294967296}", "does not fit in bit<32>"),
    ],
)
def test_values_that_do_not_fit_a_struct(value: str, said: str) -> None:
    with pytest.raises(P4Error, match=said):
        ran("tag_t t;", f"t = {value};", before=TAG)


def test_registers_begin_with_values_by_name() -> None:
    program = front_end(
        '#include "include/frame.p4h"\nINGRESS { Register<pair_t, bit<8>>(4, {second = 5, first = 6}) r;'
        "RegisterAction<pair_t, bit<8>, bit<32>>(r) get = {"
        " void apply(inout pair_t v, out bit<32> o) { o = v.first; } };"
        ' apply { hdr.data.a = get.execute(1); } }\n#include "include/rest.p4h"',
        str(CASES / "x.p4"),
    )
    assert program.registers[0].initial == (6, 5)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("mirror.emit(5, {8w1, 2, md.s});", "numbers that are sent need a width"),
        ("mirror.emit<pair_t>(5, {8w1, 2});", "expected bit<32>, this is bit<8>"),
        ("mirror.emit(5, {4w1});", "a mirror carries whole bytes, these are 4 bits"),
        ("mirror.emit(1024, {8w1});", "1024 does not fit in bit<10>"),
        ("mirror.emit(5, {128w1, 128w1, 8w1});", "a mirror carries 32 bytes at most"),
        ("mirror.emit();", "Mirror.emit takes session_id and hdr"),
        ("again.emit({8w1, 2});", "numbers that are sent need a width"),
        ("again.emit({64w1, 8w1});", "a resubmit carries 8 bytes at most"),
        ("digest.pack({1, 2, 3});", "pair_t has 2 fields, the list 3 values"),
        ("digest.pack({8w1, 2});", "expected bit<32>, this is bit<8>"),
    ],
)
def test_what_a_deparser_sends_has_its_types_widths(call: str, said: str) -> None:
    text = f"""
    #define OWN_DEPARSER
    #include "include/frame.p4h"
    INGRESS {{ apply {{ }} }}
    control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
        in ingress_intrinsic_metadata_for_deparser_t dprsr) {{
        Mirror() mirror; Resubmit() again; Digest<pair_t>() digest;
        apply {{ if (dprsr.mirror_type == 1) {{ {call} }} pkt.emit(hdr); }}
    }}
    #include "include/rest.p4h"
    """
    with pytest.raises(P4Error, match=said):
        front_end(text, str(CASES / "x.p4"))


def test_more_kinds_of_digests_than_there_are() -> None:
    digests = "".join(f"Digest<pair_t>() d{i};" for i in range(9))
    text = f"""
    #define OWN_DEPARSER
    #include "include/frame.p4h"
    INGRESS {{ apply {{ }} }}
    control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
        in ingress_intrinsic_metadata_for_deparser_t dprsr) {{ {digests} apply {{ pkt.emit(hdr); }} }}
    #include "include/rest.p4h"
    """
    with pytest.raises(P4Error, match="more than 8 digests"):
        front_end(text, str(CASES / "x.p4"))


@pytest.mark.parametrize("inner", ["control D(inout bit<8> x);", "control D(inout bit<8> x) { apply {} }",
                                   "struct s_t { bit<8> x; }", "typedef bit<8> t;", "extern E { E(); }"])  # fmt: skip
def test_what_is_declared_outside_of_controls_only(inner: str) -> None:
    with pytest.raises(P4Error, match="declares something for the whole program"):
        ran(inner, "hdr.data.a = 1;")


@pytest.mark.parametrize(
    ("declares", "said"),
    [
        ("Register(4) r;", "Register<…> needs its type"),
        ("Hash<int>(HashAlgorithm_t.CRC16) h;", "numbers need a width"),
        ("Hash<bit<16>>(99) h;", "there is no hash algorithm 99"),
        ("tuple<bit<8>, bit<16>> t;", "unknown type 'tuple': declare a struct with its fields"),
        ("RegisterParam<bit<8>>() p;", "a RegisterParam is made with its values"),
        ("Wred<bit<8>, bit<8>>() w;", "a Wred is made with its values"),
    ],
)
def test_externs_without_what_they_need(declares: str, said: str) -> None:
    with pytest.raises(P4Error, match=said):
        ran(declares, "hdr.data.a = 1;")


def test_macros_paste_tokens() -> None:
    before = """
    #define NAME(a, b) a##_##b
    #define FIELD(x) hdr.data.x ## hort
    #define LONG(x, y) \\
        x \\
        y
    """
    after = ran(
        "bit<32> one_two = 9;", "hdr.data.a = NAME(one, two); FIELD(s) = 5; LONG(hdr.data.b =, 8;)", before=before
    )
    assert after == (1, 2, 5, 9, 8, 6, 7)
    apart = "#define LOW(x) hdr.data. ## x ## [7:0]\n#define SUM(a, b) a ## + ## b\n"
    assert ran("", "LOW(a) = SUM(4, 5);", before=apart) == (1, 2, 3, 9, 5, 6, 7)
    with pytest.raises(P4Error, match="'##' stands between two tokens"):
        ran("", "hdr.data.a = BAD(1);", before="#define BAD(a) a ##\n")


def test_macros_make_strings_of_arguments() -> None:
    before = "#define NAMED(n, value) @name(#n) action by_##n() { hdr.data.a = value; }\n"
    assert ran("NAMED(one, 9)", "by_one();", before=before) == (1, 2, 3, 9, 5, 6, 7)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("7 % 4 == 3", True), ("-7 / 2 == -3", True), ("-7 % 2 == -1", True), ("(6 & 3) == 2", True),
        ("6 & 3 == 2", False), ("(4 | 1 ^ 3) == 6", True), ("~0 == -1", True), ("8 / 4 * 2 == 4", True),
    ],
)  # fmt: skip
def test_conditions_compute_as_c_does(condition: str, holds: bool) -> None:
    text = f"\n#if {condition}\n hdr.data.a = 9;\n#endif\n"
    assert ran("", text)[3] == (9 if holds else 4)


def test_a_condition_that_divides_by_zero() -> None:
    with pytest.raises(P4Error, match="divides by zero"):
        ran("", "\n#if 1 % ZERO\n#endif\n", before="#define ZERO 0\n")


def test_lines_go_on_behind_a_backslash() -> None:
    assert ran("", "hdr.data.a = \\\n 9; hdr.data.b \\ \t\r\n = 8;") == (1, 2, 3, 9, 8, 6, 7)
    assert ran("", "SET", before="#define SET hdr.data.a = \\  \n 9;\n") == (1, 2, 3, 9, 5, 6, 7)


def test_truth_of_a_number() -> None:
    assert ran("", "if ((bool) 1) hdr.data.a = 9; if ((bool) 0) hdr.data.b = 9;") == (1, 2, 3, 9, 5, 6, 7)
    with pytest.raises(P4Error, match="cannot be cast to bool"):
        ran("", "if ((bool) 2) hdr.data.a = 9;")


def test_tables_give_variables_to_actions() -> None:
    declares = """
    action add(inout bit<32> to, in bit<32> by, bit<32> more) { to = to + by + more; }
    action skip(inout bit<32> to) { to = 0; }
    table t {
        key = { hdr.data.c : exact; }
        actions = { add(hdr.data.a, hdr.data.b); skip(hdr.data.b); }
        const default_action = skip(hdr.data.b);
        const entries = { 6 : add(hdr.data.a, hdr.data.b, 100); }
    }
    """
    assert ran(declares, "t.apply();") == (1, 2, 3, 109, 5, 6, 7)
    assert ran(declares, "hdr.data.c = 5; t.apply();") == (1, 2, 3, 4, 0, 5, 7)
    with pytest.raises(P4Error, match="arguments of the table's list here, too: hdr.data.b"):
        ran(declares.replace("default_action = skip(hdr.data.b)", "default_action = skip(hdr.data.a)"), "t.apply();")
    with pytest.raises(P4Error, match="parameters with directions come first"):
        ran(declares.replace("in bit<32> by, bit<32> more", "bit<32> more, in bit<32> by"), "t.apply();")
    with pytest.raises(P4Error, match="variables or numbers"):
        ran(declares.replace("add(hdr.data.a, hdr.data.b);", "add(hdr.data.a, hdr.data.b + 1);"), "t.apply();")


@pytest.mark.parametrize("is_sent", [True, False])
def test_headers_that_are_resubmitted_need_no_padding(is_sent: bool) -> None:
    text = f"""
    #define OWN_DEPARSER
    #include "include/frame.p4h"
    header few_t {{ bit<1> one; bit<2> two; }}
    INGRESS {{ apply {{ dprsr.resubmit_type = 1; }} }}
    control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
        in ingress_intrinsic_metadata_for_deparser_t dprsr) {{
        Resubmit() again;
        few_t few;
        apply {{ if (dprsr.resubmit_type == 1) {{ {"again.emit(few);" if is_sent else ""} }} pkt.emit(hdr); }}
    }}
    #include "include/rest.p4h"
    """
    if not is_sent:
        with pytest.raises(P4Error, match="header few_t has 3 bits; whole bytes are needed"):
            front_end(text, str(CASES / "x.p4"))
        return
    program = front_end(text, str(CASES / "x.p4"))
    sent = [s for s in walk(program.ingress.deparser) if isinstance(s, ir.Resubmit)]
    assert [[v.type.width for v in s.fields] for s in sent] == [[1, 2, 5]]


@pytest.mark.parametrize("use", ["pkt.emit(few);", "mirror.emit<few_t>(5, few);", "digest.pack(few);"])
def test_headers_that_are_resubmitted_go_nowhere_else_without_padding(use: str) -> None:
    text = f"""
    #define OWN_DEPARSER
    #include "include/frame.p4h"
    header few_t {{ bit<1> one; bit<2> two; }}
    INGRESS {{ apply {{ dprsr.resubmit_type = 1; }} }}
    control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
        in ingress_intrinsic_metadata_for_deparser_t dprsr) {{
        Resubmit() again; Mirror() mirror; Digest<few_t>() digest;
        few_t few;
        apply {{ if (dprsr.resubmit_type == 1) {{ again.emit(few); }} {use} }}
    }}
    #include "include/rest.p4h"
    """
    with pytest.raises(P4Error, match="few_t is not whole bytes, so it can only be resubmitted"):
        front_end(text, str(CASES / "x.p4"))


def test_resubmitted_headers_without_padding_are_in_no_packet() -> None:
    states = "state begin { pkt.extract(hdr.few); transition accept; }"
    with pytest.raises(P4Error, match="few_t is not whole bytes, so it can only be resubmitted"):
        front_end(written("few_t few;", states, "", "", "header few_t { bit<3> one; }"), str(CASES / "x.p4"))


def test_sizes_of_headers() -> None:
    assert ran("", "hdr.data.a = sizeInBytes(hdr.data); hdr.data.b = sizeInBits(hdr.data);")[3:5] == (24, 192)


def test_pragmas_end_with_their_line() -> None:
    declares = """
    @pragma stage 3
    @pragma use_hash_action 1 ; { (
    action a() { hdr.data.a = 9; }
    @pragma stage 2
    table t { key = { hdr.data.kind: exact; } actions = { a; } const default_action = a(); }
    """
    assert ran(declares, "@pragma unroll\nt.apply();") == (1, 2, 3, 9, 5, 6, 7)


def test_register_actions_that_give_nothing_out() -> None:
    declares = """
    Register<bit<32>, bit<8>>(4) r;
    RegisterAction<bit<32>, bit<8>, void>(r) put = { void apply(inout bit<32> v) { v = hdr.data.a; } };
    """
    assert ran(declares, "put.execute(2); hdr.data.a = 1;") == (1, 2, 3, 1, 5, 6, 7)


def test_structs_in_headers() -> None:
    frame = bytes.fromhex("0102030405060708 aa")
    out = made(
        "outer_h outer;", "state begin { pkt.extract(hdr.outer); transition accept; }", "",
        "hdr.outer.in_.b = hdr.outer.in_.b + 1; hdr.outer.in_.deep.c = 9;", frame,
        before="struct deep_t { bit<8> c; } struct in_t { bit<16> b; deep_t deep; }"
               "header outer_h { bit<8> a; in_t in_; bit<32> d; }",
    )  # fmt: skip
    assert out == bytes.fromhex("0102040905060708 aa")


def test_headers_of_flexible_structs_are_padded() -> None:
    out = made(
        "bridge_h bridge;", "state begin { pkt.extract(hdr.bridge); transition accept; }", "",
        "hdr.bridge.a = 7; hdr.bridge.in_.c = 1;", bytes.fromhex("01a0bb"),
        before="@flexible struct in_t { bit<3> b; bit<1> c; } header bridge_h { bit<8> a; in_t in_; }",
    )  # fmt: skip
    assert out == bytes.fromhex("07b0bb")
    with pytest.raises(P4Error, match="bridge_h has 12 bits; whole bytes are needed"):
        made("bridge_h bridge;", "state begin { transition accept; }", "", "", b"",
             before="struct in_t { bit<4> b; } header bridge_h { bit<8> a; in_t in_; }")  # fmt: skip


STACK = "header tag_h { bit<8> x; }"
STATES = """state begin {
    pkt.extract(hdr.tags.next);
    transition select(hdr.tags.last.x) { 0x10 .. 0xff: begin; default: accept; }
}"""


@pytest.mark.parametrize(
    ("apply", "out"),
    [
        ("hdr.tags.push_front(1); hdr.tags[0].setValid(); hdr.tags[0].x = 0xee;", "ee1120" "09"),
        ("hdr.tags.push_front(2);", "11" "09"),
        ("hdr.tags.push_front(9);", "09"),
        ("hdr.tags.pop_front(1);", "2003" "09"),
        ("hdr.tags.pop_front(2); hdr.tags[1].setValid(); hdr.tags[1].x = 7;", "0307" "09"),
        ("hdr.tags.pop_front(0);", "112003" "09"),
    ],
)  # fmt: skip
def test_stacks_move(apply: str, out: str) -> None:
    assert made("tag_h[3] tags;", STATES, "", apply, bytes.fromhex("11200309"), before=STACK).hex() == out


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("hdr.tags[0] == hdr.tags[1]", False),
        ("hdr.tags[0] != hdr.tags[1]", True),
        ("hdr.tags[0] == hdr.tags[2]", False),  # one of them is not valid
        ("hdr.tags[2] == hdr.tags[3]", True),  # neither is
        ("hdr.tags[1] == {0x03}", True),
        ("p == q", False),
        ("p != {first = 1, second = 3}", True),
        ("p == {second = 2, first = 1}", True),
    ],
)
def test_headers_and_structs_are_compared(condition: str, holds: bool) -> None:
    out = made(
        "tag_h[4] tags;", STATES, "", f"pair_t p = {{1, 2}}; pair_t q = {{1, 3}};"
        f"if ({condition}) {{ hdr.tags[0].x = 0; }}",
        bytes.fromhex("1103"), before=STACK,
    )  # fmt: skip
    assert out.hex() == ("0003" if holds else "1103")


def test_choices_between_numbers_have_the_width_that_is_needed() -> None:
    apply = "hdr.data.a = hdr.data.kind == 1 ? 7 : 8; hdr.data.b = 1 + (hdr.data.kind == 1 ? hdr.data.c : 8);"
    assert ran("", apply) == (1, 2, 3, 7, 7, 6, 7)


def test_of_a_choice_only_one_call_happens() -> None:
    declares = """
    Register<bit<32>, bit<8>>(4, 5) r;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) one = {
        void apply(inout bit<32> v, out bit<32> o) { v = v + 1; o = v; }
    };
    """
    after = ran(declares, "hdr.data.a = hdr.data.kind == 2 ? one.execute(0) : 9; ")
    assert after == (1, 2, 3, 9, 5, 6, 7)


def test_counters_adjust_bytes() -> None:
    declares = "Counter<bit<32>, bit<8>>(4, CounterType_t.BYTES) c; DirectCounter<bit<32>>(CounterType_t.BYTES) d;" \
        "action a() { d.count(adjust_byte_count = 4); } table t { key = { hdr.data.kind: exact; } actions = { a; }" \
        "const default_action = a(); counters = d; }"  # fmt: skip
    assert ran(declares, "c.count(1, 4); c.count(adjust_byte_count = 14, index = 2); t.apply();") == (
        1,
        2,
        3,
        4,
        5,
        6,
        7,
    )


def test_headers_are_skipped() -> None:
    out = made(
        "tag_h tag;", "state begin { pkt.extract<skip_h>(_); pkt.extract(hdr.tag); transition accept; }", "",
        "hdr.tag.x = 9;", bytes.fromhex("01020304"), before=STACK + "header skip_h { bit<16> a; }",
    )  # fmt: skip
    assert out.hex() == "0904"


def test_key_sets_begin_with_casts() -> None:
    declares = """
    action put(bit<32> x) { hdr.data.a = x; }
    table t {
        key = { hdr.data.short: range; }
        actions = { put; }
        const entries = {
            (bit<16>)-5 .. (bit<16>)-3 : put(9);
            (bit<16>)7 : put(8);
            (5 .. 6) : put(7);
        }
    }
    """
    for short, a in ((0xFFFA, 4), (0xFFFB, 9), (0xFFFD, 9), (0xFFFE, 4), (7, 8), (6, 7)):
        assert ran(declares, "t.apply();", (1, 2, short, 4, 5, 6, 7)) == (1, 2, short, a, 5, 6, 7)


def test_actions_of_a_register_read_its_bits_signed_or_not() -> None:
    declares = """
    Register<int<16>, bit<8>>(4, -2) r;
    RegisterAction<int<16>, bit<8>, bit<16>>(r) signed = {
        void apply(inout int<16> v, out bit<16> o) { o = 1; if (v < 0) { o = 2; } v = v + 1; }
    };
    RegisterAction<bit<16>, bit<8>, bit<16>>(r) plain = {
        void apply(inout bit<16> v, out bit<16> o) { o = v; }
    };
    """
    apply = (
        "if (hdr.data.kind == 1) { hdr.data.short = signed.execute(1); } else { hdr.data.short = plain.execute(1); }"
    )
    assert ran(declares, apply) == (1, 2, 2, 4, 5, 6, 7)
    assert ran(declares, apply, (0, 2, 3, 4, 5, 6, 7)) == (0, 2, 0xFFFE, 4, 5, 6, 7)
    with pytest.raises(P4Error, match="the value's type is not that of the register"):
        ran(declares.replace("inout bit<16>", "inout bit<8>").replace("o = v;", "o = 0;"), apply)


def test_controls_have_instances_of_one_name() -> None:
    """Each with registers of its own."""
    before = """
    control Counts(inout bit<32> x) {
        Register<bit<32>, bit<8>>(4) r;
        RegisterAction<bit<32>, bit<8>, bit<32>>(r) add = {
            void apply(inout bit<32> v, out bit<32> o) { v = v + 1; o = v; }
        };
        apply { x = add.execute(0); }
    }
    control First(inout headers_t hdr) { Counts() counts; apply { counts.apply(hdr.data.a); } }
    control Second(inout headers_t hdr) { Counts() counts; apply { counts.apply(hdr.data.b); } }
    """
    declares = "First() first; Second() second;"
    assert ran(declares, "first.apply(hdr); second.apply(hdr);", before=before) == (1, 2, 3, 1, 1, 6, 7)


COUNTED = "ParserCounter() left;"
OPTIONS = STACK + "header len_h { bit<8> n; }  header two_h { bit<16> x; }  header three_h { bit<24> x; }"
ONE_BY_ONE = """state begin {
    pkt.extract(hdr.len);
    left.set(hdr.len.n);
    transition select(left.is_zero()) { true: accept; false: more; }
}
state more {
    left.decrement(1);
    pkt.extract(hdr.tags.next);
    transition select(left.is_zero()) { true: accept; false: more; }
}"""
BY_KIND = """state begin { pkt.extract(hdr.len); left.set(hdr.len.n); transition next; }
state next {
    transition select(left.is_zero(), left.is_negative(), pkt.lookahead<bit<8>>()) {
        (true, _, _): accept;
        (_, true, _): broken;
        (_, _, 2): two;
        (_, _, 3): three;
    }
}
state two { pkt.extract(hdr.two); left.decrement(2); transition next; }
state three { pkt.extract(hdr.three); left.increment(1); left.decrement(4); transition next; }
state broken { hdr.len.n = 0xff; transition accept; }"""


@pytest.mark.parametrize(
    ("headers", "states", "apply", "frame", "out"),
    [
        ("len_h len; tag_h[3] tags;", ONE_BY_ONE, "hdr.tags[0].x = 0x11;", "00aabbcc", "00aabbcc"),
        ("len_h len; tag_h[3] tags;", ONE_BY_ONE, "hdr.tags[1].x = 0x11;", "02aabbcc", "02aa11cc"),
        ("len_h len; tag_h[3] tags;", ONE_BY_ONE, "hdr.tags[2].x = 0x11;", "03aabbccdd", "03aabb11dd"),
        # options of two and of three bytes, as many as the length says
        ("len_h len; two_h two; three_h three;", BY_KIND, "hdr.two.x = 9;", "050201030102aa", "050009030102aa"),
        ("len_h len; two_h two; three_h three;", BY_KIND, "hdr.three.x = 9;", "030301020201", "030000090201"),
        ("len_h len; two_h two; three_h three;", BY_KIND, "", "0402010301aacc", "ff02010301aacc"),
    ],
)
def test_parsers_count(headers: str, states: str, apply: str, frame: str, out: str) -> None:
    states = COUNTED + states
    assert made(headers, states, "", apply, bytes.fromhex(frame), before=OPTIONS).hex() == out


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("left.set(16w7);", "set to bit<8> at most, this is bit<16>"),
        ("left.set(256);", "256 does not fit in bit<8>"),
        ("left.decrement(256);", "counts by 0 to 255, not by 256"),
        ("left.decrement(hdr.len.n);", "must be known when the program is compiled"),
        ("left.set(hdr.len.n, 15, 2, 7, 0);", "ParserCounter.set with 5 arguments is not supported"),
    ],
)
def test_counts_that_parsers_have_not(call: str, said: str) -> None:
    states = COUNTED + f"state begin {{ pkt.extract(hdr.len); {call} transition accept; }}"
    with pytest.raises(P4Error, match=said):
        made("len_h len;", states, "", "", b"", before=OPTIONS)


def test_folders_to_include_from(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "far.p4h").write_text("const bit<32> FAR = 9;\n")
    text = '#include "include/frame.p4h"\n#include <far.p4h>\nINGRESS { apply { hdr.data.a = FAR; } }\n'
    text += '#include "include/rest.p4h"'
    with pytest.raises(P4Error, match="cannot find 'far.p4h'"):
        front_end(text, str(CASES / "x.p4"))
    program = front_end(text, str(CASES / "x.p4"), includes=(tmp_path / "far",))
    done = Interpreter(program).run(program.ingress, DATA.pack(1, 2, 3, 4, 5, 6, 7), {})
    assert done is not None and struct.unpack(">I", done.deparsed[4:8]) == (9,)
