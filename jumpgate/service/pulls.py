"""Results for clients that instances cannot reach: the service receives them, and clients fetch them frame by frame."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pyarrow as pa

from jumpgate.dataflow.request import Request
from jumpgate.errors import InvalidDataflow, JumpgateError, NotFound
from jumpgate.hosts.config import HostConfig
from jumpgate.ntf.addresses import LOOPBACK, facing, is_loopback, joined
from jumpgate.ntf.receive import Endpoint
from jumpgate.orchestrator.job import Job
from jumpgate.v1 import service_pb2 as pb

#: how long a result waits to be fetched after its job has ended
UNFETCHED_S = 60.0
#: of a message
PIECE_BYTES = 16 << 20


class _Frames(Endpoint):
    """Receives frames as they are."""

    def _decode(self, payload: pa.Buffer, rows: int) -> Any:
        return payload, rows


class Pulled:
    """A result that arrives here, and waits in its connections until it is fetched."""

    def __init__(self, host: str) -> None:
        self._endpoint = _Frames.open(host)
        self._is_fetched = False

    def addressed(self, request: Request) -> Request:
        """Return the request with its result sent here. Raises InvalidDataflow."""
        if not request.endpoints:
            raise InvalidDataflow("this request's result cannot be pulled: it is no dataflow that ends with a send")
        if len(request.endpoints) > 1:
            raise InvalidDataflow("this request's result cannot be pulled: it goes to several endpoints")
        return replace(request, endpoints=(self._endpoint.address,))

    def expect(self, job: Job) -> None:
        """Let the job's instances connect."""
        plan = job.context.plan
        edge = plan.edge(plan.result)
        self._endpoint.expect(
            job=job.id,
            edge=edge.id,
            token=job.context.token,
            descriptor=edge.ntf,
            producers=len(edge.producers),
            certificate=job.context.certificate,
        )

    async def fetch(self) -> AsyncGenerator[pb.PullResponse, None]:
        """Yield the result, as fast as it is taken. Raises InvalidDataflow where it was fetched before."""
        if self._is_fetched:
            raise InvalidDataflow("this result has been fetched: run the dataflow again")
        self._is_fetched = True
        frames, loop = iter(self._endpoint), asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "jumpgate-pull") as thread:
            try:
                ahead = loop.run_in_executor(thread, next, frames, None)
                while (frame := await ahead) is not None:
                    ahead = loop.run_in_executor(thread, next, frames, None)
                    ahead.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may await it
                    for piece in _pieces(*frame):
                        yield piece
            finally:
                self.close()

    def close(self, reason: JumpgateError | None = None) -> None:
        """Receive no more; whoever fetches gets the reason. May be called twice."""
        self._endpoint.close(reason)

    def leave(self) -> None:
        """Forget a result that nobody fetches."""
        if not self._is_fetched:
            self.close()


class Pulls:
    """Results that are to be fetched, by their jobs."""

    def __init__(self) -> None:
        self._by_job: dict[str, Pulled] = {}

    def open(self, hosts: tuple[HostConfig, ...]) -> Pulled:
        """Receive a result where all hosts reach this machine."""
        places = [facing(_address(host)) for host in hosts if not host.is_here]
        outside = [place for place in places if not is_loopback(joined(place, 0))]
        return Pulled(next(iter(outside or places), LOOPBACK))

    def add(self, job: Job, pulled: Pulled) -> None:
        """Let the job's result be fetched."""
        pulled.expect(job)
        self._by_job[job.id] = pulled

    def find(self, job: str) -> Pulled:
        """Return the job's result. Raises NotFound."""
        if job not in self._by_job:
            raise NotFound(f"job '{job}' has no result to be pulled: it ended, or was not begun with `pull`", job=job)
        return self._by_job[job]

    def keep(self, job: str) -> None:
        """Let the result of a job that has ended be fetched for a while."""
        asyncio.get_running_loop().call_later(UNFETCHED_S, self.forget, job)

    def forget(self, job: str) -> None:
        """Drop the result, unless it is being fetched."""
        self._by_job.pop(job).leave()


def _address(host: HostConfig) -> str:
    """Return host:port, as `facing` takes it."""
    place = host.agent or (host.ssh or "").rpartition("@")[2]
    return place if ":" in place else joined(place, 0)


def _pieces(payload: pa.Buffer, rows: int) -> Iterator[pb.PullResponse]:
    for begin in range(0, payload.size, PIECE_BYTES) if payload.size > PIECE_BYTES else (0,):
        piece = payload.slice(begin, min(PIECE_BYTES, payload.size - begin))
        yield pb.PullResponse(rows=rows, bytes=payload.size, payload=piece.to_pybytes())
