"""Files that single hosts have: each reads its own, and neither the client nor the service's machine sees one."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.study.paper.network import line, permitted
from tests.cluster.lab import Lab, Service
from tests.cluster.sshd import installed

pytestmark = [
    pytest.mark.skipif(not permitted(), reason="network namespaces need root and iproute2"),
    pytest.mark.skipif(not installed(), reason="sshd is not installed (openssh-server)"),
]

#: with what a client's machine does: `sales` of both hosts joined with `items` of one
CLIENT = """
import json, sys
import jumpgate
from jumpgate.client import col, connect, count, sum_
from jumpgate.errors import JumpgateError

def sql(text, offload, tables, **options):
    with jumpgate.connect(sys.argv[1], offload=offload) as connection:
        for name, paths in tables.items():
            connection.register(name, paths, **options)
        return connection.sql(text).to_pylist()

with connect(sys.argv[1]) as session:
    for expression in sys.argv[2:]:
        try:
            print(json.dumps({"ok": eval(expression)}))
        except JumpgateError as error:
            print(json.dumps({"error": error.code, "message": error.message}))
"""


def ask(lab: Lab, service: Service, *expressions: str) -> list[Any]:
    process = lab.here.python("-c", CLIENT, service.address, *expressions)
    return [json.loads(line(process)) for _ in expressions]


def test_files_of_single_hosts(lab: Lab) -> None:
    """Folders of the same path have other files on each host: namespaces of their own hide the others'."""
    names = ("worker1", "worker2")
    for number, name in enumerate(names):
        lab.worker(name, private=lab.folder / "data")
        folder = lab.folder / name / "private"
        keys = range(number * 1000, number * 1000 + 1000)
        pq.write_table(pa.table({"k": keys, "x": [number + 1] * 1000}), folder / "sales 1.parquet")
    pq.write_table(pa.table({"k": [5, 1005], "name": ["a", "b"]}), lab.folder / "worker1" / "private" / "items.parquet")
    service = lab.serve(lab.config(*names))
    data = f"{lab.folder}/data"
    both = f"session.read([f'file://{{w}}{data}/sales*' for w in ('worker1', 'worker2')])"
    items = f"session.read('file://worker1{data}/items.parquet')"
    totals, joined, types, plan, nobody, missing, fewer = ask(
        lab,
        service,
        f"session.run({both}.aggregate(n=count(), s=sum_('x'), m=sum_('k'))).to_pylist()",
        f"session.run({both}.join({items}, on='k').select('k', 'name', 'x').sort('k')).to_pylist()",
        f"str({items}.schema)",
        f"session.explain_data({both})['fragments']['f0']['read_rows']",
        f"session.read('file://worker9{data}/items.parquet')",
        f"session.read('file://worker2{data}/items.parquet')",
        f"connect(sys.argv[1], parallelism=1).run({both}).to_pylist()",
    )
    assert totals == {"ok": [{"n": 2000, "s": 3000, "m": sum(range(2000))}]}
    assert joined == {"ok": [{"k": 5, "name": "a", "x": 1}, {"k": 1005, "name": "b", "x": 2}]}
    assert "name string" in types["ok"] or "name: string" in types["ok"], types
    assert plan == {"ok": 2000}, "hosts know how many rows their files have"
    assert nobody["error"] == "not_found" and "worker1, worker2" in nobody["message"]
    assert missing["error"] == "io" and "on host 'worker2'" in missing["message"]
    assert fewer["error"] == "cannot_place" and "worker2" in fewer["message"]
    tables = {
        "sales": [f"file://{name}{data}/sales*" for name in names],
        "items": f"file://worker1{data}/items.parquet",
    }
    text = (
        "SELECT name, CAST(sum(x) AS BIGINT) AS s, printf('%s', upper(name)) AS t FROM sales JOIN items USING (k)"
        " GROUP BY name ORDER BY name"
    )
    *answers, given = ask(
        lab,
        service,
        *(f"sql({text!r}, {mode!r}, {tables!r})" for mode in ("always", "never", "auto")),
        f"sql('SELECT 1', 'auto', {tables!r}, schema={{'k': 'int64'}})",
    )
    assert answers == [{"ok": [{"name": "a", "s": 1, "t": "A"}, {"name": "b", "s": 2, "t": "B"}]}] * 3
    assert given["error"] == "invalid_dataflow" and "leave `schema` out" in given["message"]
    service.end()
