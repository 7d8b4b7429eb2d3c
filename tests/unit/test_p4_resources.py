"""What P4 programs take of the hardware, beside Cheetah's Table 2, and that what does not fit is refused."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from jumpgate.errors import ConfigError
from jumpgate.p4.compiler import P4Error, compile_source, front_end, report
from jumpgate.p4.compiler.allocation.phv import Containers
from jumpgate.p4.compiler.allocation.placement import place
from jumpgate.p4.compiler.allocation.resources import Resources
from jumpgate.p4.compiler.frontend.source import Diagnostics
from jumpgate.p4.compiler.profile import load_profile
from jumpgate.p4.programs import transactions
from jumpgate.p4.programs.render import PROGRAMS, PruneSizes, render

CASES = Path(__file__).resolve().parents[1] / "cases" / "p4"


def test_a_program_that_is_too_long_says_where() -> None:
    with pytest.raises(P4Error, match=r"x\.p4:\d{3}:\d+: error: the program needs \d\d stages, a Tofino 1 has 12"):
        compile_source(render(PruneSizes(("groupby",), groupby_columns=16)), "x.p4")
    fits = report(render(PruneSizes(("groupby",), groupby_columns=12)), "x.p4", "tofino2")
    assert not fits.problems and 12 < len(fits.stages) <= 20


def test_programs_that_fit_no_hardware_are_compiled_when_asked() -> None:
    text = render(PruneSizes(("join_bf",), bloom_bits=24))
    with pytest.raises(P4Error, match="needs 129 stateful blocks in one stage; there are 48"):
        compile_source(text, "x.p4")
    made = compile_source(text, "x.p4", profile="none")
    assert made.cpp and not made.resources.problems


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_report_is_consistent(name: str) -> None:
    made = report(render(PROGRAMS[name]), "x.p4")
    data = made.to_dict()
    assert not made.problems and data["problems"] == []
    assert data["stages_used"] == len(data["stages"]) <= data["stages_max"]
    for stage in made.stages:
        assert all(used <= made.profile.stage[what] for what, used in stage.items())
    for size, used in data["phv_containers"].items():
        assert 0 < used <= data["phv_containers_max"][size]
    assert f"{data['stages_used']} of 12 stages" in made.text()
    assert "does not fit" not in made.text()


#: what p4c-barefoot 9.13.4 placed: stages, stateful ALUs, blocks of SRAM
PLACED = {
    "prune_topn": (10, 11, 40), "prune_join": (11, 7, 218), "prune_groupby": (11, 8, 39), "prune": (10, 20, 88),
    "prune_distinct": (10, 17, 53), "prune_skyline": (11, 13, 105), "aggregate": (12, 37, 376),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_less_is_claimed_than_a_tofinos_compiler_takes(name: str) -> None:
    made = report(render(PROGRAMS[name]), "x.p4")
    stages, alus, blocks = PLACED[name]
    assert (len(made.stages), made.totals["stateful_alus"]) == (stages, alus)
    assert blocks <= made.totals["sram_blocks"] <= blocks + 8


#: a register's result that an action of a table puts into fields, which others read before and behind
RESULTS = """
    #include "include/frame.p4h"
    INGRESS {
        Register<bit<32>, bit<8>>(256, 0) counts;
        RegisterAction<bit<32>, bit<8>, bit<32>>(counts) next = {
            void apply(inout bit<32> value, out bit<32> rv) { value = value + 1; rv = value; }
        };
        action counted() { md.x = next.execute(hdr.data.flag); hdr.data.b = md.x; }
        action kept() { hdr.data.b = md.x; }
        table t { key = { hdr.data.a: exact; } actions = { counted; kept; } const default_action = kept(); size = 4; }
        apply { md.x = hdr.data.a + 1; hdr.data.c = hdr.data.b; t.apply(); hdr.data.a = md.x + hdr.data.b; }
    }
    #include "include/rest.p4h"
"""


@pytest.mark.parametrize("name", ["transactions", "prune", "results"])
def test_stages_keep_the_order_of_reads_and_writes(name: str) -> None:
    """Whatever is claimed for it, a unit lies behind each that writes what it touches, and not before who reads it."""
    sources = {"transactions": transactions.render, "prune": lambda: render(PROGRAMS[name]), "results": lambda: RESULTS}
    found = Diagnostics()
    stages = place(front_end(sources[name](), str(CASES / "x.p4")), load_profile("tofino1"), found)
    assert not found.found
    units = sorted(((at, u) for at, stage in enumerate(stages) for u in stage.units), key=lambda item: item[1].number)
    decided = (".hit", ".action", ".entry")  # a gateway asks for these in the table's stage
    for (first, a), (second, b) in itertools.combinations(units, 2):
        branches = dict(a.guard)
        if any(branches.get(gateway, branch) != branch for gateway, branch in b.guard):
            continue
        shared = a.writes & (b.reads | b.writes)
        if b.kind == "gateway":
            shared = {slot for slot in shared if not slot.name.endswith(decided)}
        assert first < second or not shared, (a.name, b.name)
        assert first <= second or not a.reads & b.writes, (a.name, b.name)


# ---- gateways, and tables that no stage has room for ----


def whole(declares: str, apply: str) -> str:
    return f'#include "include/frame.p4h"\nINGRESS {{ {declares} apply {{ {apply} }} }}\n#include "include/rest.p4h"'


def placed(declares: str, apply: str) -> Resources:
    return report(whole(declares, apply), str(CASES / "x.p4"))


@pytest.mark.parametrize(
    "condition",
    [
        "hdr.data.short < 1024", "1024 > hdr.data.short", "hdr.data.short >= 1024", "1023 >= hdr.data.short",
        "hdr.data.a > 0xffff", "hdr.data.a < 1", "(int<32>)hdr.data.a < 0", "0 <= (int<32>)hdr.data.a",
        "(int<32>)hdr.data.a > -1", "-1 >= (int<32>)hdr.data.a",
    ],
)  # fmt: skip
def test_gateways_ask_whether_high_bits_are_set(condition: str) -> None:
    made = compile_source(whole("", f"if ({condition}) {{ hdr.data.flag = 1; }}"), str(CASES / "x.p4"))
    assert made.resources.totals["gateways"] == 1


@pytest.mark.parametrize(
    "condition",
    [
        "hdr.data.short < 1000", "hdr.data.short <= 1024", "1024 < hdr.data.short", "hdr.data.short < md.s",
        "hdr.data.a >= 0xffff", "(int<32>)hdr.data.a < 1024", "(int<32>)hdr.data.a <= 0",
    ],
)  # fmt: skip
def test_other_orders_of_wide_fields_are_refused(condition: str) -> None:
    with pytest.raises(P4Error, match="a gateway of a Tofino 1 orders fields of 12 bits and constants"):
        compile_source(whole("", f"if ({condition}) {{ hdr.data.flag = 1; }}"), str(CASES / "x.p4"))


@pytest.mark.parametrize("value", ["~md.x & md.y", "md.x & ~md.y", "~md.x | ~md.y", "md.x ^ ~md.y", "~(md.x & ~md.y)"])
def test_bitwise_operations_invert_what_they_take(value: str) -> None:
    made = compile_source(whole("", f"hdr.data.a = {value};"), str(CASES / "x.p4"))
    assert len(made.resources.stages) == 1


def test_stateful_alus_invert_what_they_take() -> None:
    declares = """
    Register<bit<32>, bit<8>>(4) r;
    RegisterAction<bit<32>, bit<8>, bit<32>>(r) clear = {
        void apply(inout bit<32> v, out bit<32> o) { o = v; v = v & ~hdr.data.b; }
    };
    """
    made = compile_source(whole(declares, "hdr.data.a = clear.execute(1);"), str(CASES / "x.p4"))
    assert made.resources.totals["stateful_alus"] == 1
    with pytest.raises(P4Error, match="computes with the result of another operation"):
        text = whole(declares.replace("~hdr.data.b", "~(hdr.data.b | hdr.data.c)"), "hdr.data.a = clear.execute(1);")
        compile_source(text, str(CASES / "x.p4"))


@pytest.mark.parametrize("value", ["~(md.x + 1) & md.y", "~md.x + md.y", "(~md.x & md.y) ^ hdr.data.b"])
def test_further_operations_take_further_stages(value: str) -> None:
    with pytest.raises(P4Error, match="one action would take several stages"):
        compile_source(whole("", f"hdr.data.a = {value};"), str(CASES / "x.p4"))


SET = "action set(bit<8> x) { hdr.data.flag = x; } action put(bit<8> x) { hdr.data.kind = x; }"
BEHIND = "table behind { key = { hdr.data.flag: exact; } actions = { put; } size = 100; }"


@pytest.mark.parametrize(
    ("key", "size", "what", "blocks"),
    [
        ("hdr.data.a: exact", 300_000, "sram_blocks", [80, 67, 4]),  # two entries of 48 bits in a word
        ("hdr.data.a: ternary", 20_000, "tcam_blocks", [24, 16, 0]),
        ("hdr.data.a: lpm", 1 << 16, "tcam_blocks", [24, 24, 24, 24, 24, 8, 0]),
        ("hdr.data.a: exact", 100_000, "sram_blocks", [49, 4]),
    ],
)
def test_tables_lie_in_as_many_stages_as_they_need(key: str, size: int, what: str, blocks: list[int]) -> None:
    """What waits for such a table comes behind all of it."""
    declares = SET + BEHIND + f"table large {{ key = {{ {key}; }} actions = {{ set; }} size = {size}; }}"
    made = placed(declares, "large.apply(); behind.apply();")
    assert not made.problems and [stage[what] for stage in made.stages] == blocks
    assert made.holds == (*[("Ingress.large",)] * (len(blocks) - 1), ("Ingress.behind",))


def test_counters_of_entries_lie_where_these_do() -> None:
    declares = """
    DirectCounter<bit<32>>(CounterType_t.PACKETS) hits; action hit() { hits.count(); }
    table large { key = { hdr.data.a: exact; } actions = { hit; } size = 200000; counters = hits; }
    """
    made = placed(declares, "large.apply();")
    assert not made.problems and [stage["sram_blocks"] for stage in made.stages] == [80, 80, 6]


def test_a_table_that_no_stages_have_room_for() -> None:
    declares = SET + "table large { key = { hdr.data.a: exact; } actions = { set; } size = 3000000; }"
    said = "needs 19 stages, a Tofino 1 has 12; table 'Ingress.large' comes too late"
    assert any(said in message for _, message in placed(declares, "large.apply();").problems)


# ---- the packet header vector ----

BY_TURNS = """
    first = hdr.data.a + 1; hdr.data.b = all.get({ first });
    second = hdr.data.b + 1; hdr.data.c = all.get({ second });
"""
TOGETHER = """
    first = hdr.data.a + 1; second = hdr.data.a + 2;
    hdr.data.b = all.get({ first, second }); hdr.data.c = all.get({ second, first });
"""
CONDITIONAL = BY_TURNS.replace("second = ", "if (hdr.data.flag == 1) { second = ").replace(
    "+ 1; hdr.data.c", "+ 1; } hdr.data.c"
)


def containers(apply: str) -> Containers:
    """Of a program with that body around tests/cases/p4/include; `first`, `second` are fields of the metadata."""
    text = f"""
    #include "include/frame.p4h"
    INGRESS {{
        Hash<bit<32>>(HashAlgorithm_t.CRC32) all;
        apply {{ {apply.replace("first", "md.x").replace("second", "md.y")} }}
    }}
    #include "include/rest.p4h"
    """
    return report(text, str(CASES / "x.p4"), "tofino2").phv


def test_having_may_have_more_counters() -> None:
    """With no more stages and ALUs: 2^15 of each row."""
    default = PROGRAMS["prune"]
    assert isinstance(default, PruneSizes)
    few, many = (report(render(replace(default, having_bits=bits)), "prune.p4") for bits in (10, 15))
    assert not many.problems and len(many.stages) == len(few.stages) == 10
    assert many.totals["stateful_alus"] == few.totals["stateful_alus"]
    assert many.register_bits - few.register_bits == 3 * 32 * ((1 << 15) - (1 << 10))


def test_headers_that_only_pass_are_tagalong() -> None:
    idle = containers("")
    assert idle.tagalong_bits == 24 * 8 and idle.used == {8: 1, 16: 0, 32: 0}  # one says what is valid
    assert containers("hdr.data.long = 0;").tagalong_bits == 16 * 8


def test_metadata_share_containers_by_turns() -> None:
    bits = {name: sum(size * n for size, n in containers(body).used.items()) for name, body in (
        ("turns", BY_TURNS), ("together", TOGETHER), ("conditional", CONDITIONAL))}  # fmt: skip
    assert bits["together"] == bits["turns"] + 32
    assert bits["conditional"] > bits["turns"]  # read on a path that did not write it: it lives from the parser on


# ---- Cheetah's Table 2 ----


@dataclass(frozen=True)
class Figures:
    """Of one algorithm: stages that hold its registers, stateful ALUs, bits of registers."""

    stages: int
    alus: int
    bits: int


def measured(name: str, prefix: str, profile: str, sizes: dict[str, int]) -> Figures:
    program = front_end(render(PruneSizes((name,), **sizes)), "x.p4")
    found = Diagnostics()
    stages = place(program, load_profile(profile), found)
    assert not found.found
    own = {i for i, r in enumerate(program.registers) if r.name.startswith(f"Ingress.{prefix}_")}
    used = [{r for u in stage.units for r in u.registers if r in own} for stage in stages]
    bits = sum(program.registers[r].size * sum(t.width for _, t in program.registers[r].fields) for r in own)
    return Figures(sum(map(bool, used)), sum(map(len, used)), bits)


ALUS, REGIONS, DIMENSIONS = 4, 1 << 4, 2
#: prefix of registers; sizes for w columns and 2^b rows; Cheetah's figures; ours where they differ (compiler/README.md)
TABLE: dict[str, tuple[str, Any, Any, Any]] = {
    "distinct_lru": (
        "lru", lambda w, b: {"distinct_columns": w, "distinct_bits": b},
        lambda w, d: Figures(w, w, 64 * d * w), lambda w, d: {"alus": 2 * w},
    ),
    "distinct_fifo": (
        "fifo", lambda w, b: {"distinct_columns": w, "distinct_bits": b},
        lambda w, d: Figures(-(-w // ALUS), w, 64 * d * w),
        lambda w, d: {"stages": w + 1, "alus": w + 1, "bits": 64 * d * w + 8 * d},
    ),
    "topn_det": (
        "det", lambda w, b: {"topn_thresholds": w},
        lambda w, d: Figures(w + 1, w + 1, 64 * (w + 1)),
        lambda w, d: {"stages": 2 + -(-w // ALUS), "alus": w + 2, "bits": 32 * (w + 2) * REGIONS},
    ),
    "topn_rand": (
        "rand", lambda w, b: {"topn_columns": w, "topn_bits": b},
        lambda w, d: Figures(w, w, 64 * d * w), lambda w, d: {"bits": 32 * d * w},
    ),
    "groupby": (
        "groupby", lambda w, b: {"groupby_columns": w, "groupby_bits": b},
        lambda w, d: Figures(w, w, 64 * d * w),
        lambda w, d: {"stages": w + 1, "alus": w + 1, "bits": 64 * d * w + 8 * d},
    ),
    "join_bf": (
        "bf", lambda w, b: {"bloom_bits": b},
        lambda w, d: Figures(2, 3, 3 * d), lambda w, d: {"alus": 6, "bits": 6 * d},
    ),
    "join_rbf": (
        "rbf", lambda w, b: {"rbf_bits": b},
        lambda w, d: Figures(1, 1, 64 * d), lambda w, d: {"alus": 4, "bits": 128 * d},
    ),
    "having": (
        "having", lambda w, b: {"having_bits": b},
        lambda w, d: Figures(-(-3 // ALUS), 3, 3 * 64 * d), lambda w, d: {"bits": 3 * 32 * d},
    ),
    "skyline": (
        "sky", lambda w, b: {"skyline_points": w},
        lambda w, d: Figures(2 * w, w * (DIMENSIONS + 1), 64 * w * (DIMENSIONS + 1)),
        lambda w, d: {"alus": 2 * w * (DIMENSIONS + 1), "bits": 64 * w * (DIMENSIONS + 1) * REGIONS},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize(("columns", "bits"), [(2, 12), (2, 10), (3, 8), (6, 11)])
def test_figures_are_cheetahs_or_differ_as_stated(name: str, columns: int, bits: int) -> None:
    prefix, sizes, paper, ours = TABLE[name]
    difference = ours(columns, 1 << bits)
    wanted = replace(paper(columns, 1 << bits), **difference)
    assert all(getattr(paper(4, 1 << 12), what) != ours(4, 1 << 12)[what] for what in difference)
    assert measured(name, prefix, "tofino2", sizes(columns, bits)) == wanted


def test_the_tables_of_the_skyline() -> None:
    """2^16 logarithms of 32 bits for each dimension, and 17 ternary entries in place of 64."""
    program = front_end(render(PruneSizes(("skyline",))), "x.p4")
    tables = {t.name.removeprefix("Ingress."): t for t in program.tables if "sky_l" in t.name}
    assert {n: (t.size, t.keys[0].match) for n, t in tables.items()} == {
        "sky_leading_x_0": (17, "ternary"), "sky_leading_y_0": (17, "ternary"),
        "sky_logs_x_0": (1 << 16, "exact"), "sky_logs_y_0": (1 << 16, "exact"),
    }  # fmt: skip


def test_an_unknown_profile_is_named() -> None:
    with pytest.raises(ConfigError, match="no hardware profile 'tofino9'; there are none, tofino1, tofino2"):
        compile_source("", "x.p4", profile="tofino9")
