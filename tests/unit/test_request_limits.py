"""What one request may ask for, however small its message is."""

from __future__ import annotations

import pytest

from jumpgate.client import col
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Read, Send
from jumpgate.dataflow.request import Flow, Request
from jumpgate.dataflow.types import Schema, string
from jumpgate.errors import InvalidDataflow
from jumpgate.service.limits import Limits

LIMITS = Limits(parallelism=8, threads=8, instances=8)


def request(literal: str = "x", files: int = 1, endpoints: int = 1) -> Request:
    names = tuple(f"/{n}" for n in range(files))
    flow = Dataflow(Read(names, "parquet", Schema.of(a=string), (0,))).filter(col("a") == literal)
    return Request(Flow.of(Send(flow.root, ("",) * endpoints), DEFAULT), ("h:1",) * endpoints)


@pytest.mark.parametrize(
    ("asked", "limits", "why"),
    [
        (request("x" * 150), {"literal_bytes": 100}, "bytes of literals: 150, at most 100"),
        (request(files=6), {"files": 5}, "files of a read: 6, at most 5"),
        (request(endpoints=9), {"endpoints": 8}, "endpoints: 9, at most 8"),
        (request(), {"operators": 2}, "operators: 3, at most 2"),
        (request(), {"columns": 0}, "columns or keys of an operator: 1, at most 0"),
        (request(), {"literals": 0}, "literals: 1, at most 0"),
    ],
)
def test_each_limit_holds(asked: Request, limits: dict[str, int], why: str) -> None:
    LIMITS.check(asked)
    with pytest.raises(InvalidDataflow, match=why):
        Limits(8, 8, 8, **limits).check(asked)
