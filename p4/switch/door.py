"""Control of a switch belongs to whoever shows the token of the user who started it, if one is wanted."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

import grpc

from jumpgate.trust import tokens

REFUSAL = (
    "this switch is controlled by the user who started it: show the token that STATE/services has for its address, or "
    "that of its --token-file, or start it with --anyone"
)


class Door(grpc.ServerInterceptor):  # type: ignore[misc]
    """Turns other controllers away at every call. `token` may be set until the server starts; None lets all in."""

    def __init__(self) -> None:
        self.token: str | None = None

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        handler = continuation(details)
        shown = tokens.shown(details.invocation_metadata)
        if handler is None or self.token is None or hmac.compare_digest(shown.encode(), self.token.encode()):
            return handler

        def refused(request: Any, context: Any) -> None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, REFUSAL)

        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(refused)
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(refused)
        return grpc.unary_unary_rpc_method_handler(refused)
