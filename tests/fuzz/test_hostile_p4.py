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
from tests.support.fuzz import SECONDS, SEED

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases" / "p4"
EVERYTHING = (Path(__file__).parent / "p4" / "everything.p4").read_text()
SOURCES = {
    **{path.stem: path.read_text() for path in sorted(CASES.glob("*.p4"))},
    **{name: render.render(render.PruneSizes((name,), topn_bits=2, groupby_columns=2)) for name in render.CODES},
    **{name: render.render(sizes) for name, sizes in render.PROGRAMS.items()},
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
OPEN, CLOSE = "([{", ")]}"
OPERATORS = ("+", "-", "&", "|", "^", "*", "<", ">", "=", "!", "~", "?", "/", "%")
NUMBERS = ("0", "1", "2", "7", "8", "16", "31", "32", "33", "48", "63", "64", "65", "128", "255", "65536", "4294967295")
EXAMPLES = settings(
    max_examples=400, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def survives(text: str, profile: str = "tofino1") -> None:
    """A program, from which everything can be made, or errors that are somewhere."""
    start = time.process_time()
    try:
        compiled = compile_source(text, str(CASES / "hostile.p4"), profile=profile)
        assert compiled.cpp and compiled.p4info is not None and compiled.resources.text()
    except P4Error as error:
        assert error.problems
        for problem in error.problems:
            assert problem.position.line >= 1 and problem.position.column >= 1 and problem.message
            assert str(problem).startswith(str(problem.position))
    assert time.process_time() - start < SECONDS_MAX


def group(tokens: list[str], draws: random.Random) -> tuple[int, int]:
    """Where a random statement, or what is between two brackets, begins and ends."""
    at = draws.randrange(len(tokens))
    while at > 0 and tokens[at] not in (*OPEN, ";"):
        at -= 1
    depth, end = 0, at + 1
    while end < len(tokens) and depth >= 0:
        depth += (tokens[end] in OPEN) - (tokens[end] in CLOSE)
        end += 1
        if tokens[at] == ";" and depth == 0 and tokens[end - 1] in (";", "}"):
            return at + 1, end
    return at + 1, end - 1


def mutated(text: str, draws: random.Random) -> str:
    """Gently, so that many programs stay right to the last pass, or roughly."""
    tokens = TOKEN.findall(text)
    change = draws.choice([_gentle, _rough])
    for _ in range(draws.choice([1, 1, 2, 3, 6])):
        tokens = change(tokens, draws) or [" "]
    return "".join(tokens)


def _gentle(tokens: list[str], draws: random.Random) -> list[str]:
    """Another number, operator or name of the program, or a statement or list in another place."""
    if draws.random() < 0.3:
        (a, b), (c, d) = group(tokens, draws), group(tokens, draws)
        return [*tokens[:a], *tokens[c:d], *tokens[b:]]
    kinds = (str.isdigit, str.isidentifier, lambda t: t in OPERATORS)
    kind = draws.choice((*kinds, kinds[0], kinds[2]))
    same = [i for i, t in enumerate(tokens) if kind(t)] or [0]
    choices = OPERATORS if kind is kinds[2] else NUMBERS if draws.random() < 0.5 and kind is kinds[0] else ()
    tokens[draws.choice(same)] = draws.choice(choices) if choices else tokens[draws.choice(same)]
    return tokens


def _rough(tokens: list[str], draws: random.Random) -> list[str]:
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
            other = TOKEN.findall(SOURCES[draws.choice(sorted(SOURCES))])
            a, b = group(other, draws)
            tokens[at:until] = other[a:b]
        case 5:
            other_place = draws.randrange(len(tokens))
            tokens[at], tokens[other_place] = tokens[other_place], tokens[at]
    return tokens


@seed(1)
@EXAMPLES
@given(st.sampled_from(sorted(SOURCES)), st.integers(0, 1 << 32))
def test_mutated_sources(name: str, start: int) -> None:
    draws = random.Random(start)
    survives(mutated(SOURCES[name], draws), draws.choice(["tofino1", "none"]))


def shaken(tokens: list[str], draws: random.Random) -> list[str]:
    """A few tokens, argument lists or declarations are gone, doubled, swapped, or in another place."""
    out = list(tokens)
    for _ in range(draws.choice([1, 1, 2, 4])):
        (a, b), (c, d) = group(out, draws), group(out, draws)
        match draws.randrange(5):
            case 0:
                del out[a:b]
            case 1:
                out[a:b] = out[c:d]
            case 2:
                out[a:a] = out[c:d]
            case 3:
                out = _rough(out, draws)
            case 4:
                out = _gentle(out, draws)
        out = out or [" "]
    return out


def test_shaken_tokens() -> None:
    """For some seconds; `./dev fuzz` goes on for longer, with tokens shaken as no run did before."""
    tokens = TOKEN.findall(EVERYTHING)
    survives(EVERYTHING, "none")
    start = SEED or time.time_ns()
    end = time.monotonic() + SECONDS
    done = 0
    while time.monotonic() < end:
        text = "".join(shaken(tokens, random.Random(start + done)))
        try:
            survives(text, "none")
        except BaseException:
            print(text)
            raise
        done += 1
    assert done > 20


@seed(2)
@EXAMPLES
@given(st.lists(st.sampled_from(EXTRA + TOKEN.findall(SOURCES["distinct_lru"])[:2000]), max_size=60).map("".join))
def test_soups_of_tokens(text: str) -> None:
    survives(text)


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("name", SOURCES)
def test_sources_that_end_early(name: str) -> None:
    text = SOURCES[name]
    for size in range(0, len(text), max(1, len(text) // 12)):
        survives(text[:size])


DEEP = 20_000
CONTROL = "control c(inout bit<8> x) {{ apply {{ {0} }} }}\n"


@pytest.mark.nightly(every=3)
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
