"""`./dev bench NAME --json --record` writes what a benchmark prints into its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import _results
from bench._results import Results

PRINTED = {"figure": "f", "value": 2.0, "target": 3, "better": "higher", "compared": "a beside b"}


def result(arguments: tuple[str, ...] = ("--json",), **changed: object) -> _results.Result:
    return _results.read(json.dumps({**PRINTED, **changed}), arguments, "abc1234", "a machine", "load 0")


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        ("--json --only f --only g", ""),
        ("--scale 10 --json --data --only --only f", "--scale 10"),
        ("--rows 500000 --page out.html", "--rows 500000"),
    ],
)
def test_a_setting_is_what_changes_the_measured(arguments: str, setting: str) -> None:
    assert _results.setting(arguments.split()) == setting


def test_a_result_replaces_that_of_its_setting() -> None:
    small, large = result(), result(("--scale", "10"))
    kept = Results().added(small).added(large).added(result(value=4.0))
    assert [(r.value, r.setting) for r in kept.figures] == [(4.0, ""), (2.0, "--scale 10")]


def test_a_note_stays_while_the_target_is_missed() -> None:
    noted = Results((_results.replace(result(), note="the cause", unit="ms"),))
    assert noted.added(result(value=2.5)).figures[0].note == "the cause"
    reached = noted.added(result(value=3.5)).figures[0]
    assert (reached.note, reached.unit) == ("", "ms")


def test_what_is_only_reported_has_no_target() -> None:
    assert result(target=0, compared="so many; reported").target is None
    assert result(target=0, better="lower").target == 0


def test_results_are_read_as_written(tmp_path: Path) -> None:
    table = _results.Table("t", "Milliseconds", ("a", "b"), (("x", 1), ("y", "2, 3")), "abc1234", "a machine", "idle")
    results = Results((result(),), (table,))
    (tmp_path / "some.json").write_text(_results.text(results), encoding="utf-8")
    assert _results.load("some", tmp_path) == results
    assert _results.load("other", tmp_path) == Results() and _results.benches(tmp_path) == ["some"]


def test_a_run_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Figures of another benchmark go to its file; the exit status is that of the run."""
    script = (
        f"print('a remark')\nprint({json.dumps(PRINTED)!r})\nprint({json.dumps({**PRINTED, 'figure': 'h'})!r})\nexit(3)"
    )
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "made_up.py").write_text(script)
    (tmp_path / "bench" / "__init__.py").write_text("")
    for words in ("init --quiet", "add .", "-c user.name=t -c user.email=t@t commit --quiet --message m"):
        _results.subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    monkeypatch.setattr(_results, "ROOT", tmp_path)
    monkeypatch.setitem(_results.HOMES, "h", "elsewhere")
    folder = tmp_path / "results"
    assert _results.record("made_up", ["--json"], folder) == 3
    assert capfd.readouterr().out.startswith("a remark\n{")
    found = {name: [r.figure for r in _results.load(name, folder).figures] for name in _results.benches(folder)}
    assert found == {"made_up": ["f"], "elsewhere": ["h"]}
