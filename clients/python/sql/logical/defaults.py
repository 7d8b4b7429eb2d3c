"""lag and lead with a default that is no constant, which DataFusion plans and cannot execute.

window: lag(x, n, d)  →  CASE WHEN there IS NOT NULL THEN value ELSE d END
                           window: lag(x, n) as value, lag('there', n) as there
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.nodes import Node
from jumpgate.client.sql.logical.replacing import Call, Calls, Replacement
from jumpgate.client.sql.logical.types import write_schema

_OFFSETS = ("lag", "lead")


def find(node: Node, calls: Sequence[Call]) -> Replacement | None:
    """Return the changes for a window's calls with such defaults."""
    found = [i for i, call in enumerate(calls) if isinstance(call, pb.WindowCall) and _has_default(call)]
    return partial(_replace, found) if found else None


def _has_default(call: pb.WindowCall) -> bool:
    return call.window in _OFFSETS and len(call.args) == 3 and call.args[2].WhichOneof("kind") != "literal"


def _replace(numbers: Sequence[int], calls: Calls) -> None:
    added: dict[bytes, int] = {}  # equal expressions would be taken out of the window, into a projection
    for number in numbers:
        call = calls.take(number)
        assert isinstance(call, pb.WindowCall)
        bare = pb.WindowCall()
        bare.CopyFrom(call)
        bare.args[2].literal.null.null.SetInParent()
        first = added.setdefault(bare.SerializeToString(deterministic=True), number)
        if first == number:
            calls.add(f"value {number}").window.CopyFrom(bare)
            bare.args[0].literal.utf8 = f"there {number}"
            if call.nulls != pb.IGNORE:  # else what is found is not NULL
                calls.add(f"there {number}").window.CopyFrom(bare)
        case = calls.compute(number).case
        when = case.whens.add()
        when.when.is_not_null.input.column.name = f"{'value' if call.nulls == pb.IGNORE else 'there'} {first}"
        when.then.column.name = f"value {first}"
        cast = case.otherwise.cast
        cast.input.CopyFrom(call.args[2])
        written = pb.Schema()
        write_schema(written, pa.schema([pa.field("", calls.type(number))]))
        cast.type.CopyFrom(written.fields[0].type)
