"""What TNA programs write beside the plain: arguments by name, values given to controls, externs that no one sets."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from jumpgate.p4.compiler import P4Error, compile_source, front_end
from jumpgate.p4.compiler.elaboration.externs import CRCS
from jumpgate.p4.compiler.interpret import Interpreter, crc

CASES = Path(__file__).resolve().parents[1] / "cases" / "p4"
#: kind, flag, short, a, b, c, long of tests/cases/p4/include/frame.p4h
DATA = struct.Struct(">BBHIIIQ")


def ran(declares: str, apply: str, data: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7), before: str = "") -> tuple[int, ...]:
    """The packet behind a program whose ingress is this; its C++ is made, too."""
    text = (
        f'#include "include/frame.p4h"\n{before}\nINGRESS {{\n{declares}\napply {{ {apply} }}\n}}\n'
        '#include "include/rest.p4h"\n'
    )
    assert compile_source(text, str(CASES / "x.p4"), profile="none").cpp
    program = front_end(text, str(CASES / "x.p4"))
    done = Interpreter(program).run(program.ingress, DATA.pack(*data), {})
    assert done is not None
    return DATA.unpack(done.deparsed)


def test_arguments_by_name() -> None:
    after = ran(
        """
        action both(in bit<32> x, in bit<32> y) { hdr.data.a = x; hdr.data.b = y; }
        Register<bit<32>, bit<8>>(initial_value = 40, size = 256) sum;
        RegisterAction<bit<32>, bit<8>, bit<32>>(reg = sum) add = {
            void apply(inout bit<32> value, out bit<32> rv) { value = value + 2; rv = value; }
        };
        Hash<bit<16>>(algo = HashAlgorithm_t.CRC16) all;
        action put(bit<8> x, bit<16> y) { hdr.data.flag = x; hdr.data.short = y; }
        table t { key = { hdr.data.kind: exact; } actions = { put; } const entries = { 1: put(y = 9, x = 8); } }
        """,
        "both(y = 20, x = 10); hdr.data.c = add.execute(index = hdr.data.kind); t.apply();"
        "hdr.data.long = (bit<64>)all.get(data = { hdr.data.kind });",
    )
    assert after == (1, 8, 9, 10, 20, 42, crc(CRCS["CRC16"], b"\1"))


def test_controls_are_made_with_values() -> None:
    before = """
    control Adds(inout headers_t hdr)(bit<32> much, bool twice) {
        apply { hdr.data.a = hdr.data.a + much; if (twice) { hdr.data.b = hdr.data.b + much; } }
    }
    """
    after = ran(
        "Adds(100, false) one; Adds(twice = true, much = 1000) two;", "one.apply(hdr); two.apply(hdr);", before=before
    )
    assert after == (1, 2, 3, 1104, 1005, 6, 7)


def test_constructors_have_defaults_and_take_controls() -> None:
    before = """
    control Change(inout headers_t hdr);
    control Adds(inout headers_t hdr)(bit<32> much = 40 + 2) { apply { hdr.data.a = hdr.data.a + much; } }
    control Twice(inout headers_t hdr)(Change change, bool again = true) {
        apply { change.apply(hdr); if (again) { hdr.data.b = 2 * hdr.data.b; } }
    }
    """
    after = ran("Adds() adds; Twice(adds) twice;", "twice.apply(hdr);", before=before)
    assert after == (1, 2, 3, 46, 10, 6, 7)


def test_declarations_of_the_architecture_are_known() -> None:
    """Programs bring their own copy of tna.p4, or name its parts as p4c does."""
    before = """
    #include <tofino1_specs.p4>
    #include <tofino1_base.p4>
    #include <tofino1_arch.p4>
    extern Counter<W, I> { Counter(bit<32> size, CounterType_t type); void count(in I index); }
    extern T max<T>(in T t1, in T t2);
    parser IngressParserT<H, M>(packet_in pkt, out H hdr, @optional out ingress_intrinsic_metadata_t ig);
    package Other<H, M>(IngressParserT<H, M> parser0, @optional IngressParserT<H, M> parser1);
    """
    after = ran("", "hdr.data.a = max(hdr.data.b, 9);", before=before)
    assert after == (1, 2, 3, 9, 5, 6, 7)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("extern Mine { Mine(); } Mine() mine;", "Mine"),
        ("extern Mine { Mine(); ", "the 'extern' has no end"),
        ("control c<T>(inout T x) { apply {} }", "generic parsers and controls are not supported"),
    ],
)
def test_what_the_architecture_has_not(before: str, said: str) -> None:
    with pytest.raises(P4Error, match=said):
        ran("", "", before=before)


def test_a_short_crc_is_repeated() -> None:
    after = ran("Hash<bit<32>>(HashAlgorithm_t.CRC16) wide;", "hdr.data.a = wide.get({ hdr.data.kind });")
    once = crc(CRCS["CRC16"], b"\1")
    assert after[3] == once << 16 | once


def test_meters_that_nobody_set_let_all_pass() -> None:
    after = ran(
        """
        Meter<bit<8>>(256, MeterType_t.BYTES) meter;
        DirectMeter(MeterType_t.PACKETS) direct;
        Lpf<bit<32>, bit<8>>(size = 256) filter;
        Wred<bit<32>, bit<8>>(256, 1, 5) drops;
        action colour() { hdr.data.kind = direct.execute(); }
        table t { key = { hdr.data.flag: exact; } actions = { colour; } const entries = { 2: colour(); } }
        """,
        """
        hdr.data.flag = meter.execute(hdr.data.kind); hdr.data.a = filter.execute(hdr.data.b, hdr.data.kind);
        hdr.data.c = (bit<32>)drops.execute(hdr.data.b, hdr.data.kind);
        if (hdr.data.flag == (bit<8>)MeterColor_t.GREEN) { hdr.data.flag = 2; }
        t.apply();
        """,
        (9, 9, 9, 9, 9, 9, 9),
    )
    assert after == (0, 2, 9, 9, 9, 5, 9)


def test_tables_with_action_profiles_have_their_actions_in_the_entries() -> None:
    after = ran(
        """
        ActionProfile(64) members;
        Hash<bit<16>>(HashAlgorithm_t.CRC16) spread;
        ActionSelector(action_profile = members, hash = spread, mode = SelectorMode_t.FAIR, max_group_size = 8,
                       num_groups = 4) groups;
        action put(bit<8> x) { hdr.data.flag = x; }
        table t {
            key = { hdr.data.kind: exact; hdr.data.a: selector; }
            actions = { put; }
            const entries = { 1: put(7); }
            implementation = groups;
        }
        """,
        "t.apply();",
    )
    assert after == (1, 7, 3, 4, 5, 6, 7)


def test_ports_have_no_metadata_and_value_sets_are_empty_at_first() -> None:
    text = """
    #include "include/frame.p4h"
    struct port_t { bit<16> group; bit<48> rest; }
    parser Other(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
        value_set<bit<8>>(4) kinds;
        port_t port;
        state start {
            pkt.extract(ig);
            port = port_metadata_unpack<port_t>(pkt);
            pkt.extract(hdr.data);
            md.s = port.group;
            transition select(hdr.data.kind) { kinds: first; default: second; }
        }
        state first { md.x = 1; transition accept; }
        state second { md.x = 2; transition accept; }
    }
    INGRESS { apply { hdr.data.short = md.s; hdr.data.a = md.x; } }
    #define IngressParser Other
    #include "include/rest.p4h"
    """
    program = front_end(text, str(CASES / "x.p4"))
    done = Interpreter(program).run(program.ingress, DATA.pack(1, 2, 3, 4, 5, 6, 7), {})
    assert done is not None and DATA.unpack(done.deparsed) == (1, 2, 0, 2, 5, 6, 7)


@pytest.mark.parametrize(
    ("declared", "case", "said"),
    [
        ("value_set<bit<16>>(4) kinds;", "kinds", "the members of value set 'Other.kinds' are of bit<16>"),
        ("value_set<bit<8>>(0) kinds;", "kinds", "of 1 to 65536 members"),
        ("value_set<bit<8>>(251) kinds;", "kinds", "the ingress parser takes 257 rows"),
    ],
)
def test_value_sets_that_do_not_fit(declared: str, case: str, said: str) -> None:
    text = f"""
    #include "include/frame.p4h"
    parser Other(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {{
        {declared}
        state start {{
            pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); pkt.extract(hdr.data);
            transition select(hdr.data.kind) {{ {case}: first; 1: second; default: accept; }}
        }}
        state first {{ md.x = 1; transition select(hdr.data.flag) {{ 1: second; 2: second; default: accept; }} }}
        state second {{ md.x = 2; transition accept; }}
    }}
    INGRESS {{ apply {{ hdr.data.a = md.x; tm.ucast_egress_port = 2; }} }}
    #define IngressParser Other
    #include "include/rest.p4h"
    """
    with pytest.raises(P4Error, match=said):
        compile_source(text, str(CASES / "x.p4"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("both(x = 1, 2);", "given all by name, or all in order"),
        ("both(x = 1, z = 2);", "there is no parameter 'z'; there are x, y"),
        ("both(x = 1, x = 2);", "two arguments are for one parameter"),
        ("both(y = 2);", "no argument is for parameter 'x'"),
    ],
)
def test_names_that_are_not_the_parameters(call: str, said: str) -> None:
    with pytest.raises(P4Error, match=said):
        ran("action both(in bit<32> x, in bit<32> y) { hdr.data.a = x; hdr.data.b = y; }", call)


def test_what_follows_from_a_mistake_is_not_told() -> None:
    """The register is wrong; its action, the action's use and the table's are not."""
    declares = """
    Register<bit<24>, bit<8>>(256, 0) odd;
    RegisterAction<bit<24>, bit<8>, bit<24>>(odd) add = { void apply(inout bit<24> v, out bit<24> rv) { rv = v; } };
    action use() { hdr.data.a = (bit<32>)add.execute(hdr.data.kind); }
    table t { key = { hdr.data.kind: exact; } actions = { use; } }
    """
    with pytest.raises(P4Error) as caught:
        ran(declares, "t.apply(); hdr.data.b = (bit<32>)add.execute(1);")
    assert [p.message for p in caught.value.problems] == [
        "a register's numbers have 1, 8, 16 or 32 bits (64 on Tofino 2), equal in a pair"
    ]


def ones(*words: int) -> int:
    """Their sum in ones' complement."""
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@pytest.mark.parametrize("damaged", [False, True])
def test_parsers_add_up_checksums(damaged: bool) -> None:
    """`short` makes all words sum to zero; of what is subtracted the complement is left."""
    text = """
    #include "include/frame.p4h"
    parser Other(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
        Checksum() all;
        Checksum() rest;
        bool wrong;
        state start {
            pkt.extract(ig);
            pkt.advance(PORT_METADATA_SIZE);
            pkt.extract(hdr.data);
            all.add(hdr.data);
            wrong = all.verify();
            rest.subtract({ hdr.data.short, hdr.data.a });
            md.s = rest.get();
            transition select(wrong) { true: bad; default: accept; }
        }
        state bad { md.x = 1; transition accept; }
    }
    INGRESS { apply { hdr.data.b = md.x; hdr.data.c = (bit<32>)md.s; } }
    #define IngressParser Other
    #include "include/rest.p4h"
    """
    assert compile_source(text, str(CASES / "x.p4"), profile="none").cpp
    program = front_end(text, str(CASES / "x.p4"))
    fields = [1, 2, 0, 0x12345, 5, 6, 7 << 40 | 9]
    words = struct.unpack(">12H", DATA.pack(*fields))
    fields[2] = ones(*words) ^ 0xFFFF ^ damaged
    done = Interpreter(program).run(program.ingress, DATA.pack(*fields), {})
    assert done is not None
    after = DATA.unpack(done.deparsed)
    assert after[4] == damaged
    assert after[5] == ones(fields[2] ^ 0xFFFF, 0xFFFF ^ 1, 0xFFFF ^ 0x2345)


def test_a_checksum_of_zero_may_travel_as_ones() -> None:
    text = """
    #include "include/frame.p4h"
    INGRESS { apply { } }
    control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                            in ingress_intrinsic_metadata_for_deparser_t dprsr) {
        Checksum() some;
        apply {
            hdr.data.short = some.update({ hdr.data.a }, true);
            pkt.emit(hdr);
        }
    }
    #define OWN_DEPARSER
    #include "include/rest.p4h"
    """
    program = front_end(text, str(CASES / "x.p4"))
    for a, wanted in ((0x0000FFFF, 0xFFFF), (0x00010002, 0xFFFC)):
        done = Interpreter(program).run(program.ingress, DATA.pack(1, 2, 3, a, 5, 6, 7), {})
        assert done is not None and DATA.unpack(done.deparsed)[2] == wanted


def test_stacks_are_copied_and_registers_have_parameters() -> None:
    before = """
    header one_h { bit<32> v; }
    struct both_t { one_h[2] stack; }
    control Fills(in both_t given, out bit<32> sum) { apply { sum = given.stack[0].v + given.stack[1].v; } }
    """
    after = ran(
        """
        both_t both;
        Fills() fills;
        RegisterParam<bit<32>>(30) much;
        Register<bit<32>, bit<8>>(256, 5) cells;
        RegisterAction<bit<32>, bit<8>, bit<32>>(cells) add = {
            void apply(inout bit<32> value, out bit<32> rv) { value = value + much.read(); rv = value; }
        };
        """,
        "both.stack[0].v = hdr.data.a; both.stack[1].v = hdr.data.b; fills.apply(both, hdr.data.c);"
        "hdr.data.b = add.execute(hdr.data.kind);",
        before=before,
    )
    assert after == (1, 2, 3, 4, 35, 9, 7)


OPTIONS = """
    #include "include/frame.p4h"
    header options_h { bit<8> bytes; varbit<32> rest; }
    struct all_t { options_h options; data_h data; }
    #define headers_t all_t
    parser Other(packet_in pkt, out all_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
        state start {
            pkt.extract(ig);
            pkt.advance(PORT_METADATA_SIZE);
            bit<8> length = pkt.lookahead<bit<8>>();
            pkt.extract(hdr.options, (bit<32>)length << 3);
            md.s = (bit<16>)length;
            transition select(length) { 9: reject; default: more; }
        }
        state more { pkt.extract(hdr.data); transition accept; }
    }
    INGRESS { apply { APPLY } }
    #define IngressParser Other
    #include "include/rest.p4h"
"""


@pytest.mark.parametrize("length", range(6))
@pytest.mark.parametrize(
    ("apply", "left"),
    [("", 2), ("hdr.options.setInvalid();", 0), ("hdr.options.setInvalid(); hdr.options.setValid();", 1)],
)
def test_a_varbit_has_as_many_bytes_as_were_extracted(length: int, apply: str, left: int) -> None:
    """`left`: of the header all, its fixed part, nothing. More bytes than the field has: the parser gives up."""
    text = OPTIONS.replace("APPLY", apply + "hdr.data.short = md.s; hdr.data.a = hdr.options.minSizeInBytes();")
    assert compile_source(text, str(CASES / "x.p4"), profile="none").cpp
    program = front_end(text, str(CASES / "x.p4"))
    options = bytes((length, *range(10, 10 + length)))
    done = Interpreter(program).run(program.ingress, options + DATA.pack(1, 2, 3, 4, 5, 6, 7) + b"rest", {})
    if length > 4:
        assert done is None
        return
    assert done is not None
    kept = (b"", options[:1], options)[left]
    assert done.deparsed == kept + DATA.pack(1, 2, length, 1, 5, 6, 7) + b"rest"


@pytest.mark.parametrize(
    ("header", "apply", "said"),
    [
        ("varbit<12> rest;", "", "varbit<12>: whole bytes are possible, up to 2048 bits"),
        ("varbit<8> rest; bit<8> last;", "", "a varbit is the last field of its header"),
        ("varbit<8> rest;", "hdr.data.short = sum.get({ hdr.options.rest });", "it is not possible in a list"),
        ("varbit<8> rest;", "hdr.data.short = sum.get({ hdr.options });", "it is not possible in a list"),
        ("varbit<8> rest;", "hdr.data.a = hdr.options.rest + 1;", "stackvalue"),
    ],
)
def test_what_a_varbit_is_not_for(header: str, apply: str, said: str) -> None:
    text = OPTIONS.replace("varbit<32> rest;", header).replace(
        "{ apply { APPLY }", f"{{ Hash<bit<16>>(HashAlgorithm_t.CRC16) sum; apply {{ {apply} }}"
    )
    with pytest.raises(P4Error, match=said):
        front_end(text, str(CASES / "x.p4"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("pkt.extract(hdr.options);", "extracted with the bits that this one has"),
        ("pkt.extract(hdr.data, 8);", "a length for a header with a varbit only"),
    ],
)
def test_lengths_belong_to_varbits(call: str, said: str) -> None:
    text = OPTIONS.replace("pkt.extract(hdr.options, (bit<32>)length << 3);", call).replace("APPLY", "")
    with pytest.raises(P4Error, match=said):
        front_end(text, str(CASES / "x.p4"))


def test_flexible_headers_are_padded_and_intrinsic_metadata_may_travel() -> None:
    """Both as programs bridge what egress is to know of ingress; padding is zero and no part of lists."""
    text = """
    #include "include/frame.p4h"
    header bridge_h { bit<8> kind; @flexible bit<3> low; @flexible bit<10> high; }
    struct all_t { bridge_h bridge; ingress_intrinsic_metadata_t copy; data_h data; }
    #define headers_t all_t
    parser Other(packet_in pkt, out all_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
        state start {
            pkt.extract(ig);
            pkt.advance(PORT_METADATA_SIZE);
            pkt.extract(hdr.copy);
            pkt.extract(hdr.data);
            transition accept;
        }
    }
    INGRESS {
        apply { hdr.bridge.setValid(); hdr.bridge = { 9, 5, 700 }; hdr.data.short = (bit<16>)hdr.copy.ingress_port; }
    }
    #define IngressParser Other
    #include "include/rest.p4h"
    """
    program = front_end(text, str(CASES / "x.p4"))
    copy = (77 << 48 | 123).to_bytes(8, "big")
    done = Interpreter(program).run(program.ingress, copy + DATA.pack(1, 2, 3, 4, 5, 6, 7), {})
    assert done is not None
    bridge = bytes((9,)) + (5 << 13 | 700 << 3).to_bytes(2, "big")
    assert done.deparsed == bridge + copy + DATA.pack(1, 2, 77, 4, 5, 6, 7)


def test_a_header_is_flexible_as_a_whole() -> None:
    before = "@flexible header odd_h { bit<3> low; bit<10> high; } struct odd_t { odd_h odd; }"
    after = ran("odd_t o;", "o.odd.setValid(); o.odd.high = 700; hdr.data.short = (bit<16>)o.odd.high;", before=before)
    assert after == (1, 2, 700, 4, 5, 6, 7)


def test_intrinsic_metadata_come_once() -> None:
    text = """
    #include "include/frame.p4h"
    parser Other(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
        state start { pkt.extract(ig); pkt.extract(ig); transition accept; }
    }
    INGRESS { apply {} }
    #define IngressParser Other
    #include "include/rest.p4h"
    """
    with pytest.raises(P4Error, match="the intrinsic metadata come first, once"):
        front_end(text, str(CASES / "x.p4"))


@pytest.mark.parametrize("named", ["pipe, other", "Ingress()", "pipe, pipe, pipe, pipe, pipe"])
def test_a_switch_takes_pipelines(named: str) -> None:
    rest = (CASES / "include" / "rest.p4h").read_text().replace("Switch(pipe)", f"Switch({named})")
    with pytest.raises(P4Error, match="Switch takes Pipelines by their names, 4 at most"):
        front_end(f'#include "include/frame.p4h"\nINGRESS {{ apply {{}} }}\n{rest}', str(CASES / "x.p4"))


def test_type_is_a_name_like_others() -> None:
    after = ran(
        "Register<kind_t, bit<8>>(4) kinds; action type(bit<8> apply) { hdr.data.flag = apply; }",
        "kind_t found; found.type = 8; found.key = 2; type(found.type + found.key);",
        before="struct kind_t { bit<8> type; bit<8> key; }",
    )
    assert after == (1, 10, 3, 4, 5, 6, 7)
