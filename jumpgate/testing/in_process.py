"""Runs a plan in this process, using accelerators' own programs if they are Python (nca.worker).

There are no processes, no generated code, and no sockets except those that an accelerator opens: the quick half of a
conformance check.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from jumpgate.errors import InternalError, JumpgateError
from jumpgate.nca.conformance import Case
from jumpgate.nca.interface import NCA, Driver, InstancePlan, JobContext, JobPlan, Reaches
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.nca.worker import Compute, Input
from jumpgate.testing import oracle
from jumpgate.testing.interpret import Row, Rows, interpret

#: small, so that small tables have several batches
BATCH_ROWS = 13


class _Told:
    """An instance that only remembers how it was configured."""

    def __init__(self) -> None:
        self.configuration: dict[str, Any] = {}

    async def call(self, verb: str, /, **arguments: Any) -> dict[str, Any]:
        self.configuration = arguments
        return {}


class InProcess:
    """Runs plans with the `compute` of one accelerator's module. Close it: it keeps the devices that it reached."""

    def __init__(self, nca: NCA) -> None:
        self.nca = nca
        self._loop = asyncio.new_event_loop()
        self._drivers: dict[str, Driver] = {}

    def close(self) -> None:
        """Closes the drivers that were reached."""
        for driver in self._drivers.values():
            self._loop.run_until_complete(driver.close())
        self._loop.close()

    def __call__(self, plan: JobPlan, case: Case) -> pa.Table:
        """The result of a plan (LocalRig's `runs`)."""
        return interpret(plan, case.dialect, lambda instance, inputs: self._rows(plan, instance, inputs))

    def _rows(self, plan: JobPlan, instance: InstancePlan, inputs: dict[str, Rows]) -> Rows | None:
        """Return the output of the accelerator's program for an instance's inputs; None for instances of others."""
        lifecycle = self.nca.lifecycle
        if instance.nca != self.nca.name or not isinstance(lifecycle, WorkerLifecycle):
            return None
        configuration = self._loop.run_until_complete(self._configured(lifecycle, instance, plan))
        compute = self._compute(lifecycle.module)
        arriving = []
        for edge, stage in zip(instance.inputs, instance.input_stages, strict=True):
            schema = oracle.arrow_schema(plan.edge(edge).ntf.schema)
            arriving.append(Input(schema, stage, _batches(inputs[edge], schema)))
        try:
            batches = list(compute(configuration, tuple(arriving)))
        except JumpgateError:
            raise
        except Exception as error:  # as jumpgate.nca.worker makes one of it
            raise InternalError(f"{type(error).__name__}: {error}") from error
        return _same_types(batches, oracle.arrow_schema(plan.edge(instance.output).ntf.schema))

    def _compute(self, module: str) -> Compute:
        try:
            compute: Compute = importlib.import_module(module).compute
        except Exception as error:  # an import error would end its instance at once
            raise InternalError(f"{module} cannot be imported: {type(error).__name__}: {error}") from error
        return compute

    async def _configured(self, lifecycle: WorkerLifecycle, instance: InstancePlan, plan: JobPlan) -> dict[str, Any]:
        device = instance.device
        if isinstance(lifecycle, Reaches) and device.name not in self._drivers:
            self._drivers[device.name] = await lifecycle.reach(device)
        context = JobContext("in-process", "0" * 32, plan, {}, dict(self._drivers))
        context.addresses.update({i.id: "127.0.0.1:9" for i in plan.instances})
        told = _Told()
        artifact = await lifecycle.compile(instance, None)
        await lifecycle.configure(told, instance, artifact, context)
        return told.configuration


def _batches(rows: Sequence[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), _size(len(rows))):
        part = rows[start : start + _size(len(rows))]
        columns = [pa.array([row[i] for row in part], field.type) for i, field in enumerate(schema)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _size(rows: int) -> int:
    return BATCH_ROWS if rows < 1000 else 8192


def _same_types(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> Rows:
    rows: Rows = []
    for batch in batches:
        if batch.schema.types != schema.types:
            raise InternalError(f"a batch has the types {batch.schema.types}, the output edge {schema.types}")
        rows += (
            zip(*(oracle.values(column) for column in batch.columns), strict=True)
            if batch.columns
            else [()] * len(batch)
        )
    return rows
