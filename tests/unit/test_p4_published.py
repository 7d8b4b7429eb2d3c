"""What programs of public systems do: loops over several stacks, one control at two places, sums over odd bytes."""

from __future__ import annotations

import pytest

from jumpgate.p4.compiler import front_end
from jumpgate.p4.compiler.interpret import Interpreter
from tests.unit.test_p4_idioms import STACK, made, written
from tests.unit.test_p4_language import CASES

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
