"""Asks a connection about hostile files, in a process that may die of it, and says how each went.

Right is an answer that the file can have; typed is one JumpgateError within HANG_S that is not a mistake of
ours. All else is a failure: the client's process ends, hangs, raises something else, or the connection is of no use
afterwards.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.hostile import LEAST, HostileFile, hostile_files

#: nothing may take longer, but for the compiler, whose programs are of few shapes
HANG_S = 10.0
#: for the runtime and programs to be built, the first time on a machine
WARM_UP_S = 900.0
MODES = ("always", "auto", "never")
QUERIES = (f"SELECT count(*) AS found FROM {{}} WHERE a > {LEAST}", "SELECT sum(a) AS found FROM {}")
#: programs are generated for the types that a damaged file seems to have: a new one takes a compiler's time
COMPILER_S = 30.0


@dataclass(frozen=True)
class Outcome:
    file: HostileFile
    mode: str
    verdict: str  #: right, typed or failure
    detail: str


def files_right_or_typed(count: int, seed: int) -> tuple[int, int]:
    """Return how many of `count` hostile files were answered correctly or refused by one typed error, and their
    number."""
    with tempfile.TemporaryDirectory(prefix="jumpgate-hostile-") as folder:
        verdicts = [outcome.verdict for outcome in outcomes(count, seed, Path(folder))]
    return sum(verdict != "failure" for verdict in verdicts), len(verdicts)


def outcomes(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """One for each file, in the same order for the same arguments; the modes of offloading take turns."""
    client = _Client(folder)
    try:
        for number, file in enumerate(hostile_files(count, seed, folder)):
            mode = MODES[(number + seed) % len(MODES)]
            yield _judged(file, mode, client.ask({"path": file.path, "format": file.format, "mode": mode}))
    finally:
        client.close()


def _judged(file: HostileFile, mode: str, said: dict[str, Any]) -> Outcome:
    if "failure" in said:
        return Outcome(file, mode, "failure", said["failure"])
    if "code" in said:
        if said["code"] == "internal":
            return Outcome(file, mode, "failure", f"a mistake of ours: {said['message']}")
        if file.what == "undamaged":
            return Outcome(file, mode, "failure", f"refused: {said['message']}")
        return Outcome(file, mode, "typed", f"{said['code']}: {said['message']}")
    found = tuple(said["answer"])
    if file.answer not in (None, found):
        return Outcome(file, mode, "failure", f"answered {found}, right is {file.answer}")
    return Outcome(file, mode, "right", str(found))


class _Client:
    """The process with the connections; a new one follows one that has ended or hangs."""

    def __init__(self, folder: Path) -> None:
        self._good = folder / "good.parquet"
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: dict[str, str]) -> dict[str, Any]:
        if self._process is None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            said = self._line(HANG_S + COMPILER_S)
        except BrokenPipeError:
            said = b""
        if said is None:
            self.close()
            return {"failure": f"no answer within {HANG_S + COMPILER_S:.0f} s"}
        if not said:
            status = self._process.wait()
            self.close()
            return {"failure": f"the client's process ended ({status})"}
        found: dict[str, Any] = json.loads(said)
        return found

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.hostile_runs", str(self._good)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        ready = self._line(WARM_UP_S)
        if not ready:
            self.close()
            raise AssertionError("the client of the hostile files does not start")

    def _line(self, timeout_s: float) -> bytes | None:
        """The next line; b"" at the end, None when the time is over."""
        assert self._process is not None and self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        return self._process.stdout.readline() if ready else None

    def close(self) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(5.0)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._process = None


def main(good: Path) -> None:
    """The client: a line of JSON for each question on standard input."""
    import pyarrow as pa
    import pyarrow.parquet

    import jumpgate

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # output of libraries is not an answer
    pyarrow.parquet.write_table(pa.table({"a": [LEAST, LEAST + 1]}), good)
    with jumpgate.connect() as connection:
        connection.register("good", str(good))
        for mode in MODES:
            _check_use(connection, mode)
        answers.write("{}\n")
        for number, line in enumerate(sys.stdin):
            answers.write(json.dumps(_asked(connection, f"t{number}", **json.loads(line)), default=int) + "\n")


def _asked(connection: Any, name: str, path: str, format: str, mode: str) -> dict[str, Any]:
    from jumpgate.errors import JumpgateError

    try:
        try:
            connection.register(name, path, format=format)
            try:
                rows = [connection.sql(query.format(name), offload=mode).to_pylist() for query in QUERIES]
            finally:
                connection.deregister(name)
            return {"answer": [row["found"] for (row,) in rows]}
        except JumpgateError as error:
            return {"code": error.code, "message": error.message}
        finally:
            _check_use(connection, mode)
    except BaseException as error:
        return {"failure": f"{type(error).__name__}: {error}"}


def _check_use(connection: Any, mode: str) -> None:
    found = connection.sql(f"SELECT count(*) AS n FROM good WHERE a > {LEAST}", offload=mode).to_pylist()
    if found != [{"n": 1}]:
        raise AssertionError(f"afterwards another table's count was {found}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
