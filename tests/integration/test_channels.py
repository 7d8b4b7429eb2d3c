"""Channels know nothing of each other's failures."""

from __future__ import annotations

import asyncio
import socket
from concurrent import futures

import grpc

from jumpgate.trust.channels import aio_channel, channel


def test_a_server_that_listens_since_another_channel_was_refused_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    with channel(address, None) as early:
        assert status(early) is grpc.StatusCode.UNAVAILABLE
        server = grpc.server(futures.ThreadPoolExecutor(1))
        server.add_insecure_port(address)
        server.start()
        try:
            with channel(address, None) as late:
                assert status(late) is grpc.StatusCode.UNIMPLEMENTED
            assert asyncio.run(aio_status(address)) is grpc.StatusCode.UNIMPLEMENTED
        finally:
            server.stop(0).wait()


def status(of: grpc.Channel) -> grpc.StatusCode | None:
    """That of a call which no server knows."""
    try:
        of.unary_unary("/a/b")(b"")
    except grpc.RpcError as error:
        return error.code()
    return None


async def aio_status(address: str) -> grpc.StatusCode | None:
    async with aio_channel(address, None) as late:
        try:
            await late.unary_unary("/a/b")(b"")
        except grpc.aio.AioRpcError as error:
            return error.code()
    return None
