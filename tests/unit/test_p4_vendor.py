"""The model refuses what a Tofino 1's own compiler refuses, for the same reason; and how that compiler is asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench._tna_verdicts import accepted
from jumpgate.cli.main import cli
from jumpgate.errors import ConfigError
from jumpgate.p4.compiler import compile_source, front_end
from jumpgate.p4.compiler.allocation.chain import longest_chain
from jumpgate.p4.compiler.judge import VARIABLE, find, judge
from jumpgate.p4.programs import render
from tests.support import vendor_cases

CASES = vendor_cases.cases()
#: what the model says where it refuses, by rule
REASONS = {
    1: "twice on one path", 2: "of two words gives out", 3: "is too complex", 4: "subtracts its data",
    5: "hashes in a row are one action", 6: "the condition compares", 7: "give each operation a table without keys",
    8: "compares 20 as a range", 9: "make it two actions", 10: "stages, a Tofino 1 has 12",
}  # fmt: skip


def test_there_are_enough_cases() -> None:
    refused = [case for case in CASES if not case.accepted]
    assert len(CASES) >= 60 and len({case.name for case in CASES}) == len(CASES)
    assert abs(len(refused) - len(CASES) / 2) <= len(CASES) / 20
    assert {case.rule for case in refused} == {case.rule for case in CASES} == set(REASONS)
    assert {case.source for case in CASES} <= {"run", "rule"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_model_says_what_is_recorded(case: vendor_cases.Case) -> None:
    said = vendor_cases.refusal(case)
    assert bool(said) != case.accepted
    assert case.accepted or all(
        REASONS[case.rule] in line for line in said.splitlines() if re.search(r":\d+: error: ", line)
    )


def hashed(actions: str, apply: str) -> vendor_cases.Case:
    declares = f"Hash<bit<64>>(HashAlgorithm_t.CRC64) h; Hash<bit<32>>(HashAlgorithm_t.CRC32) k; {actions}"
    return vendor_cases.Case("hashed", 5, True, "rule", declares, apply)


@pytest.mark.parametrize(
    ("into", "said"),
    [
        ("hdr.data.long[31:0] = k.get({hdr.data.a});", ""),  # of the field the rest stays
        ("hdr.data.long[47:16] = h.get({hdr.data.a})[31:0];", ""),  # these bits alone are an action's data
        ("hdr.data.a = h.get({hdr.data.a})[31:0] & hdr.data.b;", "several stages"),
        ("hdr.data.long[47:0] = h.get({hdr.data.a})[47:0];", "32 bits of them, not 48"),
    ],
)
def test_parts_of_hashes_and_of_fields(into: str, said: str) -> None:
    for case in (hashed("", into), hashed(f"action a() {{ {into} }}", "a();")):
        assert said in vendor_cases.refusal(case) if said else not vendor_cases.refusal(case)


def test_other_hardware_is_not_held_to_these_rules() -> None:
    for case in CASES:
        if case.rule != 10:
            assert compile_source(case.text, str(vendor_cases.FOLDER / "x.p4"), profile="none").cpp, case.name


def test_the_longest_chain_is_shown_by_statement(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "eight_sums")
    program = front_end(case.text, str(vendor_cases.FOLDER / "x.p4"))
    links = longest_chain(program)
    assert [link.stage for link in links] == sorted(link.stage for link in links)
    assert [link.unit.name for link in links if link.unit.kind == "table"] == [f"Ingress.s{i}" for i in range(8)]
    source = tmp_path / "x.p4"
    source.write_text(render.render(render.PROGRAMS["prune_topn"]))
    done = CliRunner().invoke(cli, ["switch", "resources", str(source), "--chain"], catch_exceptions=False)
    assert re.search(
        r"the longest chain:\nstage 0 .*\n(stage .*\n)*stage \d+ .*if \(md.s0.pruned\[1:1\] == 1", done.output
    )


# ---- the judge ----

#: in place of p4c-barefoot and bfas: what they would write, and say
COMPILER = """#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
if grep -q REFUSED "$1"; then
    echo "$1(2): [--Werror=unsupported] error: index is too complex"
    sed -n 2p "$1"
    echo "       ^^^^^"
    echo "1 error"
    exit 1
fi
mkdir -p "$out/pipe"
printf 'version:\\nstage 0 ingress:\\nstage 7 ingress:\\nstage 3 egress:\\n' > "$out/pipe/x.bfa"
"""
ASSEMBLER = """#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
cp "$(dirname "$0")/context.json" "$out/context.json"
[ -e "$(dirname "$0")/full" ] || exit 0
echo "$1:1: error: tofino supports up to 12 stages, using 14"
exit 1
"""


def memory(units: list[int], spare: int | None = None) -> dict[str, object]:
    groups = [{"memory_units": [unit], "vpns": [i]} for i, unit in enumerate(units)]
    return {"memory_type": "sram", "memory_units_and_vpns": groups, "spare_bank_memory_unit": spare}


CONTEXT = {
    "tables": [
        {"table_type": "stateful", "stage_tables": [
            {"stage_number": 1, "memory_resource_allocation": memory([0, 1], 2)},
        ]},
        {"table_type": "match", "stage_tables": [
            {"stage_number": 2, "ways": [{"memory_resource_allocation": memory([unit])} for unit in (0, 4)]},
            {"stage_number": 3, "memory_resource_allocation": {"memory_type": "tcam", "memory_units_and_vpns": []}},
        ]},
    ]
}  # fmt: skip


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("p4c-barefoot", COMPILER), ("bfas", ASSEMBLER)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "context.json").write_text(json.dumps(CONTEXT))
    return folder / "p4c-barefoot"


def test_a_program_that_fits(compiler: Path, tmp_path: Path) -> None:
    source = tmp_path / "x.p4"
    source.write_text(render.render(render.PROGRAMS["prune_topn"]))
    verdict = judge(source, compiler)
    assert verdict.accepts and (verdict.stages, verdict.stateful_alus, verdict.sram_blocks) == (8, 1, 5)
    words = ["switch", "verify", str(source), "--compiler", str(compiler)]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0 and "p4c-barefoot accepts" in done.output and "the model accepts it" in done.output
    assert re.search(r"stages\s+8\s+\d+\s+stateful ALUs\s+1\s+11\s+SRAM blocks\s+5\s+\d+", done.output)
    done = CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False)
    data = json.loads(done.output)
    assert data["accepts"] and data["claimed"]["stateful_alus"] == 11 and data["model_refuses"] == ""


def test_its_errors_are_in_our_form(compiler: Path, tmp_path: Path) -> None:
    source = tmp_path / "x.p4"
    source.write_text("// REFUSED\nr.act.execute(a ^ b);\n")
    words = ["switch", "verify", str(source)]
    done = CliRunner().invoke(cli, words, catch_exceptions=False, env={VARIABLE: str(compiler)})
    assert done.exit_code == 1
    assert f"{source}:2:8: error: index is too complex\n    r.act.execute(a ^ b);\n           ^\n" in done.output
    assert "p4c-barefoot refuses" in done.output and "the model refuses it" in done.output


def test_what_the_assembler_refuses_does_not_fit(compiler: Path, tmp_path: Path) -> None:
    (compiler.parent / "full").touch()
    source = tmp_path / "x.p4"
    source.write_text("// too long\n")
    verdict = judge(source, compiler)
    assert not verdict.accepts and verdict.stages == 8
    assert [p.message for p in verdict.problems] == ["tofino supports up to 12 stages, using 14"]


def test_a_compiler_that_says_nothing_or_does_not_end(compiler: Path, tmp_path: Path) -> None:
    source = tmp_path / "x.p4"
    source.write_text("// x\n")
    compiler.write_text("#!/bin/sh\nexit 3\n")
    assert "ended with status 3: it said nothing" in judge(source, compiler).problems[0].message
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    assert "did not end within 0.2 seconds" in judge(source, compiler, 0.2).problems[0].message


def test_without_a_compiler_it_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ConfigError, match="no Tofino compiler is known: give --compiler PATH, or set JUMPGATE_P4C"):
        find(None)
    with pytest.raises(ConfigError, match="no Tofino compiler at 'nowhere/p4c'.*p4c-barefoot"):
        find("nowhere/p4c")
    (tmp_path / "p4c-barefoot").write_text(COMPILER)
    (tmp_path / "p4c-barefoot").chmod(0o755)
    source = tmp_path / "x.p4"
    source.write_text("// x\n")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(ConfigError, match="no assembler 'bfas' beside"):
        judge(source, find(str(tmp_path / "p4c-barefoot")))


def test_actions_that_a_control_calls_are_not_read_through() -> None:
    """Each is a table, as that compiler makes it; those that an action calls are a part of it."""
    declares = """
bit<32> t;
action first() {{ t = hdr.data.a + hdr.data.b; }}
action second() {{ {first}hdr.data.a = t ^ hdr.data.b; }}
"""
    apart, nested, in_a_row = (
        vendor_cases.Case(name, 7, accepted, "rule", declares.format(first=first), apply)
        for name, accepted, first, apply in (
            ("apart", True, "", "first(); second();"),
            ("nested", False, "first(); ", "second();"),
            ("in a row", False, "", "t = hdr.data.a + hdr.data.b; hdr.data.a = t ^ hdr.data.b;"),
        )
    )
    assert not vendor_cases.refusal(apart)
    for case in (nested, in_a_row):
        assert REASONS[7] in vendor_cases.refusal(case)


def test_programs_of_the_kit_are_those_that_it_builds(tmp_path: Path) -> None:
    folder = tmp_path / "pkgsrc" / "p4-examples"
    pair = folder / "p4_16_programs" / "tna_32q_multiprogram"
    switch = tmp_path / "pkgsrc" / "switch-p4-16" / "p4src"
    for made in (pair, switch):
        made.mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text("set (P4_16_PROGRAMS\n  one\n  two\n)\nforeach(t IN LISTS P4_16_PROGRAMS)\n")
    targets = " ".join(f"${{program_name}}_{which}-${{target_suffix}}" for which in "ab")
    (pair / "CMakeLists.txt").write_text(f"add_custom_target(x DEPENDS {targets})\n")
    (switch / "CMakeLists.txt").write_text('set(X2_TOFINO "${TOFINO_PROGRAMS}/s2.p4")\n')
    names = ["one.p4", "two.p4", "tna_32q_multiprogram_a.p4", "tna_32q_multiprogram_b.p4", "s2.p4"]
    assert [file.name for file in accepted(tmp_path)] == names
