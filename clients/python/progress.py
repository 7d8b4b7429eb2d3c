"""How far a job is, shown while somebody waits for it: in a terminal by rich, on stderr, or in a notebook.

The service reports what running instances have counted once a second, so a shorter job shows nothing. How much is left
is estimated from the rows of files: those that were read beside those that the plan expects.
"""

from __future__ import annotations

import json
import sys
import threading
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jumpgate import debug, words

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

#: of a job, before the time that is left is said
SHARE_MIN = 0.02


class Progress(NamedTuple):
    """The progress of a running job: its stage of so many, rows and bytes that were read from files, the share of the
    rows that are to be read, and the seconds that are left; None where the plan does not say."""

    stage: int
    stages: int
    rows: int
    bytes: int
    share: float | None = None
    left_s: float | None = None
    place: int = 0  #: among the jobs that wait for their turn; 0: it runs
    building: str = ""  #: what hosts build before that, and how far they are

    @property
    def title(self) -> str:
        """Which stage of so many, or that it has none yet."""
        if self.building:
            return "building"
        return "queued" if self.place else f"stage {self.stage} of {self.stages}"

    def __str__(self) -> str:
        if self.building:
            return self.building
        if self.place:
            return f"number {self.place} of those that wait for their turn"
        read = f"{words.rows(self.rows)} rows, {words.size(self.bytes)} read"
        if self.left_s is None:
            return read
        seconds = max(1, round(self.left_s))
        return f"{read}, about {f'{seconds} s' if seconds < 100 else words.duration(seconds)} left"


class Display(Protocol):
    """Where the progress of several jobs is shown. Called from any thread."""

    def show(self, job: str, progress: Progress) -> None:
        """The job's newest."""

    def drop(self, job: str) -> None:
        """The job shows nothing any more; may be called twice, and for a job that never showed anything."""


def _building(hosts: dict[str, dict[str, int]]) -> str:
    """
    >>> _building({"worker1": {"done": 12, "of": 55}, "worker2": {"done": 0, "of": 0}})
    'the runtime, one time: 12 of 55 on worker1, worker2 begins'
    """
    steps = (f"{s['done']} of {s['of']} on {name}" if s["of"] else f"{name} begins" for name, s in hosts.items())
    return f"the runtime, one time: {', '.join(steps)}"


class Follower:
    """Follows one job by its events and shows how far it is, from `wait` until `rest`. `explain_json` and `stages` are
    the plan's, as the service answers them."""

    def __init__(self, job: str, explain_json: str, stages: int, display: Display) -> None:
        self._job, self._explain, self._stages, self._display = job, explain_json, stages, display
        self._expected: float | None = None
        self._edges: set[str] = set()
        self._counters: dict[str, Any] = {}
        self._began_ns = 0
        self._lock = threading.Lock()
        self._waiting = False
        self._place = 0

    def wait(self) -> None:
        """Somebody waits for the result."""
        with self._lock:
            self._waiting = True
            self._show_place()

    def _show_place(self) -> None:
        if self._waiting and self._place:
            self._display.show(self._job, Progress(0, self._stages, 0, 0, place=self._place))

    def rest(self) -> None:
        """Nobody waits any more, or the job has ended."""
        with self._lock:
            if self._waiting:
                self._waiting = False
                self._display.drop(self._job)

    def see(self, event: Any) -> None:
        """An event of the service's (jumpgate/v1/service.proto). Whatever is wrong with showing it, the job goes on."""
        try:
            self._see(event)
        except Exception as error:
            if debug.level() < 1:
                return
            debug.note("client", self._job, f"its progress cannot be shown: {type(error).__name__}: {error}")

    def _see(self, event: Any) -> None:
        with self._lock:
            self._place = event.stage if event.state == "queued" else 0
            self._show_place()
        if event.state == "running" and not self._began_ns:
            self._began_ns = event.time_ns
        if event.state == "running" and event.detail_json:
            found = self._progress(event)
            with self._lock:
                if self._waiting:
                    self._display.show(self._job, found)
        elif event.state == "building":
            with self._lock:
                if self._waiting:
                    self._display.show(
                        self._job, Progress(0, self._stages, 0, 0, building=_building(json.loads(event.detail_json)))
                    )
        elif event.state == "done":
            self.rest()

    def _progress(self, event: Any) -> Progress:
        if not self._counters:
            self._read_plan()
        self._counters.update(json.loads(event.detail_json))
        files = [
            source
            for counted in self._counters.values()
            for source in counted.get("sources", ())
            if source["name"] not in self._edges
        ]
        rows, bytes = sum(s["rows"] for s in files), sum(s["bytes"] for s in files)
        done = rows + sum(s.get("skipped_rows", 0) for s in files)
        share = min(1.0, done / self._expected) if self._expected else None
        left_s = None
        if share is not None and SHARE_MIN <= share < 1.0:
            left_s = (event.time_ns - self._began_ns) / 1e9 * (1.0 - share) / share
        return Progress(event.stage, self._stages, rows, bytes, share, left_s)

    def _read_plan(self) -> None:
        fragments = json.loads(self._explain or "{}").get("fragments", {}).values()
        reads = [fragment.get("read_rows") for fragment in fragments]
        self._expected = None if None in reads else sum(reads)
        self._edges = {edge for fragment in fragments for edge in fragment["input_stages"]}


class _Terminal:
    """A line for each job that shows something; they go when the jobs end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}

    def show(self, job: str, progress: Progress) -> None:
        with self._lock:
            if self._bar is None:
                self._bar = _bar()
                self._bar.start()
            if job not in self._tasks:
                self._tasks[job] = self._bar.add_task("", total=None, detail="")
            self._bar.update(
                self._tasks[job],
                description=progress.title,
                completed=progress.share or 0.0,
                total=None if progress.share is None else 1.0,
                detail=str(progress),
                refresh=True,
            )

    def drop(self, job: str) -> None:
        with self._lock:
            task = self._tasks.pop(job, None)
            if task is None or self._bar is None:
                return
            self._bar.remove_task(task)
            if not self._tasks:
                self._bar.stop()
                self._bar = None


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[detail]}")
    console = Console(stderr=True, highlight=False)
    # what the program prints meanwhile is its own business, and stdout may be a file
    return Bar(
        *columns, console=console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )


class _Notebook:
    """A line below the cell for each job; it goes when the job ends."""

    def __init__(self) -> None:
        self._handles: dict[str, Any] = {}
        self._lock = threading.Lock()

    def show(self, job: str, progress: Progress) -> None:
        from IPython.display import HTML, display

        value = "" if progress.share is None else f' value="{progress.share:.3f}"'
        text = escape(f"{progress.title}: {progress}")
        shown = HTML(f"<progress{value}></progress> {text}")
        with self._lock:
            if job in self._handles:
                self._handles[job].update(shown)
            else:
                self._handles[job] = display(shown, display_id=True)

    def drop(self, job: str) -> None:
        from IPython.display import HTML

        with self._lock:
            handle = self._handles.pop(job, None)
        if handle is not None:
            handle.update(HTML(""))


_terminal = _Terminal()
_notebook = _Notebook()


def display() -> Display | None:
    """Where this process shows progress: in its notebook, or on stderr if that is a terminal."""
    interactive = sys.modules.get("IPython")
    if interactive is not None and hasattr(interactive.get_ipython(), "kernel"):
        return _notebook
    return _terminal if sys.stderr is not None and sys.stderr.isatty() else None
