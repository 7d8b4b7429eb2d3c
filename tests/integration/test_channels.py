"""Channels know nothing of each other's failures."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import threading
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest

from jumpgate.trust import certificates
from jumpgate.trust.channels import aio_channel, channel, server_credentials
from jumpgate.trust.tls import Identity


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


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_server_shows_a_new_certificate_without_a_restart(asynchronous: bool, tmp_path: Path) -> None:
    """Another authority is believed from then on, and the old one no longer; a broken file changes nothing."""
    for authority in ("old", "new"):
        certificates.init(tmp_path / authority)
    old, new = (certificates.issue(tmp_path / name, "here", ["127.0.0.1"]) for name in ("old", "new"))
    folder = tmp_path / "shown"
    shutil.copytree(old, folder)

    def reached(by: Path) -> bool:
        with channel(address, Identity.load(by)) as client:
            return status(client) is grpc.StatusCode.UNIMPLEMENTED

    with serving(server_credentials(Identity.load(folder)), asynchronous) as address:
        assert reached(old) and not reached(new)
        (folder / "cert.pem").write_text("broken")
        assert reached(old)
        for file in new.iterdir():
            shutil.copy2(file, folder / file.name)
        assert reached(new) and not reached(old)


@contextlib.contextmanager
def serving(credentials: grpc.ServerCredentials, asynchronous: bool) -> Iterator[str]:
    """The address of a server of no calls."""
    if not asynchronous:
        server = grpc.server(futures.ThreadPoolExecutor(1))
        port = server.add_secure_port("127.0.0.1:0", credentials)
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(0).wait()
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> tuple[grpc.aio.Server, int]:
        made = grpc.aio.server()
        port = made.add_secure_port("127.0.0.1:0", credentials)
        await made.start()
        return made, port

    made, port = asyncio.run_coroutine_threadsafe(start(), loop).result(60)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(made.stop(0), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


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
