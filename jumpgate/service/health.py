"""gRPC's health service (grpc.health.v1), as far as probes ask it: Check, and not Watch, which would hold streams open.

Its messages have one field each, with number 1. Protobuf's wrappers of a text and of a number are the same on the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.wrappers_pb2 import Int32Value, StringValue

SERVICE = "grpc.health.v1.Health"
CHECK = f"/{SERVICE}/Check"
#: the names of services that are known; "" is all of them
NAMES = ("", "jumpgate.v1.Jumpgate")
SERVING, NOT_SERVING = 1, 2


def handler(unready: Callable[[], str]) -> Any:
    """Return the handler of its calls; `unready` says why a new job would not run, or nothing."""

    async def check(request: StringValue, context: Any) -> Int32Value:
        if request.value not in NAMES:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"there is no such service; there is {NAMES[1]}")
        return Int32Value(value=NOT_SERVING if unready() else SERVING)

    method = grpc.unary_unary_rpc_method_handler(check, StringValue.FromString, Int32Value.SerializeToString)
    return grpc.method_handlers_generic_handler(SERVICE, {"Check": method})
