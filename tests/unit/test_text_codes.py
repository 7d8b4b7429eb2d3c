"""Texts of build sides as codes: what travels, where dictionaries are joined, and what stays as it is."""

from __future__ import annotations

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.mapping.arrange_joins import run_of
from jumpgate.compiler.mapping.text_codes import CODE, text_codes
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Aggregate, Filter, Join, Limit, Operator, Project, Sort, SortKey, Window
from jumpgate.dataflow.types import float64, int64, string
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.fpga_join.kind import FPGA
from tests.support.plans import equals, grouped, host, joined, measured, ref, statistics, table

FACTS = table("facts", "parquet", k0=int64, k1=int64, k2=int64)
NAMES = table("t0", "parquet", t0=int64, title=string, size=int64, city=string)
NUMBERS = table("t1", "parquet", t1=int64, v1=int64)
TEXTS = table("t2", "parquet", word=string, v2=int64)


def coded(root: Operator) -> Operator | None:
    run = run_of(root, joins_min=1)
    assert run is not None
    found = text_codes(run)
    return None if found is None else found.arranged(range(len(found.steps)))


def joins(root: Operator) -> list[Join]:
    """The deepest first, without those below build sides."""
    found: list[Join] = []
    while isinstance(root, Join | Project):
        if isinstance(root, Join):
            found.insert(0, root)
        root = root.inputs[0]
    return found


def test_texts_of_a_build_side_are_joined_behind_the_run() -> None:
    root = joined(joined(FACTS, NAMES, "k0", "t0", JoinType.LEFT), NUMBERS, "k1", "t1")
    tree = coded(root)
    assert tree is not None and tree.schema.names == root.schema.names and tree.schema.types == root.schema.types
    names, numbers, dictionary = joins(tree)
    assert names.right.schema.names == ("t0", "size", CODE) and numbers.right is NUMBERS
    assert isinstance(dictionary.right, Aggregate) and dictionary.right.schema.names == (CODE, "title", "city")
    assert [j.type for j in (names, numbers, dictionary)] == ["left", "inner", "left"]
    (window,) = names.right.inputs
    assert isinstance(window, Window) and window is dictionary.right.input, "both read the same codes"


def test_a_text_that_a_later_join_reads_is_there_before() -> None:
    named = joined(FACTS, NAMES, "k0", "t0")
    tree = coded(joined(joined(named, TEXTS, "title", "word"), NUMBERS, "k1", "t1"))
    assert tree is not None
    assert [isinstance(j.right, Aggregate) for j in joins(tree)] == [False, True, False, False]


def test_what_is_not_coded() -> None:
    """Keys, columns of a condition, build sides of which no column leaves, and inputs that probe."""
    words = table("w", "parquet", word=string, k0=int64)
    assert coded(joined(table("p", "parquet", word=string), words, "word", "word")) is None
    left, right = FACTS, NAMES
    pairs = Join(left, right, JoinType.INNER, (ref(left, "k0"),), (ref(right, "t0"),))
    same = bind("eq", (ref(pairs, "title"), ref(pairs, "city")))
    assert coded(Join(left, right, JoinType.INNER, pairs.left_keys, pairs.right_keys, same)) is None
    assert coded(joined(FACTS, NAMES, "k0", "t0", JoinType.SEMI)) is None
    assert coded(joined(words, NUMBERS, "k0", "t1")) is None


def test_build_sides_that_may_have_other_rows_the_second_time_are_not_coded() -> None:
    """A limit chooses rows, and so do the first ones of equals; sums of floats depend on the order of rows."""
    measures = table("m", "parquet", t0=int64, title=string, f=float64)
    by = (SortKey(ref(NAMES, "size")),)
    for build in (Limit(NAMES, 10), Sort(NAMES, by, limit=10), grouped_by_title(measures, "f")):
        assert coded(joined(FACTS, build, "k0", "t0")) is None
    assert coded(joined(FACTS, grouped_by_title(measures, "t0"), "k0", "t0")) is not None
    assert coded(joined(FACTS, Filter(NAMES, equals(NAMES, "size", 1)), "k0", "t0")) is not None


def grouped_by_title(node: Operator, summed: str) -> Operator:
    return grouped(node, ("t0", "title"), measured(node, "sum", summed, "s"))


def test_the_plan_is_costed_with_codes_and_shows_them() -> None:
    """Rows that are wide beside the texts go to the card with codes; hosts join the dictionary."""
    rows = {"facts": 4e8, "t0": 4e6, "t1": 4e6}
    root = joined(joined(FACTS, NAMES, "k0", "t0"), NUMBERS, "k1", "t1")
    devices = (*(host(f"h{i}") for i in range(4)), FPGA.device("card", memory_bytes=4 << 30))
    options = CompileOptions(
        statistics=statistics(rows), broadcast_bytes_max=1e6, speeds={"link": 8e-9}, prefer=("fpga_join",)
    )
    text = explain_text(compile_dataflow(root, devices, default_registry(), options).explain)
    assert "window text_code = dense_rank() order #1:title, #3:city" in text
    assert "2 of 4 tables" in text and "on #0:text_code" in text.replace("= #0", "on #0")
    alone = compile_dataflow(root, devices[:4], default_registry(), options)
    assert CODE not in explain_text(alone.explain)
