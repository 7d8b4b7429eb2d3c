"""Math units: what the documents of the vendor's P4 say of them, by hand and as ranges; and what an ALU has of them."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from jumpgate.p4.compiler import P4Error, compile_source, front_end
from jumpgate.p4.compiler.elaboration.mathunits import approximate, configured
from jumpgate.p4.compiler.interpret import Interpreter
from tests.unit.test_p4_language import CASES, DATA


def written(unit: str, body: str = "v = m.execute(hdr.data.b); o = v;", width: int = 32) -> str:
    """A program that puts into `a` what a RegisterAction gives out."""
    return f"""
    #include "include/frame.p4h"
    INGRESS {{
        MathUnit<bit<{width}>>({unit}) m;
        Register<bit<{width}>, bit<8>>(4, 6) r;
        RegisterAction<bit<{width}>, bit<8>, bit<{width}>>(r) act = {{
            void apply(inout bit<{width}> v, out bit<{width}> o) {{ {body} }}
        }};
        apply {{ hdr.data.a = (bit<32>)act.execute(0); }}
    }}
    #include "include/rest.p4h"
    """


def given(text: str, b: int) -> int:
    assert compile_source(text, str(CASES / "x.p4"), profile="none").cpp
    program = front_end(text, str(CASES / "x.p4"))
    done = Interpreter(program).run(program.ingress, DATA.pack(1, 2, 3, 4, b, 6, 7), {})
    assert done is not None
    return int(DATA.unpack(done.deparsed)[3])


TABLE = ", ".join(str(v) for v in range(150, 134, -1))  # 150 for the bits 1111 … 135 for 0000


@pytest.mark.parametrize(
    ("unit", "x", "out"),
    [
        # 100 is 1100100: its bits 1100 are 1.5, half of 1.5 in 8 bits is 192 / 256; 192 * 2^(6 - 8) = 48
        ("MathOp_t.MUL, 1, 2", 100, 48),
        ("MathOp_t.MUL, 3", 5, 15),
        ("MathOp_t.SQR, 1", 10, 100),
        ("MathOp_t.SQR, 1", 11, 121),
        # 1.5^2 in 8 bits is 144 / 64, so 100^2 is taken as 144 * 2^(12 - 6)
        ("MathOp_t.SQR, 1", 100, 9216),
        ("MathOp_t.DIV, 1024", 10, 102),
        ("MathOp_t.DIV, 1024", 2048, 0),
        # the place of the highest bit is rounded up to an even one: 200 is 0.110 * 2^8; sqrt(0.75) is 111 / 128
        ("MathOp_t.SQRT, 1", 200, 13),
        ("MathOp_t.SQRT, 1", 256, 16),
        ("MathOp_t.RSQRT, 64", 16, 16),
        ("MathOp_t.MUL, 1", 0, 0),
        ("false, 0, -3, {" + TABLE + "}", 8, 143),  # bits 1000, 143 * 2^(3 - 3)
        ("false, 0, -3, {" + TABLE + "}", 0xF0000001, 150 << 28 & 0xFFFFFFFF),
        ("false, 0, -3, {" + TABLE + "}", 0, 135 >> 3),
        ("true, 0, 3, {" + TABLE + "}", 0x1F, 150 >> 1),  # 150 * 2^(3 - 4)
        ("false, 1, 0, {" + TABLE + "}", 1 << 16, 0),  # a shift by 32
        ("true, 1, -31, {" + TABLE + "}", 1 << 31, 0),
    ],
)
def test_math_units(unit: str, x: int, out: int) -> None:
    assert given(written(unit), x) == out


@pytest.mark.parametrize(
    ("operation", "factor", "function"),
    [
        ("MUL", Fraction(7, 10), lambda x: 0.7 * x),
        ("SQR", Fraction(1), lambda x: x * x),
        ("SQRT", Fraction(1000), lambda x: 1000 * math.sqrt(x)),
        ("DIV", Fraction(1 << 30), lambda x: (1 << 30) / x),
        ("RSQRT", Fraction(1 << 20), lambda x: (1 << 20) / math.sqrt(x)),
    ],
)
def test_functions_are_met_to_three_bits(operation: str, factor: Fraction, function) -> None:  # type: ignore[no-untyped-def]
    unit = configured(operation, float(factor))
    draws = random.Random(5)
    for x in [draws.randrange(1, 1 << draws.randrange(1, 16)) for _ in range(300)]:
        assert abs(approximate(unit, x) - function(x)) <= function(x) / 3.4 + 1


def test_a_unit_is_an_operand_of_its_register() -> None:
    body = "if (hdr.data.kind == 1) { v = v + m.execute(v); } else { v = m.execute(hdr.data.b); } o = v;"
    assert given(written("MathOp_t.MUL, 2", body), 0) == 6 + 12
    body = "v = m.execute((bit<8>)hdr.data.b); o = v;"
    assert given(written("MathOp_t.MUL, 2", body, width=8), 0x1FF) == 240 * 2 & 0xFF  # of 8 bits


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (written("MathOp_t.MUL, 0"), "the factor of a MathUnit is positive"),
        (written("MathOp_t.RSQR, 1"), "compilers do not agree on MathOp_t.RSQR; give the 16 values"),
        (written("false, 2, 0, {" + TABLE + "}"), "a shift of -1, 0 or 1"),
        (written("false, 0, 32, {" + TABLE + "}"), "a scale of -32 to 31"),
        (written("false, 0, 0, {1, 2}"), "16 values of 8 bits"),
        (written("false, 0, 0, {256, " + TABLE[5:] + "}"), "16 values of 8 bits"),
        (written("MathOp_t.MUL, hdr.data.b"), "this must be known when the program is compiled"),
        (written("MathOp_t.MUL"), "MathUnit<bit<8, 16 or 32>>"),
        (written("MathOp_t.MUL, 1", width=64), "MathUnit<bit<8, 16 or 32>>"),
        (written("MathOp_t.MUL, 1", "v = m.execute(hdr.data.kind);"), "expected bit<32>, this is bit<8>"),
        (written("MathOp_t.MUL, 1").replace("apply { hdr", "apply { hdr.data.a = m.execute(hdr.data.b); hdr"),
         "execute it in a RegisterAction"),
    ],
)  # fmt: skip
def test_what_math_units_are_not(text: str, said: str) -> None:
    with pytest.raises(P4Error) as caught:
        compile_source(text, str(CASES / "x.p4"), profile="none")
    assert said in caught.value.problems[0].message


def test_an_alu_has_one_unit_before_its_value() -> None:
    def refused(text: str) -> list[str]:
        with pytest.raises(P4Error) as caught:
            compile_source(text, str(CASES / "x.p4"), profile="tofino1")
        return [p.message for p in caught.value.problems]

    compile_source(written("MathOp_t.MUL, 1, 2"), str(CASES / "x.p4"), profile="tofino1")
    assert "goes to the register's value" in refused(written("MathOp_t.MUL, 1", "o = m.execute(v);"))[0]
    assert "takes a field or the register's value" in refused(written("MathOp_t.MUL, 1", "v = m.execute(v + 1);"))[0]
    two = written("MathOp_t.MUL, 1", "if (v > 3) { v = m.execute(v); } else { v = n.execute(v); }")
    two = two.replace(" m;", " m; MathUnit<bit<32>>(MathOp_t.DIV, 9) n;", 1)
    assert refused(two) == ["register 'Ingress.r' uses two MathUnits; its ALU has one"]
