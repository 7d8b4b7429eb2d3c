"""Reports where a suite's queries run: for each query whether the answer is right, what was offloaded, and why the rest
was not.

    python -m jumpgate.study.coverage tpcds DIRECTORY [FORMAT]      with the suite's files below DIRECTORY
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jumpgate.client.sql.connection import Connection
from jumpgate.errors import JumpgateError
from jumpgate.study import suites
from jumpgate.tpcds.suite import Suite


@dataclass
class Outcome:
    """One query in one mode. verdict: right, wrong or error, with `detail`; reasons: (operator, reason) → count."""

    query: int
    verdict: str
    detail: str = ""
    operators: int = 0
    offloaded: int = 0
    jobs: int = 0
    seconds: float = 0.0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)


def outcomes(
    connection: Connection, suite: Suite, oracle: suites.Oracle, mode: str, only: Iterable[int] = ()
) -> Iterator[Outcome]:
    """Runs each query once and compares its answer with DuckDB's."""
    wanted = set(only)
    for number, text in suite.queries().items():
        if not wanted or number in wanted:
            yield outcome(connection, oracle, number, text, mode)


def outcome(connection: Connection, oracle: suites.Oracle, number: int, text: str, mode: str) -> Outcome:
    found = Outcome(number, "error")
    start = time.perf_counter()
    try:
        with connection.sql(text, offload=mode) as query:
            split = query.split
            found.operators, found.offloaded, found.jobs = split.operators, split.offloaded, len(split.cuts)
            found.reasons = Counter((kept.kind, kept.reason) for kept in split.kept)
            answer = query.to_arrow()
            found.seconds = time.perf_counter() - start
            found.detail = oracle.difference(answer, text)
            found.verdict = "wrong" if found.detail else "right"
    except JumpgateError as error:
        found.detail = f"{type(error).__name__}: {error}"
    return found


def markdown(suite: Suite, format: str, found: list[Outcome]) -> str:
    """The outcomes as a page: totals, reasons by how many operators they keep, then one line a query."""
    verdicts = Counter(o.verdict for o in found)
    operators, offloaded = sum(o.operators for o in found), sum(o.offloaded for o in found)
    reasons: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], list[int]] = {}
    for o in found:
        reasons.update(o.reasons)
        for key in o.reasons:
            where.setdefault(key, []).append(o.query)
    lines = [
        f"# {suite.title}, {format}",
        f"{verdicts['right']} right, {verdicts['wrong']} wrong, {verdicts['error']} errors; "
        f"{offloaded} of {operators} operators offloaded ({offloaded / max(1, operators):.1%})",
        "", "## What stays, and why", "",
    ]  # fmt: skip
    for (kind, reason), count in reasons.most_common():
        queries = where[kind, reason]
        shown = ", ".join(f"q{n}" for n in queries[:12]) + (" …" if len(queries) > 12 else "")
        lines.append(f"- {count} × {kind}: {reason}  ({len(queries)} queries: {shown})")
    lines += ["", "## Queries", ""]
    lines += [
        f"- q{o.query}: {o.verdict}, {o.offloaded}/{o.operators} operators, {o.jobs} jobs, {o.seconds:.2f} s"
        + (f": {o.detail[:600]}" if o.detail else "")
        for o in found
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    name, directory, *more = sys.argv[1:]
    format = more[0] if more else "parquet"
    suite = suites.suite(name)
    oracle = suites.Oracle(suite, Path(directory))
    with Connection(offload="always") as connection:
        suites.register(connection, suite, Path(directory), format)
        print(markdown(suite, format, list(outcomes(connection, suite, oracle, "always", map(int, more[1:])))))


if __name__ == "__main__":
    main()
