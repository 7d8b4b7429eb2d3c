"""Damaged P4 sources: the front end returns a program or says where it is wrong, and soon."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from jumpgate.p4.compiler import P4Error, compile_source
from jumpgate.p4.programs import render

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    **{path.stem: path.read_text() for path in sorted((ROOT / "tests" / "cases" / "p4").glob("*.p4"))},
    **{
        name: render.render(render.PruneSizes((name,), topn_bits=2, groupby_columns=2))
        for name in render.CODES
        if name != "skyline"
    },
    "aggregate": render.render(render.AggregateSizes(slots=1)),
}
#: of any mutation here, on a busy machine
SECONDS_MAX = 20.0
TOKEN = re.compile(r"[A-Za-z_]\w*|0x[0-9A-Fa-f]+|\d+|\s+|.", re.DOTALL)
EXTRA = [
    "(", ")", "{", "}", "<", ">", "[", "]", ";", ",", ":", ".", "..", "&&&", "++", "|+|", "<<", "default", "_", "-1",
    "0", "1", "128", "129", "4294967296", "99999999999999999999999999", "8w256", "4s15", "bit<0>", "bit<129>", "int",
    "bool", "true", "header", "struct", "parser", "control", "table", "action", "state", "transition", "select",
    "extern", "const", "typedef", "enum", "return", "exit", "switch", "if", "else", "apply", "execute", "isValid()",
    "#include <tna.p4>\n", "#include \"nothing.p4\"\n", "#define X X\n", "#define hdr hdr.hdr\n", "#if 1 / 0\n",
    "#ifdef X\n", "#endif\n", "#else\n", "#define F(a) F(a)\n", "\\\n", "\"", "/*", "*/", "//", "\0", "\ufeff", "é",
    "😀",
]  # fmt: skip
EXAMPLES = settings(
    max_examples=250, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def survives(text: str) -> None:
    """A program, from which everything can be made, or errors that are somewhere."""
    start = time.process_time()
    try:
        compiled = compile_source(text, "hostile.p4")
        assert compiled.cpp and compiled.p4info is not None
    except P4Error as error:
        assert error.problems
        for problem in error.problems:
            assert problem.position.line >= 1 and problem.position.column >= 1 and problem.message
            assert str(problem).startswith(str(problem.position))
    assert time.process_time() - start < SECONDS_MAX


def mutated(text: str, draws: random.Random) -> str:
    tokens = TOKEN.findall(text)
    for _ in range(draws.choice([1, 1, 1, 2, 3, 8])):
        at = draws.randrange(len(tokens))
        until = min(len(tokens), at + draws.choice([1, 1, 2, 5, 40]))
        match draws.randrange(6):
            case 0:
                del tokens[at:until]
            case 1:
                tokens[at] = draws.choice(EXTRA)
            case 2:
                tokens.insert(at, draws.choice(EXTRA))
            case 3:
                tokens[at:at] = tokens[at:until]
            case 4:
                other = draws.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 5:
                same = [i for i, t in enumerate(tokens) if t[0].isalnum()]
                tokens[draws.choice(same)] = tokens[draws.choice(same)]
        tokens = tokens or [" "]
    return "".join(tokens)


@seed(1)
@EXAMPLES
@given(st.sampled_from(sorted(SOURCES)), st.integers(0, 1 << 32))
def test_mutated_sources(name: str, start: int) -> None:
    survives(mutated(SOURCES[name], random.Random(start)))


@seed(2)
@EXAMPLES
@given(st.lists(st.sampled_from(EXTRA + TOKEN.findall(SOURCES["distinct_lru"])[:2000]), max_size=60).map("".join))
def test_soups_of_tokens(text: str) -> None:
    survives(text)


@pytest.mark.parametrize("name", SOURCES)
def test_sources_that_end_early(name: str) -> None:
    text = SOURCES[name]
    for size in range(0, len(text), max(1, len(text) // 12)):
        survives(text[:size])


DEEP = 20_000
CONTROL = "control c(inout bit<8> x) {{ apply {{ {0} }} }}\n"


@pytest.mark.parametrize(
    "text",
    [
        "const bit<8> a = " + "(" * DEEP + "1" + ")" * DEEP + ";",
        "const bit<8> a = " + "-" * DEEP + "1;",
        "const bit<8> a = " + "~" * DEEP + "8w1;",
        "const bit<8> a = " + "1 + " * DEEP + "1;",
        "const bit<8> a = " + "1 << " * DEEP + "1;",
        "const int a = " + "1 << 4000 << " * 50 + "1;",
        "const bit<8> a = " + "true ? 1 : " * DEEP + "1;",
        "const bit<8> a = b" + ".c" * DEEP + ";",
        "const bit<8> a = b" + "[1]" * DEEP + ";",
        "const bit<8> a = " + "{" * DEEP + "1" + "}" * DEEP + ";",
        "const " + "R<" * DEEP + "bit" + ">" * DEEP + " a = 1;",
        CONTROL.format("{" * DEEP + "}" * DEEP),
        CONTROL.format("if (x == 1) " * DEEP + "x = 1;"),
        CONTROL.format("if (x == 1) x = 1; else " * DEEP + "x = 1;"),
        "typedef a b; typedef b a; const a c = 1;",
        "header h { h x; } struct s { s x; }",
        "struct a { b x; } struct b { a x; } control c(inout a x) { apply {} }",
        "#define A B B\n" + "\n".join(f"#define B{i} B{i + 1} B{i + 1}" for i in range(60)) + "\nB0",
        "#define A A A A\nA",
        "#define F(x) x x\n" + "F(" * 40 + "1" + ")" * 40,
        "#if " + "(" * DEEP + "1" + ")" * DEEP + "\n#endif",
        "#if " + "!" * DEEP + "1\n#endif",
        "#if " + "1 << 1000000000" + "\n#endif",
        "\n".join(["#ifdef X"] * DEEP),
        "const bit<8> a = " + "9" * 10_000 + ";",
        "const bit<8> a = 0x" + "f" * 100_000 + ";",
        "const bit<" + "9" * 50 + "> a = 1;",
        "/*" * DEEP,
        "\"" + "x" * DEEP,
    ],
)  # fmt: skip
def test_sources_made_to_hurt(text: str) -> None:
    survives(text)
    survives("#include <core.p4>\n#include <tna.p4>\n" + text)
