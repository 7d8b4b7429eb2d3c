"""The P4 front end: what is wrong is found where it is; the programs compile; rules of the hardware hold."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from jumpgate.p4.compiler import P4Error, compile_source, front_end
from jumpgate.p4.compiler.output.registers import Place, places
from jumpgate.p4.programs import render

ROOT = Path(__file__).resolve().parents[2]
CASES = sorted((ROOT / "tests" / "cases" / "p4").glob("*.p4"))
PROGRAMS = sorted((ROOT / "p4" / "programs").glob("*.p4"))
WANTED = re.compile(r"// error: (\d+):(\d+) (.*)")


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.stem)
def test_mistakes_are_found_where_they_are(case: Path) -> None:
    """Each file says in comments what is wrong with it: every mistake, and nothing else."""
    text = case.read_text()
    wanted = [(int(line), int(column), message) for line, column, message in WANTED.findall(text)]
    with pytest.raises(P4Error) as caught:
        compile_source(text, str(case))
    problems = caught.value.problems
    assert wanted and [p.position[1:] for p in problems] == [w[:2] for w in wanted]
    for problem, (*_, message) in zip(problems, wanted, strict=True):
        assert message in problem.message
        assert str(problem).startswith(f"{case}:{problem.position.line}:{problem.position.column}: error: ")
        assert re.search(r"\n +\^$", str(problem))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_programs_compile_to_the_same_text(program: Path) -> None:
    first = compile_source(program.read_text(), program.name, profile="none")
    assert first.cpp == compile_source(program.read_text(), program.name, profile="none").cpp
    assert {t.preamble.name for t in first.p4info.tables} == {t.name for t in first.program.tables}


def test_registers_that_one_index_reaches_lie_together() -> None:
    program = front_end(render.render(render.PROGRAMS["aggregate"]), "aggregate.p4")
    found = dict(zip((r.name.rpartition(".")[2] for r in program.registers), places(program), strict=True))
    of_slot = {name: at for name, at in found.items() if name.endswith("_2")}
    assert len({at.home for at in of_slot.values()}) == 1 and {at.stride for at in of_slot.values()} == {64}
    spans = sorted(
        (found[name].offset, found[name].offset + len(r.fields) * r.fields[0][1].width // 8)
        for r in program.registers
        if (name := r.name.rpartition(".")[2]) in of_slot
    )
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans)) and spans[-1][1] <= 64
    assert found["window"] == Place(0, 0, 4) and len({at.home for at in found.values()}) == 5


def test_lines_of_large_registers_are_fetched_ahead() -> None:
    """Once each, as soon as the packet's bucket is known, and before any slot's registers are used."""
    lines = compile_source(render.render(render.PROGRAMS["aggregate"]), "aggregate.p4", profile="none").cpp.splitlines()
    ahead = [i for i, line in enumerate(lines) if line.lstrip().startswith("fetch_ahead(context.registers")]
    used = [i for i, line in enumerate(lines) if "// claim_" in line]
    assert len(ahead) == len(used) == 4 and max(ahead) < min(used)
    registers = [re.search(r"registers\[(\d+)\]", lines[at + 1])[1] for at in used]  # type: ignore[index]
    assert [re.search(r"registers\[(\d+)\]", lines[at])[1] for at in ahead] == registers  # type: ignore[index]
