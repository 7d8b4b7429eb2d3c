"""DuckDB as an accelerator: windows and sorts run in an existing engine, in a process of its own, and whole dataflows
whose programs are not built.

Its files are the example of docs/wrap-an-engine.md: `__init__` declares what it takes, `sql` writes the engine's SQL,
`lifecycle` starts and configures instances, `worker` is the instance. Of whole dataflows `whole` writes the statement,
`expressions` what it computes, and `files` looks whether the engine reads their files as Jumpgate does.
"""

from __future__ import annotations

import functools
import importlib.util
from functools import cached_property

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.layouts import Layout
from jumpgate.dataflow.operators import Operator, Sort, Window, numbered
from jumpgate.nca.interface import Answer, Completeness, Device, LifeCycle, Match, OperatorInterface, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ncas.engine.sql import refusal
from jumpgate.ntf.descriptor import Descriptor

#: the time to start a Python process and load the engine; the factor over generated programs
SPEEDS = Speeds(setup_s=1.0, factor=4.0)
#: the same where a process waits, for whole dataflows
WHOLE_SPEEDS = Speeds(setup_s=0.05, factor=1.3)


class Engine:
    """DuckDB: windows and sorts that no generated program supports, whole dataflows until their programs are built."""

    name = "engine"

    @property
    def operators(self) -> Engine:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        from jumpgate.ncas.engine.lifecycle import EngineLifecycle

        return EngineLifecycle()

    @property
    def stand_in(self) -> OperatorInterface:
        return WHOLE

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        if transport != TCP or ntf.layout is not Layout.COLUMNAR:
            return Unsupported(
                f"the engine receives columnar tuples over tcp, not {ntf.layout} over {transport.name}", "edge"
            )
        return None

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        if device.kind != "host" or not isinstance(node, Window | Sort):
            return None
        if not _installed():
            return _not_installed()
        return refusal(node, dialect) or Match(self.name, (node,), Completeness.FULL, node.schema)

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.of(match.schema, layout), TCP

    def speeds(self, device: Device) -> Speeds:
        return SPEEDS


class Whole(Engine):
    """Whole dataflows over files, while the programs that would run them are built."""

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        from jumpgate.ncas.engine.expressions import Refused
        from jumpgate.ncas.engine.whole import Statement

        if device.kind != "host":
            return None
        if not _installed():
            return _not_installed()
        try:
            Statement(node, dialect)
        except Refused as no:
            return no.answer
        return Match(self.name, tuple(numbered(node)), Completeness.FULL, node.schema)

    def speeds(self, device: Device) -> Speeds:
        return WHOLE_SPEEDS


@functools.cache
def _installed() -> bool:
    return importlib.util.find_spec("duckdb") is not None


def _not_installed() -> Unsupported:
    return Unsupported("DuckDB is not installed", "not_installed", "pip install 'jumpgate-nca[sql]'")


ENGINE, WHOLE = Engine(), Whole()
