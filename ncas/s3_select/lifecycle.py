"""The life-cycle: a worker process on the instance's host, configured with one statement and what reads its objects."""

from __future__ import annotations

from typing import Any

from jumpgate.nca.interface import InstanceHandle, InstancePlan, JobContext
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.ncas.runtime.configuration import granted
from jumpgate.ncas.s3_select import chain
from jumpgate.ncas.s3_select.sql import statement
from jumpgate.stores import objects


class SelectLifecycle(WorkerLifecycle):
    """Each of several siblings asks about its share of the objects."""

    module = "jumpgate.ncas.s3_select.worker"

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        found = chain(instance.root.inputs[0])
        assert found is not None
        operators, read = found
        return {"statement": statement(operators, read), "files": read.files[instance.index :: instance.count]}

    async def configure(
        self, handle: InstanceHandle, instance: InstancePlan, artifact: dict[str, Any], context: JobContext
    ) -> None:
        """The URLs are secrets: they are made for the job, and are no part of the artifact."""
        files = artifact["files"]
        found = [{**granted(file, context), "select": objects.selecting(file)} for file in files]
        told = {"statement": artifact["statement"], "objects": found}
        await super().configure(handle, instance, told, context)
