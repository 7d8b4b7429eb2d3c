"""A service that is asked for its health, and whose clients' certificates are revoked."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from jumpgate.errors import ConfigError, Unauthenticated
from jumpgate.hosts.config import ClientConfig, Config, TlsConfig, local_hosts
from jumpgate.nca.registry import Registry
from jumpgate.service import health, server
from jumpgate.trust import certificates, revocation, tokens
from jumpgate.trust.channels import aio_channel
from jumpgate.trust.tls import Identity
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateStub

EVERYWHERE = "0.0.0.0"  # noqa: S104


async def asked(channel: grpc.aio.Channel, name: bytes = b"") -> bytes:
    """The bytes of the answer to a probe, which are those of grpc.health.v1."""
    request = b"\x0a" + bytes((len(name),)) + name if name else b""
    answer: bytes = await channel.unary_unary(health.CHECK)(request, timeout=60)
    return answer


def test_probes_need_no_token_and_are_told_when_a_service_drains() -> None:
    async def run() -> None:
        serving = await server.serve(local_hosts(1), Registry())
        try:
            async with aio_channel(serving.address, None) as channel:
                assert await asked(channel) == await asked(channel, b"jumpgate.v1.Jumpgate") == b"\x08\x01"
                with pytest.raises(grpc.aio.AioRpcError, match="there is no such service") as error:
                    await asked(channel, b"other")
                assert error.value.code() is grpc.StatusCode.NOT_FOUND
                with pytest.raises(grpc.aio.AioRpcError, match="wants a token"):
                    await JumpgateStub(channel).List(pb.ListRequest(), timeout=60)
                await serving.drain(0)
                assert await asked(channel) == b"\x08\x02"
        finally:
            await serving.stop()

    asyncio.run(run())


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    certificates.init(tmp_path)
    for name in ("service", "laptop", "other"):
        certificates.issue(tmp_path, name, ["127.0.0.1"])
    (tmp_path / "token").write_text("a secret of many characters")
    return tmp_path


def config(authority: Path) -> Config:
    clients = (ClientConfig("c", str(authority / "token")),)
    return replace(local_hosts(1), tls=TlsConfig(str(authority / "service")), clients=clients)


def test_a_revoked_certificate_opens_no_call_without_a_restart(authority: Path) -> None:
    """Neither on a connection that is open; and a list that is broken or gone leaves the last one in force."""
    shown = tokens.metadata("a secret of many characters")

    async def run() -> None:
        serving = await server.serve(config(authority), Registry(), EVERYWHERE)
        failed: list[tuple[str, str]] = []
        serving.service.on_failed = lambda client, _, error: failed.append((client, error.code))
        address = f"127.0.0.1:{serving.address.rpartition(':')[2]}"
        laptop, other = (aio_channel(address, Identity.load(authority / name)) for name in ("laptop", "other"))

        async def called(channel: grpc.aio.Channel) -> bool:
            try:
                await JumpgateStub(channel).List(pb.ListRequest(), metadata=shown, timeout=60)
            except grpc.aio.AioRpcError as error:
                assert error.code() is grpc.StatusCode.UNAUTHENTICATED and "is revoked" in str(error.details())
                return False
            return True

        try:
            assert await called(laptop) and await called(other)
            shutil.copy(certificates.revoke(authority, authority / "laptop" / "cert.pem"), authority / "service")
            assert not await called(laptop) and await called(other)
            with pytest.raises(grpc.aio.AioRpcError, match="is revoked"):
                await JumpgateStub(laptop).Run(pb.RunRequest(), metadata=shown, timeout=60).read()
            assert failed == [("c", "unauthenticated")] * 2
            listed = authority / "service" / revocation.LIST
            listed.write_text("broken")
            assert not await called(laptop) and await called(other)
            listed.unlink()
            assert not await called(laptop)
            shutil.copy(certificates.revoke(authority, authority / "other" / "cert.pem"), listed)
            assert not await called(laptop) and not await called(other)
        finally:
            await laptop.close()
            await other.close()
            await serving.stop()

    asyncio.run(run())


def test_a_list_that_cannot_be_used_is_told_when_a_service_starts(authority: Path, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    certificates.init(stranger)
    certificates.issue(stranger, "laptop", [])
    with pytest.raises(ConfigError, match="cannot be revoked by the authority"):
        certificates.revoke(authority, stranger / "laptop" / "cert.pem")
    listed = authority / "service" / revocation.LIST
    shutil.copy(certificates.revoke(stranger, stranger / "laptop" / "cert.pem"), listed)
    for text, said in ((None, "signed by none of the authorities"), ("broken", "not PEM"), ("", "not PEM")):
        if text is not None:
            listed.write_text(text)
        with pytest.raises(ConfigError, match=said):
            asyncio.run(server.serve(config(authority), Registry(), EVERYWHERE))


def test_lists_of_several_authorities_are_one_file(authority: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    certificates.init(second)
    certificates.issue(second, "laptop", [])
    folder = authority / "service"
    with (folder / "ca.pem").open("ab") as file:
        file.write((second / "ca.pem").read_bytes())
    gone = [(place, place / "laptop" / "cert.pem") for place in (authority, second)]
    lists = [certificates.revoke(place, certificate).read_bytes() for place, certificate in gone]
    (folder / revocation.LIST).write_bytes(b"".join(lists))
    revoked = revocation.Revoked(folder)
    for _, certificate in gone:
        with pytest.raises(Unauthenticated, match="is revoked"):
            revoked.check(certificate.read_bytes())
    revoked.check((authority / "other" / "cert.pem").read_bytes())
    (folder / revocation.LIST).write_bytes(lists[1])
    os.utime(folder / revocation.LIST, ns=(1, 1))
    revoked.check(gone[0][1].read_bytes())
