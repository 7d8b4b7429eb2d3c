"""The report of a job: what it shows, that it is self-contained, and that it trusts no text."""

from __future__ import annotations

import dataclasses
import io
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console

from jumpgate import words
from jumpgate.ntf.crossed import CLIENT, HostTraffic, crossed
from jumpgate.observe import chart, report, text
from jumpgate.observe.timeline import Asked, EdgeRun, Flow, InstanceRun, PipelineRun, Span, Timeline


def sample() -> Timeline:
    scan = InstanceRun(
        "f0.0", "f0", "scan", "local", ("read(sales.json: a, b)", "aggregate(partial; by #0)"),
        (PipelineRun(Span("read sales → aggregate", 0.2, 0.5), 1, 0.9, 0.03, 1_000_000, 400),),
        (Flow("sales.json", 1_000_000, 80_000_000, 0.01, skipped_rows=2),), (Flow("e0", 400, 9_000, 0.0),), 50_000_000,
    )  # fmt: skip
    final = InstanceRun(
        "f1.0", "f1", "aggregate", "local", ("receive(e0)", "aggregate(final; by #0)"),
        (PipelineRun(Span("receive e0 → aggregate", 0.2, 0.51), 1, 0.02, 0.3, 400, 40),),
        (Flow("e0", 400, 9_000, 0.3),), (Flow("e1", 40, 900, 0.0),), 20_000_000,
    )  # fmt: skip
    return Timeline(
        job="j1", state="done", submitted_at="2026-01-01 00:00:00 UTC",
        phases=(Span("map", 0, 0.01), Span("compile", 0.01, 0.2)), stages=(Span("stage 1", 0.2, 0.51),),
        instances=(scan, final),
        edges=(
            EdgeRun("e0", "f0", "f1", "columnar", "hash(#0)", 400, 9_000),
            EdgeRun("e1", "f1", "client", "columnar", "single", 40, 900),
        ),
        total_s=0.52,
    )  # fmt: skip


class Page(HTMLParser):
    """Collects what a browser would fetch or run, and checks that tags are closed in order."""

    VOID = {"meta", "br"}

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href") or name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_page_shows_what_happened() -> None:
    page = Page(report.html(sample()))
    for shown in ("Job j1", "done", "read sales → aggregate", "80.0 MB", "9.0 kB", "f0.0", "hash(#0)", "compile"):
        assert shown in page.words


def test_what_crossed_links_is_counted_by_host() -> None:
    host_of = {"f0.0": "a", "f0.1": "b", "f1.0": "a", "f1.1": "b", "f2.0": "b"}

    def sink(edge: str, *each: int) -> dict[str, object]:
        return {"edge": edge, "bytes": sum(each), **({"peer_bytes": [*each]} if len(each) > 1 else {})}

    counters: dict[str, dict[str, object]] = {
        "f0.0": {"sinks": [sink("shuffle", 10, 20)]},
        "f0.1": {"sinks": [sink("shuffle", 300, 5)]},
        "f1.0": {"sinks": [sink("paired", 7), sink("wide", 1000)]},
        "f1.1": {"sinks": [sink("paired", 8)]},
        "f2.0": {"sinks": [sink("result", 30, 40)]},
    }
    found = crossed(
        [
            ("shuffle", ["f0.0", "f0.1"], ["f1.0", "f1.1"], False),
            ("paired", ["f1.0", "f1.1"], ["f0.0", "f2.0"], True),
            ("wide", ["f1.0"], ["f1.0", "f1.1", "f2.0", "f0.1"], False),  # more than counters are kept of
            ("result", ["f2.0"], [], False),
        ],
        host_of,
        counters,
        {"a": ["rack", "spine"], "b": ["spine"]},
        {},
    )
    assert found.networks == {"rack": (770, 300), "spine": (70, 0)}
    assert found.links == {("a", "b"): 20 + 750, ("b", "a"): 300, ("b", CLIENT): 70}
    assert found.hosts == (HostTraffic("a", 770, 300), HostTraffic("b", 370, 770))
    assert found.skew == pytest.approx(770 * 2 / 1070)
    page = Page(report.html(dataclasses.replace(sample(), crossed=found)))
    assert "Between hosts" in page.words and "1.44 times the mean" in page.words and "770 B" in page.words
    assert "Between hosts" not in Page(report.html(sample())).words
    assert crossed([], host_of, {}, {}, {}).skew == 1.0


def test_rows_are_counted_as_far_as_the_first_device_that_may_absorb_them() -> None:
    host_of = {"f0.0": "a", "f0.1": "b", "f1.0": "top"}
    counters = {i: {"sinks": [{"edge": "e0", "bytes": 10, "peer_bytes": [10]}]} for i in ("f0.0", "f0.1")}
    edge = ("e0", ["f0.0", "f0.1"], ["f1.0"], False)
    above = {"a": ["tor", "top"], "b": ["top"], "tor": ["top"]}
    found = crossed([edge], host_of, counters, above, {"top": ["tor"]})
    assert found.links == {("a", "tor"): 10, ("b", "top"): 10}
    assert found.networks == {} and crossed([edge], host_of, counters, above, {}).networks == {"tor": (10, 0)}


def test_page_is_self_contained() -> None:
    html = report.html(sample())
    page = Page(html)
    assert not page.links
    assert not {"script", "link", "iframe", "img", "object"} & set(page.tags)
    assert not re.search(r"@import|url\((?!#)|https?:", html)


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "'\"><img src=x onerror=y>", "{{ 7 * 7 }}", "\x00 & </title>"]
)
def test_page_escapes_text(hostile: str) -> None:
    plain = sample()
    instance = dataclasses.replace(plain.instances[0], nca=hostile, operators=(hostile,))
    timeline = dataclasses.replace(
        plain, job=hostile, text=hostile, error=hostile, notes=(hostile,), instances=(instance, plain.instances[1])
    )
    page = Page(report.html(timeline))
    assert not {"script", "img"} & set(page.tags)
    assert hostile in page.words


def test_page_of_a_job_that_never_ran() -> None:
    failed = Timeline(
        "j2", "failed", "now", (Span("map", 0, 0.01),), (), (), (), 0.01, error="no accelerator accepts it"
    )
    page = Page(report.html(failed))
    assert "no accelerator accepts it" in page.words
    assert "Pipelines" not in page.words


def test_bars_lie_inside_the_picture() -> None:
    stages = (Span("stage 1", 0.2, 0.4), Span("stage 2", 0.4, 0.51))
    views = chart.timeline_views(dataclasses.replace(sample(), stages=stages))
    assert [view.name for view in views] == ["the whole job", "execution", "stage 1", "stage 2"]
    assert [sum(len(lane.bars) for lane in view.lanes) for view in views] == [4, 2, 2, 2]
    for view in views:
        assert view.ticks
        for bar in (bar for lane in view.lanes for bar in lane.bars):
            assert chart.LABEL_WIDTH <= bar.x <= bar.x + bar.width <= view.width
            assert bar.y + chart.BAR_HEIGHT <= view.height


def test_the_execution_comes_first_where_set_up_is_long() -> None:
    long = dataclasses.replace(sample(), stages=(Span("stage 1", 0.4, 0.51),))
    assert [view.name for view in chart.timeline_views(long)] == ["execution", "the whole job"]


def test_page_shows_what_was_asked() -> None:
    asked = dataclasses.replace(sample(), text="SELECT <b>\nFROM t")
    assert "SELECT <b>\nFROM t" in Page(report.html(asked)).words
    assert "What was asked" not in Page(report.html(sample())).words


def test_page_shows_what_stores_were_asked() -> None:
    asked, expected = Asked(3, 0, 12_000_000, 22_000_000, 1.2e-6), Asked(9, 0, 34_000_000, 0, 3.6e-6)
    shown = " ".join(Page(report.html(dataclasses.replace(sample(), asked=asked, expected=expected))).words.split())
    assert (
        "12.0 MB3 requests of object stores, 22.0 MB from disks, cost 1.2e-06 (estimated: 34.0 MB, 9, 3.6e-06)" in shown
    )
    assert "object stores" not in Page(report.html(sample())).words


def test_a_switch_has_a_lane_while_rows_pass() -> None:
    told = sample()
    sends = PipelineRun(Span("read sales → send s0", 0.3, 0.45), 1, 0.9, 0.0, 1_000_000, 1_000_000)
    scan = dataclasses.replace(told.instances[0], pipelines=(*told.instances[0].pipelines, sends))
    switch = InstanceRun("f2.0", "f2", "switch_prune", "tor1", ("prune",), (), (), (), 0)
    edges = (
        EdgeRun("s0", "f0", "f2", "row", "single", 1_000_000, 9_000_000),
        EdgeRun("e0", "f2", "f1", "row", "single", 400, 9_000),
        told.edges[1],
    )
    told = dataclasses.replace(told, instances=(scan, switch, told.instances[1]), edges=edges)
    assert told.passing(switch) == Span("switch_prune", 0.3, 0.45)
    assert told.passing(scan) is None
    (lane,) = [lane for lane in chart.timeline_views(told)[0].lanes if lane.label == "rows pass"]
    assert lane.bars[0].label == "1 000 000 rows in, 400 out · 150 ms"
    assert "1 000 000 rows in, 400 out" in Page(report.html(told)).words


def test_boxes_do_not_overlap_and_edges_run_to_the_right() -> None:
    graph = chart.graph_chart(sample())
    first, second, client = graph.boxes
    assert first.x + first.width < second.x and second.x + second.width < client.x
    assert len(graph.lines) == 2
    assert graph.lines[0].width > graph.lines[1].width > 0


def test_a_filter_edge_runs_back_to_where_rows_come_from() -> None:
    told = sample()
    edges = (*told.edges, EdgeRun("k0", "f1", "f0", "columnar", "broadcast", 7, 60, is_filter=True))
    graph = chart.graph_chart(dataclasses.replace(told, edges=edges))
    first, second, _ = graph.boxes
    assert first.x + first.width < second.x, "it decides no box's place"
    assert graph.lines[2].path.startswith(f"M{second.x:.1f},")
    assert graph.lines[2].path.endswith(f" {first.x + first.width + 7:.1f},{first.y + first.height / 2:.1f}")


def test_terminal_timeline() -> None:
    console = Console(file=io.StringIO(), width=140)
    console.print(text.timeline(sample(), console.width))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "f0.0: read sales → aggregate" in printed
    assert "90%" in printed
    assert "█" in printed and "░" in printed


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (words.size(999), "999 B"), (words.size(1_500_000_000), "1.5 GB"), (words.size(5e15), "5000.0 TB"),
        (words.duration(0), "0"), (words.duration(2.5e-5), "25 µs"), (words.duration(0.0123), "12.3 ms"),
        (words.duration(1.5), "1.50 s"), (words.duration(125), "2 min 5 s"),
        (words.rows(2880404), "2\u202f880\u202f404"),
    ],
)  # fmt: skip
def test_units(shown: str, expected: str) -> None:
    assert shown == expected
