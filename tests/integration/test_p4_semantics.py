"""Generated C++ against the interpreter of the typed program: expressions, parsers, tables, registers, hashes."""

from __future__ import annotations

import os
import pickle
import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from jumpgate.p4.compiler import compile_source
from jumpgate.p4.switch import library
from jumpgate.p4.switch.switch import Switch
from tests.support.p4_random import (
    FIELDS,
    IN_PORT,
    STATES,
    Expressions,
    Headers,
    Parsing,
    Statements,
    check,
    frames_of,
    source,
)

EXPRESSIONS = 50
BLOCKS = 25
BATCHES = settings(
    max_examples=4, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)

# ---- expressions ----


def batch(draws: random.Random, count: int = EXPRESSIONS) -> str:
    made, headers = Expressions(draws, FIELDS), Headers()
    lines = [line for _ in range(count) for line in headers.add([made.any(4)])]
    return source(headers=headers.text, states=STATES, apply="\n".join(lines))


@seed(11)
@BATCHES
@given(st.integers(0, 1 << 32))
def test_random_expressions(start: int) -> None:
    draws = random.Random(start)
    compiled = compile_source(batch(draws), "batch.p4", profile="none")
    check(compiled.program, compiled.cpp, frames_of(draws))


# ---- statements ----


@seed(12)
@settings(BATCHES, max_examples=2)
@given(st.integers(0, 1 << 32))
def test_random_statements(start: int) -> None:
    """Blocks of ifs, tables with entries of every kind, actions with data, and registers, many in one program."""
    draws = random.Random(start)
    compiled = compile_source(Statements(draws).program(BLOCKS), "statements.p4", profile="none")
    check(compiled.program, compiled.cpp, frames_of(draws))


# ---- parsers, tables, registers ----


@seed(13)
@settings(BATCHES, max_examples=8)
@given(st.integers(0, 1 << 32))
def test_random_parsers(start: int) -> None:
    made = Parsing(random.Random(start))
    compiled = compile_source(made.program(), "parsers.p4", profile="none")
    check(compiled.program, compiled.cpp, made.frames(400))


STRUCTURES = source(
    headers="""
header kind_h { bit<4> kind; bit<4> count; bit<8> key; }
header label_h { bit<20> label; bit<3> traffic; bit<1> bottom; bit<8> ttl; }
header tail_h { bit<12> a; int<4> b; bit<8> c; }
header result_h { bit<32> total; bit<8> chosen; bit<8> last; bit<16> sum; }
struct headers_t { kind_h kind; label_h[3] labels; tail_h tail; tail_h other; result_h result; }
struct pair_t { bit<32> sum; bit<32> count; }""",
    parsers="""
parser Tail(packet_in pkt, out tail_h tail) {
    state start { pkt.extract(tail); transition select(tail.c) { 0xF0 &&& 0xF0: reject; default: accept; } }
}""",
    locals="    Tail() tail;\n",
    states="""
    state first {
        pkt.extract(hdr.kind);
        transition select(hdr.kind.kind, hdr.kind.count) {
            (1, _): labels;
            (2, 0 .. 7): peek;
            (3, 8 &&& 8): tails;
            (4, _): skip;
            (5, default): accept;
        }
    }
    state labels {
        pkt.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) { 0: labels; 1: tails; }
    }
    state peek {
        transition select(pkt.lookahead<bit<13>>()) { 0 .. 100: accept; 0x1FFF: reject; default: tails; }
    }
    state skip { pkt.advance(24); transition tails; }
    state tails { tail.apply(pkt, hdr.tail); transition accept; }
""",
    declarations="""
    Register<pair_t, bit<8>>(200, {5, 1}) sums;
    RegisterAction<pair_t, bit<8>, bit<32>>(sums) add = {
        void apply(inout pair_t value, out bit<32> rv) {
            value.sum = value.sum |+| 0x20000001;
            if (value.sum > 0x60000000 && hdr.kind.key[0:0] == 1) { value.count = value.count - 1; }
            rv = value.sum ^ value.count;
        }
    };
    action set(bit<8> number) { hdr.result.chosen = number; }
    action leave() { hdr.result.chosen = 77; exit; }
    action none() {}
    table exact_one {
        key = { hdr.kind.key: exact; hdr.kind.count: exact; }
        actions = { set; leave; none; }
        const entries = { (7, 1): set(1); (7, 2): leave(); (255, 15): set(255); }
        const default_action = none();
    }
    table ternary_one {
        key = { hdr.kind.key: ternary; hdr.tail.isValid(): ternary; }
        actions = { set; none; }
        const entries = {
            (0x80 &&& 0xC0, true): set(2);
            (0x80 &&& 0x80, _): set(3);
            (_, true): set(4);
        }
        const default_action = none();
    }
    table range_one {
        key = { hdr.kind.key: range; }
        actions = { set; }
        const entries = { 10 .. 20: set(5); 20 .. 30: set(6); }
        const default_action = set(9);
    }
""",
    apply="""
        hdr.result.setValid();
        if (exact_one.apply().hit) { hdr.result.last = 1; }
        else if (!ternary_one.apply().hit) { range_one.apply(); }
        switch (ternary_one.apply().action_run) {
            set: { hdr.result.last = hdr.result.last + 16; }
            default: { hdr.result.last = 200; }
        }
        hdr.result.total = add.execute(hdr.kind.key);
        if (hdr.labels[1].isValid()) { hdr.result.sum = hdr.labels[0].label[15:0] + hdr.labels[1].label[19:4]; }
        if (hdr.tail.isValid() && hdr.tail.b < 0) {
            hdr.other.setValid();
            hdr.other.a = hdr.tail.a[3:0] ++ hdr.tail.c;
            hdr.other.b = -hdr.tail.b;
            hdr.other.c = 0;
            hdr.tail.setInvalid();
        }
        if (hdr.kind.key == 99) { dprsr.drop_ctl = 1; }
""",
).replace("else if (!ternary_one.apply().hit) { range_one.apply(); }", "else { range_one.apply(); }")


def structure_frames(count: int) -> list[bytes]:
    draws = random.Random(12)
    out = []
    for _ in range(count):
        kind = draws.choice([1, 1, 1, 2, 3, 4, 5, 6])
        key = draws.choice([7, 7, 10, 20, 30, 99, 128, 192, 199, 200, 255, draws.randrange(256)])
        head = bytes([kind << 4 | draws.choice([1, 2, 8, 15]), key])
        body = b""
        if kind == 1:
            for i in range(depth := draws.randint(1, 4)):
                label = draws.getrandbits(24) << 8 | draws.getrandbits(8)
                body += (label & ~0x100 | (i == depth - 1) << 8).to_bytes(4, "big")
        body += draws.choice([b"", b"\xff\xff", b"\0\0"]) + draws.randbytes(draws.randint(0, 6))
        out.append((head + body)[: draws.choice([None, None, None, 1, 3, 6])])
    return out


def test_parsers_tables_and_registers() -> None:
    compiled = compile_source(STRUCTURES, "structures.p4", profile="none")
    check(compiled.program, compiled.cpp, structure_frames(1500))


# ---- math units, residues of checksums, one control at two places ----

UNITS = (
    "MathOp_t.MUL, 3, 7", "MathOp_t.SQR, 2", "MathOp_t.SQRT, 5", "MathOp_t.DIV, 1000000", "MathOp_t.RSQRT, 77777",
    "true, 1, 31, {255, 3, 7, 9, 200, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}",
)  # fmt: skip


def units_program() -> str:
    declares, apply = "", ""
    for i, unit in enumerate(UNITS):
        declares += f"""
    MathUnit<bit<32>>({unit}) unit{i};
    Register<bit<32>, bit<8>>(4, {i + 1}) r{i};
    RegisterAction<bit<32>, bit<8>, bit<32>>(r{i}) act{i} = {{
        void apply(inout bit<32> v, out bit<32> o) {{
            if (hdr.in_.b > 9) {{ v = unit{i}.execute(hdr.in_.x); }} else {{ v = v + unit{i}.execute(v); }}
            o = v;
        }}
    }};"""
        apply += f"hdr.out_.y{i} = act{i}.execute(0);\n"
    fields = " ".join(f"bit<32> y{i};" for i in range(len(UNITS)))
    return source(
        headers=f"""
header in_h {{ bit<16> sum; bit<32> x; bit<8> b; }}
header more_h {{ bit<8> x; bit<8> y; }}
header out_h {{ {fields} bit<16> left; }}
struct headers_t {{ in_h in_; more_h more; out_h out_; }}
control Adds(in bit<8> by, inout bit<8> sum) {{
    bit<8> seen = 3;
    apply {{ if (by == 0) {{ return; }} seen = seen + sum; sum = seen ^ by; }}
}}""",
        locals="    Checksum() c;\n",
        states="""
    state first {
        pkt.extract(hdr.in_);
        c.subtract(hdr.in_);
        c.add({hdr.in_.b});
        hdr.out_.setValid();
        c.subtract_all_and_deposit(hdr.out_.left);
        transition select(hdr.in_.b[0:0]) { 1: more; default: accept; }
    }
    state more { pkt.extract(hdr.more); transition accept; }
""",
        declarations=declares + "\n    Adds() adds;\n",
        apply=apply + "adds.apply(hdr.in_.b, hdr.more.x); adds.apply(hdr.more.x, hdr.more.y);\n",
    )


def test_math_units_and_residues() -> None:
    compiled = compile_source(units_program(), "units.p4", profile="none")
    draws = random.Random(14)
    frames = [draws.randbytes(2) + (draws.getrandbits(32) >> i % 33).to_bytes(4, "big") + draws.randbytes(9)
              for i in range(400)]  # fmt: skip
    check(compiled.program, compiled.cpp, frames)


# ---- hashes ----

#: the catalogue's check value of each: the CRC of "123456789"
CRCS = {
    "CRC8": 0xF4,
    "CRC16": 0xBB3D,
    "CRC32": 0xCBF43926,
    "CRC64": 0x6C40DF5F0B497347,
}
#: width, polynomial, reflected, initial, final xor, check value (CRC RevEng's catalogue)
CUSTOM = {
    "CRC-8/MAXIM": (8, 0x31, True, 0, 0, 0xA1),
    "CRC-16/CCITT-FALSE": (16, 0x1021, False, 0xFFFF, 0, 0x29B1),
    "CRC-16/KERMIT": (16, 0x1021, True, 0, 0, 0x2189),
    "CRC-24/OPENPGP": (24, 0x864CFB, False, 0xB704CE, 0, 0x21CF02),
    "CRC-32/BZIP2": (32, 0x04C11DB7, False, 0xFFFFFFFF, 0xFFFFFFFF, 0xFC891918),
    "CRC-32C": (32, 0x1EDC6F41, True, 0xFFFFFFFF, 0xFFFFFFFF, 0xE3069283),
    "CRC-64/XZ": (64, 0x42F0E1EBA9EA3693, True, (1 << 64) - 1, (1 << 64) - 1, 0x995DC9BBDF1939FA),
}  # fmt: skip


def hash_program() -> tuple[str, list[int]]:
    """Every hash of nine bytes and, for the interpreter, of 13 and 77 bits; and the check values of the first."""
    headers = "header given_h { bit<8> a; bit<64> b; }\n"
    fields, declarations, lines, checks = ["given_h given;"], "", [], []

    def add(name: str, width: int, data: str) -> None:
        nonlocal headers
        i = len(fields)
        pad = -width % 8
        headers += f"header h{i}_h {{ bit<{width}> v; {f'bit<{pad}> p; ' if pad else ''}}}\n"
        fields.append(f"h{i}_h h{i};")
        lines.extend([f"hdr.h{i}.setValid();", f"hdr.h{i}.v = {name}.get({data});"])

    nine = "{ hdr.given.a, hdr.given.b }"
    for name, right in CRCS.items():
        width = int(name[3:])
        declarations += f"Hash<bit<{width}>>(HashAlgorithm_t.{name}) {name.lower()};\n"
        add(name.lower(), width, nine)
        checks.append(right)
    for i, (width, polynomial, reflect, start, final, right) in enumerate(CUSTOM.values()):
        values = f"{polynomial:#x}, {str(reflect).lower()}, false, false, {start:#x}, {final:#x}"
        declarations += f"CRCPolynomial<bit<{width}>>({values}) poly{i};\n"
        declarations += f"Hash<bit<{width}>>(HashAlgorithm_t.CUSTOM, poly{i}) custom{i};\n"
        add(f"custom{i}", width, nine)
        checks.append(right)
    for name, width in (("IDENTITY", 24), ("XOR8", 8), ("XOR16", 16), ("XOR32", 32), ("RANDOM", 32), ("CRC32", 10)):
        for j, data in enumerate(
            (nine, "{ hdr.given.b[12:0] }", "{ hdr.given.b[2:0], hdr.given.a, hdr.given.b, 2w1 }")
        ):
            declarations += f"Hash<bit<{width}>>(HashAlgorithm_t.{name}) {name.lower()}_{width}_{j};\n"
            add(f"{name.lower()}_{width}_{j}", width, data)
    headers += f"struct headers_t {{ {' '.join(fields)} }}"
    states = "state first { pkt.extract(hdr.given); transition accept; }"
    return source(headers=headers, states=states, declarations=declarations, apply="\n".join(lines)), checks


VARBIT = """
#include <core.p4>
#include <tna.p4>
header fixed_h { bit<8> kind; }
header options_h { bit<4> version; bit<4> words; bit<24> more; varbit<96> rest; }
struct headers_t { options_h options; options_h again; fixed_h fixed; }
struct metadata_t { bit<8> counted; }
struct empty_t {}
parser IngressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig) {
    state start {
        pkt.extract(ig);
        pkt.advance(PORT_METADATA_SIZE);
        bit<8> first = pkt.lookahead<bit<8>>();
        pkt.extract(hdr.options, (bit<32>)(first & 15) << 5);
        md.counted = first & 15;
        transition select(first) { 0x00 &&& 0x80: once; default: twice; }
    }
    state twice {
        bit<8> second = pkt.lookahead<bit<8>>();
        pkt.extract(hdr.again, (bit<32>)(second & 7) << 3);
        md.counted = md.counted + second;
        transition once;
    }
    state once { pkt.extract(hdr.fixed); transition accept; }
}
control Ingress(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
    inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        tm.ucast_egress_port = 1;
        tm.bypass_egress = 1;
        if (hdr.fixed.kind == 7) { hdr.options = hdr.again; }
        if (hdr.fixed.kind == 8) { hdr.again.setInvalid(); }
        hdr.fixed.kind = md.counted;
    }
}
control IngressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
    in ingress_intrinsic_metadata_for_deparser_t dprsr) { apply { pkt.emit(hdr); } }
parser EgressParser(packet_in pkt, out empty_t hdr, out empty_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); transition accept; }
}
control Egress(inout empty_t hdr, inout empty_t md, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
    inout egress_intrinsic_metadata_for_output_port_t oport) { apply {} }
control EgressDeparser(packet_out pkt, inout empty_t hdr, in empty_t md,
    in egress_intrinsic_metadata_for_deparser_t dprsr) { apply {} }
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
"""


def test_varbits() -> None:
    compiled = compile_source(VARBIT, "varbit.p4", profile="none")
    draws = random.Random(21)
    frames = []
    for kind in (5, 7, 8):
        for first in (*range(16), *range(0x80, 0x90)):
            words, second = first & 15, draws.randrange(16)
            options = bytes((first, *draws.randbytes(3 + 4 * words)))
            again = bytes((second, *draws.randbytes(3 + (second & 7)))) if first & 0x80 else b""
            frames.append(options + again + bytes((kind,)) + draws.randbytes(9))
    check(compiled.program, compiled.cpp, frames)


PIPELINES = """
#include <core.p4>
#include <tna.p4>
header data_h { bit<8> kind; bit<8> count; bit<16> sum; }
struct headers_t { data_h data; }
struct sums_t { bit<16> sum; }
struct empty_t {}
parser In(packet_in pkt, out headers_t hdr, out sums_t md, out ingress_intrinsic_metadata_t ig) {
    Checksum() words;
    state start {
        pkt.extract(ig);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        words.add({ hdr.data.kind, hdr.data.count, hdr.data.sum });
        md.sum = words.get();
        transition accept;
    }
}
control Counts(inout headers_t hdr, inout sums_t md, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
    inout ingress_intrinsic_metadata_for_tm_t tm)(bit<8> by) {
    Register<bit<8>, bit<1>>(1, 0) seen;
    RegisterAction<bit<8>, bit<1>, bit<8>>(seen) next = {
        void apply(inout bit<8> value, out bit<8> rv) { value = value + by; rv = value; }
    };
    action to(PortId_t port) { tm.ucast_egress_port = port; }
    table where { key = { hdr.data.kind: exact; } actions = { to; } const entries = { 0: to(3); 1: to(131); } }
    apply { hdr.data.count = next.execute(0); hdr.data.sum = md.sum; where.apply(); }
}
control Out(packet_out pkt, inout headers_t hdr, in sums_t md, in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { pkt.emit(hdr); }
}
parser NothingIn(packet_in pkt, out empty_t hdr, out empty_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); transition accept; }
}
control Nothing(inout empty_t hdr, inout empty_t md, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
    inout egress_intrinsic_metadata_for_output_port_t oport) { apply {} }
control NothingOut(packet_out pkt, inout empty_t hdr, in empty_t md,
    in egress_intrinsic_metadata_for_deparser_t dprsr) { apply {} }
parser Again(packet_in pkt, out headers_t hdr, out empty_t md, out egress_intrinsic_metadata_t eg) {
    state start { pkt.extract(eg); pkt.extract(hdr.data); transition accept; }
}
control Marks(inout headers_t hdr, inout empty_t md, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
    inout egress_intrinsic_metadata_for_output_port_t oport) { apply { hdr.data.kind = 0xEE; } }
control MarksOut(packet_out pkt, inout headers_t hdr, in empty_t md,
    in egress_intrinsic_metadata_for_deparser_t dprsr) { apply { pkt.emit(hdr); } }
Pipeline(In(), Counts(1), Out(), NothingIn(), Nothing(), NothingOut()) plain;
Pipeline(In(), Counts(10), Out(), Again(), Marks(), MarksOut()) marked;
Switch(plain, marked) main;
"""


def test_each_pipe_runs_its_pipeline() -> None:
    """Ports 0 to 127 have the first one, 128 to 255 the second, and so on in turn; each with registers of its own."""
    compiled = compile_source(PIPELINES, "pipelines.p4", profile="tofino1")
    assert {t.preamble.name for t in compiled.p4info.tables} == {"plain.Counts.where", "marked.Counts.where"}
    assert "the one of 2 pipelines that takes most" in compiled.resources.text()
    frames = [(1, 0), (130, 0), (257, 1), (386, 1), (127, 1), (128, 0)]
    with Switch(library.build_program("pipelines.p4", compiled.cpp)) as switch:
        found = [
            (port, bytes(frame))
            for port, frame in switch.process((port, bytes((kind, 5, 0, 2))) for port, kind in frames)
        ]
        assert [switch.read_register(r) for r in switch.registers] == [[(3,)], [(30,)]]
    first, second = [data for port, data in found if port == 3], [data for port, data in found if port == 131]
    assert first == [bytes((0, n, 0, 7)) for n in (1, 10, 30)], "behind them nothing marks packets"
    assert second == [bytes((0xEE, n, 1, 7)) for n in (2, 20, 3)]


def test_hashes_have_their_check_values() -> None:
    text, checks = hash_program()
    compiled = compile_source(text, "hashes.p4", profile="none")
    draws = random.Random(13)
    check(compiled.program, compiled.cpp, [b"123456789", *(draws.randbytes(9) for _ in range(50))])
    with Switch(library.build_program("hashes.p4", compiled.cpp)) as switch:
        [(_, frame)] = switch.process([(IN_PORT, b"123456789")])
    widths = [int(name[3:]) for name in CRCS] + [c[0] for c in CUSTOM.values()]
    at, found = 9, []
    for width in widths:
        found.append(int.from_bytes(frame[at : at + width // 8], "big"))
        at += width // 8
    assert found == checks


# ---- sanitizers ----

RUN = """
import pickle, sys
from jumpgate.p4.switch.switch import Switch
from pathlib import Path
for program, frames in pickle.load(sys.stdin.buffer):
    with Switch(Path(program)) as switch:
        print(len(switch.process((3, frame) for frame in frames)), switch.counts()["ingress_passes"])
"""


@pytest.mark.nightly(like="tests/integration/test_p4_semantics.py::test_random_expressions")
def test_generated_code_is_clean_under_the_sanitizers() -> None:
    draws = random.Random(14)
    given_batch, statements, hashes = batch(draws, 12), Statements(draws).program(6), hash_program()[0]
    work = []
    for text, frames in (
        (given_batch, frames_of(draws)), (statements, frames_of(draws)), (STRUCTURES, structure_frames(400)),
        (hashes, [b"123456789", b"1"]),
    ):  # fmt: skip
        cpp = compile_source(text, "clean.p4", profile="none").cpp
        work.append((str(library.build_program("clean.p4", cpp, "asan")), frames))
    compiler = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    environment = {
        **os.environ, "JUMPGATE_RUNTIME_VARIANT": "asan", "LD_PRELOAD": compiler.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=pickle.dumps(work), capture_output=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert [int(line.split()[1]) for line in done.stdout.splitlines()] == [len(frames) for _, frames in work]
