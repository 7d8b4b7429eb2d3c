"""The page of the Spark benchmark."""

from bench._runs import Run
from bench._spark_page import page


def test_runs_are_drawn_and_texts_are_escaped() -> None:
    runs = [
        Run(1, "orc", {"never": 4.0, "always": 1.0, "auto": 2.0}, True, 7, 8),
        Run(2, "orc", {"never": 1.0, "always": 1.0, "auto": 1.0}, True, 3, 3),
        Run(1, "json", {"never": 3.0}, error="always: <b>no memory</b>\nat"),
    ]
    drawn = page(runs, ["parquet", "orc", "json"], 0.1, "local[2]")
    assert "2 of 3 answers" in drawn and "2.00×" in drawn and "query 1: 4.00×" in drawn
    assert "geometric mean from orc, 2 queries" in drawn and "geometric mean from json" not in drawn
    assert "&lt;b&gt;no memory" in drawn and "<script" not in drawn
