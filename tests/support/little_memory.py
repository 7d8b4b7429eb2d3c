"""A program that has DuckDB compute, in a process that can have little memory, texts that grow; prints those that are
not refused for lack of memory, and `right` if the next query is answered."""

from __future__ import annotations

import resource

import pyarrow as pa

import jumpgate
from jumpgate import machine
from jumpgate.errors import JumpgateError, MemoryLimit

#: of the process, beside what it has
FREE_BYTES = 600 << 20
#: that make much of little, outside of what DuckDB counts
TEXTS = (
    "SELECT sum(length(repeat(x, 10000000))) FROM t",
    "SELECT sum(length(repeat(x, i * 10000))) FROM t",
    "SELECT sum(length(lpad(x, 10000000, 'yz'))) FROM t",
    "SELECT sum(length(format('{:10000000}', i))) FROM t",
    "SELECT sum(length(printf('%10000000d', i))) FROM t",
    "SELECT sum(length(replace(x, '1', repeat('y', 10000000)))) FROM t",
    "SELECT sum(length(repeat('z', 10000000) || i)) FROM t",
    "SELECT length(repeat('x', 1000000000))",
    "SELECT len(generate_series(1, 500000000))",
    "WITH RECURSIVE r(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || s FROM r WHERE n < 40) "
    "SELECT max(length(s)) FROM r",
    "CREATE TABLE large AS SELECT repeat(x, 10000000) AS s FROM t",
)


def main() -> None:
    table = pa.table({"i": list(range(2048)), "x": [str(i) for i in range(2048)]})
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    before = machine._kilobytes("/proc/self/status")["RssAnon"]
    free = machine.free_bytes  # what it has taken is no longer free
    machine.free_bytes = lambda *_: min(
        free(), FREE_BYTES + before - machine._kilobytes("/proc/self/status")["RssAnon"]
    )
    with jumpgate.connect(offload="never") as connection:
        connection.register("t", table)
        for text in TEXTS:
            try:
                print(text, connection.sql(text).to_arrow().to_pylist())
            except MemoryLimit:
                continue
            except JumpgateError as error:
                print(text, error.code, error.message)
        answer = connection.sql("SELECT sum(i) AS s, max(length(repeat(x, 100))) AS n FROM t").to_pylist()
        assert answer == [{"s": 2047 * 1024, "n": 400}], answer
    assert resource.getrlimit(resource.RLIMIT_DATA) == limits
    print("right")


if __name__ == "__main__":
    main()
