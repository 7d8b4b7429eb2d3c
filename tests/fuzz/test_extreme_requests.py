"""Requests with extreme numbers, and with very many of everything, at a service that has 1 GB."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import grpc
import pytest

from jumpgate.trust import tokens
from jumpgate.v1 import service_pb2
from jumpgate.v1.service_pb2_grpc import JumpgateStub
from tests.support import fuzz
from tests.support.extreme import MANY, NUMBERS, Served, hostile, numbers, request, served_in, with_number, within


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served_in(tmp_path_factory.mktemp("extreme")) as served:
        yield served


def test_extreme_numbers_end_no_service(served: Served) -> None:
    """A random choice of where and which; all options with all numbers."""
    base = request(served.file)
    found = list(numbers(base))
    chosen = [(path, value) for path, kind in found if path[0] == "options" for value in NUMBERS[kind]]
    others = [(path, value) for path, kind in found if path[0] != "options" for value in NUMBERS[kind]]
    chosen += random.Random(fuzz.SEED).sample(others, 30)
    for path, value in chosen:
        asked = service_pb2.SubmitRequest()
        asked.CopyFrom(base)
        with_number(asked, path, value)
        said = served.ask("Submit", asked.SerializeToString())
        assert said in ("ok", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "DEADLINE_EXCEEDED"), (path, value, said)
    served.check()


@pytest.mark.parametrize("kind", MANY)
def test_very_many_of_anything_end_no_service(kind: str, served: Served) -> None:
    asked = request(served.file).SerializeToString() + within(service_pb2.SubmitRequest, "dataflow", MANY[kind])
    said = served.ask("Submit", asked)
    assert said == ("RESOURCE_EXHAUSTED" if kind == "bytes" else "INVALID_ARGUMENT"), served.group.kills
    served.check()


def test_a_refusal_says_how_many_there_may_be(served: Served) -> None:
    asked = request(served.file)
    asked.options.parallelism = 2**31 - 1
    metadata = tokens.metadata(tokens.for_service(served.address))
    with grpc.insecure_channel(served.address) as channel, pytest.raises(grpc.RpcError) as refused:
        JumpgateStub(channel).Submit(asked, metadata=metadata)  # type: ignore[no-untyped-call]
    most = max(64, 4 * len(os.sched_getaffinity(0)))
    assert refused.value.details() == (
        f"the request is too large: parallelism is 2147483647, at most {most}; "
        "[service] of jumpgate.toml sets the limit"
    )


def test_hostile_requests_end_no_service(served: Served) -> None:
    """Each gets an answer, or a status that is not the service's own mistake."""
    chance, base = random.Random(fuzz.SEED), request(served.file)
    for number in range(100):
        verb, message = hostile(chance, base)
        assert served.ask(verb, message) not in ("UNKNOWN", "INTERNAL", "UNAVAILABLE"), (number, verb, message)
    served.check()
