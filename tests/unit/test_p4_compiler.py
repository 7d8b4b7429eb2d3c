"""The P4 front end: what is wrong is found where it is; the programs compile; rules of the hardware hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jumpgate.p4.compiler import P4Error, compile_source

ROOT = Path(__file__).resolve().parents[2]
CASES = sorted((ROOT / "tests" / "cases" / "p4").glob("*.p4"))
PROGRAMS = sorted((ROOT / "p4" / "programs").glob("*.p4"))
WANTED = re.compile(r"// error: (\d+):(\d+) (.*)")


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.stem)
def test_mistakes_are_found_where_they_are(case: Path) -> None:
    text = case.read_text()
    wanted = [(int(line), int(column), message) for line, column, message in WANTED.findall(text)]
    assert wanted
    with pytest.raises(P4Error) as caught:
        compile_source(text, case.name)
    found = [(p.position.line, p.position.column, p.message) for p in caught.value.problems]
    for line, column, message in wanted:
        assert any(f[:2] == (line, column) and message in f[2] for f in found), (message, found)
    assert "^" in caught.value.message


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_programs_compile_to_the_same_text(program: Path) -> None:
    first = compile_source(program.read_text(), program.name)
    assert first.cpp == compile_source(program.read_text(), program.name).cpp
    assert {t.preamble.name for t in first.p4info.tables} == {t.name for t in first.program.tables}


def test_a_second_access_to_a_register_is_refused() -> None:
    text = (ROOT / "p4" / "programs" / "prune_distinct.p4").read_text()
    line = next(x for x in text.split("\n") if "advance_window.execute" in x)
    with pytest.raises(P4Error, match="register 'Ingress.window' is accessed twice in one pass"):
        compile_source(text.replace(line, f"{line}\n{line}"), "twice.p4")


def test_a_parser_loop_that_reads_nothing_is_refused() -> None:
    text = (ROOT / "p4" / "programs" / "prune_distinct.p4").read_text()
    with pytest.raises(P4Error, match="is in a loop that reads nothing"):
        compile_source(text.replace("default: slot_2;", "default: slot_1;"), "loop.p4")
