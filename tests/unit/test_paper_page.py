"""The page of the paper's evaluation: what holds, and that all text is escaped."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.study.paper import page
from jumpgate.study.paper.experiments import Measured, Phases, Placed, Reduction, Throughput


def measured() -> Measured:
    parts = {"plan": 0.001, "agents": 0.0, "compile": 0.0, "start": 0.002, "execute": 0.01, "end": 0.001}
    return Measured(
        2, 1.0, 3,
        (Phases("sales by item", "first", {**parts, "compile": 0.2}), Phases("sales by item", "warm", parts)),
        (Throughput("scan of parquet", 1e9, 1e7), Throughput("aggregation in the switch", 5e7, 2e6)),
        (Reduction("100mbit", 10_000, 200), Reduction("1gbit", 10_000, 200)),
        (Placed("100mbit", {"client": 2.0, "hosts": 0.1, "switch": 0.5}, {"client": 9, "hosts": 1, "switch": 8}),),
    )  # fmt: skip


def test_claims_hold_or_do_not() -> None:
    assert [c.holds for c in page.claims(measured())] == [True, True, True, True, True, False]
    slow = replace(measured(), throughputs=(Throughput("aggregation in the switch", 1e7, 1e6),))
    assert [c.holds for c in page.claims(slow)] == [True, False, True, True, True, False]
    much = replace(measured(), reductions=(Reduction("100mbit", 100, 90),))
    first = page.claims(much)[0]
    assert (first.published, first.measured, first.holds) == ("2.29%", "90.00%", False)


def test_shares_of_the_pictures() -> None:
    text = page.html(measured())
    assert 'title="compile: 200 ms"' in text and "width: 93.5%" in text
    assert "5 of 6 statements hold" in text
    assert "10.0 kB" in text and "200 B, 2.00%" in text
    assert "50.0 MB/s (0.400 Gbit/s)" in text


def test_what_was_not_chosen_is_left_out() -> None:
    text = page.html(Measured(2, 1.0, 3, phases=measured().phases))
    assert "Overhead by phase" in text and "Query time by where" not in text and "Each accelerator" not in text
    assert [c.published for c in page.claims(Measured(2, 1.0, 3, phases=measured().phases))] == [None]
    assert page.claims(Measured(2, 1.0, 3)) == []


def test_published_values_are_beside_the_measured_ones() -> None:
    text = page.html(measured())
    assert 'style="width: 2.3%" title="published"' in text
    assert "36.0 MB/s (0.288 Gbit/s)" in text
    assert text.count("not given") >= 4


def test_text_is_escaped_and_nothing_is_loaded() -> None:
    text = page.html(replace(measured(), throughputs=(Throughput("<b>switch</b>", 1.0, 1.0),)))
    assert "&lt;b&gt;switch" in text and "<b>switch" not in text
    assert "http" not in text and "<script" not in text


def test_data_has_what_the_page_shows() -> None:
    found = page.data(measured())
    assert found["left"] == {"100mbit": 0.02, "1gbit": 0.02}
    assert found["claims"][0]["holds"] is True
