"""The page of the experiments with a card: its curves, and that a single published point is drawn."""

from bench import _fpga_links
from bench._measure import Figure
from jumpgate.study import charts


def test_the_page_has_three_experiments_and_the_papers_points() -> None:
    text = _fpga_links.page(_fpga_links.modelled())
    assert all(f"<h2>Experiment {n}</h2>" in text for n in (1, 2, 3))
    assert text.count('<path class="curve') == 6 and "speedup_skew" in text
    assert "<script" not in text and "http" not in text


def test_a_figure_that_is_only_reported_has_no_target() -> None:
    text = _fpga_links.page([Figure("levels", 12, 0, "lower", "reported"), Figure("rate", 3, 2, "higher", "of two")])
    assert "≥ 2" in text and "≤" not in text and "–</td>" in text


def test_lines_are_in_the_picture() -> None:
    drawn = charts.lines({"all": [(10, 0.0), (1000, 2.0)], "one": [(100, 1.5)]}, logarithmic=True)
    assert [t.label for t in drawn.x_ticks] == ["10", "100", "1000"]
    assert drawn.lines[0].path == f"M{charts.LEFT:.1f},{charts.HEIGHT - charts.BOTTOM:.1f} L514.0,{charts.TOP:.1f}"
    assert drawn.lines[1].path.endswith("z") and drawn.y_ticks[-1].label == "2×"


def test_what_hosts_a_shuffle_sends_keys_to() -> None:
    assert sorted({_fpga_links.host_of(key) for key in range(50)}) == [0, 1, 2, 3]
    assert _fpga_links.turned(1) == (_fpga_links.SKEW[3], *_fpga_links.SKEW[:3])
