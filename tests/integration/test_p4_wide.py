"""Values of more than 128 bits: generated C++ against Python's integers."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from jumpgate.p4.compiler import P4Error, compile_source
from jumpgate.p4.compiler.interpret import Interpreter
from jumpgate.p4.switch import library
from jumpgate.p4.switch.switch import Entry, Switch

BITS = 203
MASK = (1 << BITS) - 1
#: what each result is of a and b, and its width
RESULTS: dict[str, tuple[str, int, Callable[[int, int], int]]] = {
    "sum": ("a + b", BITS, lambda a, b: a + b),
    "rest": ("a - b", BITS, lambda a, b: a - b),
    "bits": ("(a & ~b) | (b ^ 203w5)", BITS, lambda a, b: (a & (MASK ^ b)) | (b ^ 5)),
    "left": ("a << 70", BITS, lambda a, b: a << 70),
    "right": ("a >> 70", BITS, lambda a, b: a >> 70),
    "by": ("a >> b[6:0]", BITS, lambda a, b: a >> (b & 127)),
    "more": ("a |+| b", BITS, lambda a, b: min(a + b, MASK)),
    "less": ("a |-| b", BITS, lambda a, b: max(a - b, 0)),
    "slice": ("a[190:31]", 160, lambda a, b: a >> 31),
    "byte": ("a[135:128]", 8, lambda a, b: a >> 128),
    "joined": ("a[102:0] ++ b[199:0]", 303, lambda a, b: (a & (1 << 103) - 1) << 200 | b & (1 << 200) - 1),
    "cast": ("(bit<250>)b", 250, lambda a, b: b),
    "narrow": ("(bit<77>)a", 77, lambda a, b: a),
    "least": ("min(a, b)", BITS, min),
    "order": ("a < b ? 8w1 : 8w2", 8, lambda a, b: 1 if a < b else 2),
    "equal": ("a == b ? 8w1 : 8w2", 8, lambda a, b: 1 if a == b else 2),
    "minus": ("-a", BITS, lambda a, b: -a),
}
FIELDS = "".join(f"bit<{width}> {name};" for name, (_, width, _) in RESULTS.items())
PAD = -sum(width for _, width, _ in RESULTS.values()) % 8
TEXT = f"""
#include <core.p4>
#include <tna.p4>
header in_h {{ bit<3> first; bit<{BITS}> a; bit<{BITS}> b; bit<7> last; bit<512> whole; }}
header out_h {{ {FIELDS} bit<{PAD or 8}> pad; bit<512> swapped; bit<256> data; }}
struct headers_t {{ out_h result; in_h ask; }}
struct md_t {{}}
parser IngressParser(packet_in pkt, out headers_t hdr, out md_t md, out ingress_intrinsic_metadata_t ig) {{
    state start {{ pkt.extract(ig); pkt.advance(PORT_METADATA_SIZE); pkt.extract(hdr.ask); transition accept; }}
}}
control Ingress(inout headers_t hdr, inout md_t md, in ingress_intrinsic_metadata_t ig,
    in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
    inout ingress_intrinsic_metadata_for_tm_t tm) {{
    bit<{BITS}> a = hdr.ask.a;
    bit<{BITS}> b = hdr.ask.b;
    action put(bit<256> data) {{ hdr.result.data = data; }}
    table t {{ key = {{ hdr.ask.whole: exact; }} actions = {{ put; NoAction; }} size = 8; }}
    apply {{
        hdr.result.setValid();
        {"".join(f"hdr.result.{name} = {expression};" for name, (expression, _, _) in RESULTS.items())}
        hdr.result.swapped = hdr.ask.whole[255:0] ++ hdr.ask.whole[511:256];
        t.apply();
        tm.ucast_egress_port = 3;
    }}
}}
control IngressDeparser(packet_out pkt, inout headers_t hdr, in md_t md,
    in ingress_intrinsic_metadata_for_deparser_t dprsr) {{ apply {{ pkt.emit(hdr.result); }} }}
parser EgressParser(packet_in pkt, out headers_t hdr, out md_t md, out egress_intrinsic_metadata_t eg) {{
    state start {{ pkt.extract(eg); transition accept; }}
}}
control Egress(inout headers_t hdr, inout md_t md, in egress_intrinsic_metadata_t eg,
    in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
    inout egress_intrinsic_metadata_for_output_port_t oport) {{ apply {{}} }}
control EgressDeparser(packet_out pkt, inout headers_t hdr, in md_t md,
    in egress_intrinsic_metadata_for_deparser_t dprsr) {{ apply {{}} }}
Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
"""


def packed(*fields: tuple[int, int]) -> bytes:
    bits = number = 0
    for value, width in fields:
        number, bits = number << width | value & (1 << width) - 1, bits + width
    return number.to_bytes(bits // 8, "big")


def test_wide_values() -> None:
    draws = random.Random(7)
    extremes = [0, 1, MASK, MASK - 1, 1 << 202, 1 << 128, (1 << 128) - 1]
    pairs = [(a, b) for a in extremes for b in extremes]
    pairs += [(draws.getrandbits(BITS), draws.getrandbits(BITS)) for _ in range(100)]
    whole = draws.getrandbits(512)
    compiled = compile_source(TEXT, "wide.p4", profile="none")
    oracle = Interpreter(compiled.program)
    with Switch(library.build_program("wide.p4", compiled.cpp)) as switch:
        table = switch.table("Ingress.t")
        data = draws.getrandbits(256)
        switch.insert(table, Entry((whole,), ((1 << 512) - 1,), 0, 0, (data,)))
        for a, b in pairs:
            frame = packed((5, 3), (a, BITS), (b, BITS), (9, 7), (whole, 512))
            results = [(function(a, b), width) for _, width, function in RESULTS.values()]
            fixed = [(0, PAD or 8), (whole << 256 | whole >> 256, 512)]
            assert switch.process([(1, frame)]) == [(3, packed(*results, *fixed, (data, 256)))]
            done = oracle.run(compiled.program.ingress, frame, {})  # without the entry
            assert done is not None and done.deparsed == packed(*results, *fixed, (0, 256))


@pytest.mark.parametrize("kind", ["bit<2049>", "int<129>"])
def test_wider_than_that(kind: str) -> None:
    with pytest.raises(P4Error, match="widths are 1 to"):
        compile_source(TEXT.replace("struct md_t {}", f"struct md_t {{ {kind} x; }}"), "wide.p4", profile="none")
