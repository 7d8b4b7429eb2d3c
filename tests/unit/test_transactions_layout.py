"""Which rows are hot, how they are spread over arrays, and what a trace says."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import networkx as nx
import pytest

from bench.transactions import single_pass_max, smallbank
from jumpgate.cli.main import main
from jumpgate.p4.programs.transactions import DEFAULT, TransactionSizes
from jumpgate.transactions.advise import advise, explain, lay_out
from jumpgate.transactions.layout import Work, arrange, hottest, max_cut, order_parts
from jumpgate.transactions.trace import read_trace

TRACE = """
BEGIN; UPDATE savings SET b = b - 5 WHERE id = 1; UPDATE checking SET b = b + 5 WHERE id = 2; COMMIT; -- a comment
BEGIN; UPDATE savings SET b = b + 1 WHERE id = 1; UPDATE stock SET n = n - 1 WHERE item = 'x;y'; COMMIT;
BEGIN; UPDATE savings SET b = b + 1 WHERE id = 1; INSERT INTO history VALUES (1); COMMIT;
BEGIN; SELECT b FROM savings WHERE id = 1; UPDATE stock SET n = 3 WHERE item = 'x;y'; COMMIT;
BEGIN; UPDATE savings SET b = 0 WHERE id = 1; ROLLBACK;
SELECT b FROM savings WHERE id = 9;
"""


def inside(graph: nx.Graph, part: dict[object, int]) -> float:
    return sum(e["weight"] for a, b, e in graph.edges(data=True) if part[a] == part[b])


def optimum(graph: nx.Graph, parts: int, part_max: int) -> float:
    """By trying all."""
    nodes = list(graph)
    splits = (
        dict(zip(nodes, (0, *rest), strict=True)) for rest in itertools.product(range(parts), repeat=len(nodes) - 1)
    )
    allowed = (s for s in splits if max(list(s.values()).count(p) for p in range(parts)) <= part_max)
    return min(inside(graph, split) for split in allowed)


@pytest.mark.parametrize(("rows", "parts"), [(12, 2), (8, 3), (7, 4)])
def test_cuts_are_as_good_as_the_best(rows: int, parts: int) -> None:
    rng = random.Random(rows)
    for _ in range(4):
        graph = nx.gnp_random_graph(rows, 0.5, seed=rng.randrange(1 << 30))
        for _, _, edge in graph.edges(data=True):
            edge["weight"] = rng.randint(1, 20)
        room = -(-rows // parts)
        part = max_cut(graph, parts, room)
        assert max(list(part.values()).count(p) for p in range(parts)) <= room
        total = graph.size(weight="weight")
        assert total - inside(graph, part) >= 0.98 * (total - optimum(graph, parts, room))


def test_more_rows_than_room_are_refused() -> None:
    with pytest.raises(ValueError, match="3 rows do not fit 2 arrays of 1"):
        max_cut(nx.complete_graph(3), 2, 1)


def test_parts_are_ordered_by_the_heavier_direction() -> None:
    sizes = TransactionSizes(levels=3, columns=1)
    assert order_parts({(2, 0): 5, (0, 1): 3, (1, 2): 4}, sizes) == [2, 0, 1]


def test_smallbank_takes_one_pass() -> None:
    """Hot customers with two accounts: transfers between any two customers, and from one's savings to its checking."""
    rng, works = random.Random(1), []
    for _ in range(2000):
        a, b = rng.sample(range(5), 2)
        kind = rng.randrange(3)
        if kind == 0:
            works.append(Work((("c", a), ("c", b)), ((("c", a), ("c", b)),)))
        elif kind == 1:
            works.append(Work((("s", a), ("c", a))))
        else:
            works.append(Work((("s", a), ("c", a), ("c", b)), ((("s", a), ("c", b)), (("c", a), ("c", b)))))
    layout = arrange(works)
    assert sum(layout.passes(w) in (1, 2) for w in works) == len(works)
    assert layout.cut > 0.9


def test_smallbank_of_five_customers_has_the_best_layout() -> None:
    """Of five checking balances on three levels, eight of ten pairs differ in theirs; one direction of each fits."""
    works = smallbank(5)
    layout = arrange(works)
    share = sum(layout.passes(w) == 1 for w in works) / len(works)
    assert share == pytest.approx(single_pass_max(5)) == pytest.approx((4 + 2 * 8 / 20) / 6)


def test_a_dependence_against_the_order_takes_another_pass() -> None:
    layout = arrange([Work(("a", "b"), (("a", "b"),))] * 9 + [Work(("a", "b"), (("b", "a"),))])
    assert layout.passes(Work(("a", "b"), (("a", "b"),))) == 1
    assert layout.passes(Work(("a", "b"), (("b", "a"),))) == 2
    assert layout.passes(Work(("a", "cold"))) is None


def test_the_hottest_rows_come_first() -> None:
    assert hottest([Work(("a",)), Work(("b", "a")), Work(("c",))], 2) == ["a", "b"]
    assert DEFAULT.arrays << DEFAULT.index_bits == 524288


def test_traces_are_read_as_transactions() -> None:
    trace = read_trace(TRACE)
    assert [[a.row for a in t] for t in trace] == [
        [("savings", "1"), ("checking", "2")],
        [("savings", "1"), ("stock", "'x;y'")],
        [("savings", "1"), None],
        [("savings", "1"), ("stock", "'x;y'")],
        [("savings", "9")],
    ]
    assert [a.writes for a in trace[3]] == [False, True]


def test_sessions_of_a_log_are_told_apart() -> None:
    log = "".join(
        f"2026-01-01 00:00:0{n} UTC [{session}] LOG:  statement: {text}\n"
        for n, (session, text) in enumerate(
            [(1, "BEGIN"), (2, "BEGIN"), (1, "UPDATE t SET v = 1\n WHERE k = 1"), (2, "UPDATE t SET v = 1 WHERE k = 2"),
             (1, "COMMIT"), (2, "ROLLBACK")]
        )
    )  # fmt: skip
    assert [[a.row for a in t] for t in read_trace(log)] == [[("t", "1")]]


def test_each_transaction_is_explained() -> None:
    trace = read_trace(TRACE)
    layout = lay_out(trace, rows_max=1)
    assert [explain(t, layout).kind for t in trace] == ["warm", "warm", "warm", "cold", "cold"]
    assert "is written after a hot row was read" in explain(trace[3], layout).reason
    both = lay_out(trace, rows_max=3)
    assert explain(trace[0], both).text() == "hot: all its rows are hot"
    found = advise(trace, both)
    assert found.kinds == {"hot": 3, "warm": 1, "cold": 1}
    assert found.single_pass == 1.0


def test_the_command_line_advises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.sql"
    path.write_text(TRACE)
    with pytest.raises(SystemExit) as ended:
        main(["transactions", "advise", str(path), "--rows", "3"])
    assert ended.value.code == 0
    assert "3 hot rows have 88% of the accesses" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["transactions", "explain", str(path), "--rows", "1"])
    assert "4 cold: cold row stock.'x;y' is written after a hot row was read" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["transactions", "advise", str(tmp_path / "none.sql")])
    assert ended.value.code == 1
