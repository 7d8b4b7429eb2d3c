"""How far a running job is: what is made of the service's events, when it is shown, and where."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from jumpgate.client import progress
from jumpgate.client.progress import Follower, Progress

#: two fragments that read files, of 1000 rows together
EXPLAIN = json.dumps(
    {
        "fragments": {
            "f0": {"read_rows": 600.0, "input_stages": {"e1": 1}},
            "f1": {"read_rows": 400.0, "input_stages": {}},
        }
    }
)


class Shown:
    """A display that remembers."""

    def __init__(self) -> None:
        self.lines: list[Progress | None] = []

    def show(self, job: str, progress: Progress) -> None:
        assert job == "j1"
        self.lines.append(progress)

    def drop(self, job: str) -> None:
        self.lines.append(None)


def event(state: str, stage: int = 0, seconds: float = 0.0, **sources: tuple[int, int, int]) -> Any:
    """Counters by instance: its rows, bytes and skipped rows of a file; beside it an edge."""
    counters = {
        name: {
            "sources": [
                {"name": "t.parquet", "rows": rows, "bytes": bytes, "skipped_rows": skipped},
                {"name": "e1", "rows": 10**6, "bytes": 10**9},
            ]
        }
        for name, (rows, bytes, skipped) in sources.items()
    }
    return SimpleNamespace(
        state=state, stage=stage, time_ns=int(1e9 * seconds), detail_json=json.dumps(counters) if sources else ""
    )


@pytest.fixture
def shown() -> Shown:
    return Shown()


def test_rows_of_files_say_how_much_is_left(shown: Shown) -> None:
    follower = Follower("j1", EXPLAIN, 2, shown)
    follower.wait()
    follower.see(event("allocating"))
    follower.see(event("running", 1, 10.0))
    assert shown.lines == []
    follower.see(event("running", 1, 11.0, f0=(100, 5000, 0), f1=(50, 2500, 50)))
    follower.see(event("running", 2, 14.0, f0=(400, 20_000, 0)))  # of f1 the last counters stay
    follower.see(event("running", 2, 15.0, f0=(700, 35_000, 0), f1=(350, 17_500, 50)))  # more than was expected
    assert shown.lines == [
        Progress(1, 2, 150, 7500, 0.2, 4.0),
        Progress(2, 2, 450, 22_500, 0.5, 4.0),
        Progress(2, 2, 1050, 52_500, 1.0, None),
    ]
    follower.see(event("done", 2, 16.0, f0=(700, 35_000, 0)))
    assert shown.lines[3:] == [None]


def test_what_the_plan_does_not_say_is_not_shown(shown: Shown) -> None:
    unknown = json.dumps({"fragments": {"f0": {"read_rows": None, "input_stages": {}}}})
    for explained in (unknown, "{}", ""):
        follower = Follower("j1", explained, 1, shown)
        follower.wait()
        follower.see(event("running", 1, 1.0))
        follower.see(event("running", 1, 2.0, f0=(100, 5000, 0)))
        found = shown.lines[-1]
        assert found is not None and found.share is None and found.left_s is None


def test_it_is_shown_only_while_somebody_waits(shown: Shown) -> None:
    follower = Follower("j1", EXPLAIN, 1, shown)
    running = event("running", 1, 2.0, f0=(100, 5000, 0))
    follower.see(running)
    follower.wait()
    follower.see(running)
    follower.rest()
    follower.rest()
    follower.see(running)
    assert [line is None for line in shown.lines] == [False, True]


def test_counters_that_say_something_else_end_no_job(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    follower = Follower("j1", EXPLAIN, 1, shown)
    follower.wait()
    monkeypatch.setenv("JUMPGATE_DEBUG", "1")
    follower.see(SimpleNamespace(state="running", stage=1, time_ns=1, detail_json='{"f0": {"sources": [{}]}}'))
    assert shown.lines == [] and "its progress cannot be shown: KeyError: 'name'" in capsys.readouterr().err


def test_in_words() -> None:
    assert str(Progress(1, 2, 1_200_000, 5_000_000)) == "1\u202f200\u202f000 rows, 5.0 MB read"
    assert str(Progress(1, 2, 1, 1, 0.5, 0.2)).endswith("1 B read, about 1 s left")
    assert str(Progress(1, 2, 1, 1, 0.5, 12.4)).endswith("about 12 s left")
    assert str(Progress(1, 2, 1, 1, 0.5, 125.0)).endswith("about 2 min 5 s left")


def test_a_terminal_shows_it_on_stderr_and_stdout_stays_the_programs() -> None:
    code = """
from jumpgate.client.progress import Progress, display
shown = display()
shown.show("a", Progress(1, 2, 1000, 2000, 0.25, 3.0))
print("a row of the program")
shown.show("b", Progress(2, 2, 7, 8))
shown.drop("a"), shown.drop("a"), shown.drop("b"), shown.drop("c")
"""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, text=True, check=True, env=environment
    )
    os.close(theirs)
    with open(ours, "rb", buffering=0) as terminal:
        said = terminal.read(1 << 16).decode()
    assert done.stdout == "a row of the program\n"
    assert "stage 1 of 2" in said and "2.0 kB read, about 3 s left" in said and "stage 2 of 2" in said


def test_nothing_is_shown_where_nobody_looks() -> None:
    code = "from jumpgate.client.progress import display; print(display())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n" and done.stderr == ""


def test_a_notebook_updates_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Handle:
        def update(self, shown: str) -> None:
            said.append(shown)

    def display(shown: str, display_id: bool) -> Handle:
        assert display_id
        said.append(shown)
        return Handle()

    ipython, output = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    output.HTML, output.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", output)
    shown = progress.display()
    assert shown is not None
    shown.show("a", Progress(1, 2, 1000, 2000, 0.25, 3.0))
    shown.show("a", Progress(2, 2, 2000, 4000))
    shown.drop("a")
    shown.drop("a")
    assert said[0].startswith('<progress value="0.250"></progress> stage 1 of 2: ')
    assert said[1].startswith("<progress></progress> stage 2 of 2: ") and said[2:] == [""]
    ipython.get_ipython = lambda: None  # type: ignore[attr-defined]  # imported, but no notebook
    assert progress.display() is None
