"""The client's part of a job's trace, for programs that use OpenTelemetry: a span of their own tracer, which the
service is told. Others load nothing of it."""

from __future__ import annotations

import sys
from typing import Any

from jumpgate.errors import JumpgateError


class Traced:
    """A span from a job's call to its end. `parent` tells the service of it: a traceparent, or empty."""

    def __init__(self) -> None:
        self.parent = ""
        self._span: Any = None
        if "opentelemetry.trace" not in sys.modules:  # the program does not trace
            return
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._span = trace.get_tracer("jumpgate").start_span("jumpgate run", kind=trace.SpanKind.CLIENT)
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, trace.set_span_in_context(self._span))
        self.parent = carrier.get("traceparent", "")

    def end(self, error: JumpgateError | None) -> None:
        """End the span; it has the code of the job's error."""
        if self._span is None:
            return
        if error is not None:
            from opentelemetry.trace import Status, StatusCode

            self._span.set_attribute("error.type", error.code)
            self._span.set_status(Status(StatusCode.ERROR, error.code))
        self._span.end()
