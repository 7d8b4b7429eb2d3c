"""A fake Jumpgate service on the loopback: plans nothing and sends what a test chose. For tests of clients."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pyarrow as pa

from jumpgate.dataflow import proto
from jumpgate.dataflow.operators import Send
from jumpgate.errors import JumpgateError
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.send import Sender
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateServicer, add_JumpgateServicer_to_server

TOKEN = "a secret"  # noqa: S105


class FakeService(JumpgateServicer):
    """Each job's producers send `batches` and end; `fail_submit` and `fail_execute` are raised where they say.

    `send` replaces what producers do, for streams that break; `last_state` is the state in which the events end.
    """

    def __init__(self, batches: list[pa.RecordBatch], producers: int = 1, port: int = 0) -> None:
        self.batches, self.producers = batches, producers
        self.fail_submit: JumpgateError | None = None
        self.fail_execute: JumpgateError | None = None
        self.send: Callable[[Sender], None] = self._send_all
        self.last_state = "done"
        self.cancelled = threading.Event()
        self.jobs: dict[str, Send] = {}
        self._server = grpc.server(ThreadPoolExecutor(8))
        add_JumpgateServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]
        self.address = f"127.0.0.1:{self._server.add_insecure_port(f'127.0.0.1:{port}')}"
        self._server.start()

    def close(self) -> None:
        self._server.stop(0).wait()

    def Submit(self, request: pb.SubmitRequest, context: Any) -> pb.SubmitResponse:
        if self.fail_submit is not None:
            _abort(context, self.fail_submit)
        root, _ = proto.decode(request.dataflow)
        assert isinstance(root, Send)
        job = f"j{len(self.jobs)}"
        self.jobs[job] = root
        return pb.SubmitResponse(
            job_id=job,
            edge="e9",
            producers=self.producers,
            token=TOKEN,
            stages=1,
            format=Descriptor.columnar(root.schema).to_proto(),
        )

    def Execute(self, request: pb.ExecuteRequest, context: Any) -> Iterator[pb.Event]:
        context.add_callback(lambda: None if context.code() else self.cancelled.set())
        yield pb.Event(job_id=request.job_id, state="running", stage=1)
        root = self.jobs[request.job_id]
        if self.fail_execute is None or self.send != self._send_all:
            with ThreadPoolExecutor(self.producers) as pool:
                list(pool.map(lambda i: self._produce(request.job_id, root, i), range(self.producers)))
        if self.fail_execute is not None:
            _abort(context, self.fail_execute)
        yield pb.Event(job_id=request.job_id, state=self.last_state)

    def Run(self, request: pb.RunRequest, context: Any) -> Iterator[pb.Event]:
        answer = self.Submit(request.submit, context)
        yield pb.Event(job_id=answer.job_id, state="submitted", submitted=answer)
        yield from self.Execute(pb.ExecuteRequest(job_id=answer.job_id), context)

    def Explain(self, request: pb.ExplainRequest, context: Any) -> pb.ExplainResponse:
        root, _ = proto.decode(request.dataflow)
        return pb.ExplainResponse(text=root.kind, json=json.dumps({"root": root.kind}))

    def List(self, request: pb.ListRequest, context: Any) -> pb.ListResponse:
        return pb.ListResponse(jobs=[pb.JobDescription(job_id=j, state="done") for j in reversed(self.jobs)])

    def Describe(self, request: pb.DescribeRequest, context: Any) -> pb.JobDescription:
        return pb.JobDescription(job_id=request.job_id, state="done", record_json='{"stages": 1}')

    def Cancel(self, request: pb.CancelRequest, context: Any) -> pb.CancelResponse:
        self.cancelled.set()
        return pb.CancelResponse()

    def _produce(self, job: str, root: Send, producer: int) -> None:
        self.send(
            Sender(
                root.endpoints[0],
                job=job,
                edge="e9",
                token=TOKEN,
                producer=producer,
                descriptor=Descriptor.columnar(root.schema),
            )
        )

    def _send_all(self, sender: Sender) -> None:
        with sender:
            for batch in self.batches:
                sender.write(batch)


def _abort(context: Any, error: JumpgateError) -> None:
    context.set_trailing_metadata((("jumpgate-error", json.dumps(error.to_dict())),))
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, error.message)
