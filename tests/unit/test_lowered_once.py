"""A fragment is lowered once for all requests that share its root and what else its program depends on."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.operators import Join, numbered
from jumpgate.nca.interface import InstancePlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.runtime.lifecycle import SoftwareLifecycle
from tests.support.plans import host, query3, statistics


def planned() -> InstancePlan:
    rows = {"store_sales": 1000.0, "date_dim": 100.0, "item": 100.0}
    options = CompileOptions(statistics=statistics(rows), endpoints=("127.0.0.1:1",))
    (instance,) = compile_dataflow(query3(), (host("h"),), default_registry(), options).instances
    return instance


def test_a_program_is_lowered_for_all_that_it_depends_on() -> None:
    lifecycle, instance = SoftwareLifecycle(), planned()
    first = lifecycle._lower(instance)
    assert lifecycle._lower(replace(instance, id="another", threads=4, memory_limit_bytes=1 << 20)) is first
    joins = frozenset(n for n, node in enumerate(numbered(instance.root)) if isinstance(node, Join))
    others = [replace(instance, joins_on_disk=joins), replace(instance, dialect=DUCKDB)]
    found = [lifecycle._lower(other) for other in others]
    assert first not in found and found[0] is not found[1]
    assert [lifecycle._lower(other) for other in (instance, *others)] == [first, *found]
    assert found[0].key != first.key
