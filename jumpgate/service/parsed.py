"""Parses requests within a handler: gRPC answers one that it cannot parse itself without a typed error."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from google.protobuf.message import DecodeError

from jumpgate.errors import InvalidDataflow

#: ends a call with an error
Refuse = Callable[[Any, Exception], Awaitable[Exception]]


def parsed(handler: Any, refuse: Refuse) -> Any:
    """Return a handler whose calls with a damaged request end in a typed error."""
    parse, is_stream = handler.request_deserializer, handler.request_streaming
    kind = kind_of(handler)
    inner = getattr(handler, kind)

    async def answer(request: Any, context: Any) -> Any:
        if is_stream:
            return await inner(_each(parse, request), context)
        try:
            message = _one(parse, request)
        except InvalidDataflow as error:
            raise await refuse(context, error) from error
        return await inner(message, context)

    return handler._replace(**{"request_deserializer": None, kind: answer})


def kind_of(handler: Any) -> str:
    """Return the attribute of a handler that has its function."""
    kinds = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
    return kinds[2 * handler.request_streaming + handler.response_streaming]


def _one(parse: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return parse(data)
    except DecodeError as error:
        raise InvalidDataflow(f"the request is damaged, or of another Jumpgate: {error}") from None


async def _each(parse: Callable[[bytes], Any], requests: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    async for data in requests:
        yield _one(parse, data)
