"""The engine's life-cycle: a worker process on the instance's host, configured with one statement."""

from __future__ import annotations

from typing import Any

from jumpgate.dataflow.operators import Receive
from jumpgate.nca.interface import InstancePlan
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.ncas.engine.sql import statement

#: fraction of a host's memory that the engine may use before it spills
MEMORY_SHARE = 0.25


class EngineLifecycle(WorkerLifecycle):
    module = "jumpgate.ncas.engine.worker"

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        body = instance.root.inputs[0]
        assert isinstance(body.inputs[0], Receive)
        return {
            "statement": statement(body),
            "threads": instance.threads,
            "memory_bytes": instance.memory_limit_bytes or int(instance.device.memory_bytes * MEMORY_SHARE),
        }
