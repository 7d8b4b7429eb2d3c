"""The controller's side of P4Runtime: being primary, writing entries, noticing that the switch is gone."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Any

import grpc
from finsy import P4Schema
from finsy.p4entity import P4Entity
from finsy.proto import U128, p4r, p4r_grpc

from jumpgate.errors import ConfigError, InstanceFailed, InternalError, JumpgateError, Unreachable
from jumpgate.p4.switch.credentials import FOUND, Credentials, turned_away
from jumpgate.p4.switch.stand_ins import StandIn
from jumpgate.trust.channels import aio_channel

CONNECT_TIMEOUT_S = 10.0
CALL_TIMEOUT_S = 10.0
#: for the connection to tell that the switch has ended, after a call has failed
END_TOLD_S = 2.0
INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
#: updates of one Write: messages stay far below gRPC's limit
UPDATES_MAX = 4096


class Client:
    """Primary controller of one switch, whose pipeline is installed already."""

    def __init__(self, name: str, address: str, credentials: Credentials, device_id: int) -> None:
        self.name, self.address, self.device_id = name, address, device_id
        self._credentials = credentials
        #: later than any controller before: a service that was started again takes its switch over
        self._election = time.time_ns()
        self._channel = aio_channel(credentials.target(address), credentials.identity)
        self._metadata = credentials.metadata(address)
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._stream: Any = None
        self._listening: asyncio.Task[None] | None = None
        self._failure: asyncio.Future[JumpgateError] = asyncio.get_running_loop().create_future()
        self.schema = P4Schema()

    @staticmethod
    async def connect(name: str, address: str, credentials: Credentials = FOUND, device_id: int = 1) -> Client:
        """Raises Unreachable (nobody answers, or another controller has it), Unauthenticated (it wants another token or
        certificate, or is not who it should be) or ConfigError (it runs no program)."""
        client = Client(name, address, credentials, device_id)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await client._introduce()
        except BaseException as error:
            await client.close()
            if isinstance(error, grpc.aio.AioRpcError | TimeoutError):
                said = error if isinstance(error, grpc.aio.AioRpcError) else None
                where = f"switch '{name}' at {address}"
                raise await asyncio.to_thread(turned_away, where, address, credentials, said, device=name) from None
            raise
        client._listening = asyncio.create_task(client._listen())
        return client

    async def _introduce(self) -> None:
        try:  # first: who is turned away is told why, which a stream may break off without
            found = await self._stub.GetForwardingPipelineConfig(
                p4r.GetForwardingPipelineConfigRequest(device_id=self.device_id), metadata=self._metadata
            )
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
                raise
            raise ConfigError(
                f"switch '{self.name}' at {self.address} runs no program: install one of p4/programs", device=self.name
            ) from None
        self._stream = self._stub.StreamChannel(metadata=self._metadata)
        update = p4r.MasterArbitrationUpdate(device_id=self.device_id, election_id=U128.encode(self._election))
        await self._stream.write(p4r.StreamMessageRequest(arbitration=update))
        answer = await self._stream.read()
        if answer is grpc.aio.EOF or answer.arbitration.status.code:
            raise Unreachable(
                f"switch '{self.name}' at {self.address} has another controller: end it, or give the switch to one "
                "service only",
                device=self.name,
            )
        known = found.config.p4info
        kept = [t for t in known.tables if not t.is_const_table]  # nobody writes them, and Finsy refuses some names
        del known.tables[:]
        known.tables.extend(kept)
        try:
            self.schema = P4Schema(known)
        except ValueError as error:
            raise ConfigError(
                f"switch '{self.name}' at {self.address} runs a program that cannot be used: {error}", device=self.name
            ) from None

    @property
    def alive(self) -> bool:
        return not self._failure.done()

    async def watch(self) -> None:
        """Until the connection breaks; then raises InstanceFailed."""
        raise await asyncio.shield(self._failure)

    async def cause(self, error: JumpgateError) -> JumpgateError:
        """Return why something failed: the switch's end, if the connection tells of it soon; else `error`."""
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(self._failure), END_TOLD_S)
        return error

    async def _listen(self) -> None:
        reason = "ended"
        with contextlib.suppress(grpc.aio.AioRpcError):
            while (message := await self._stream.read()) is not grpc.aio.EOF:
                if message.WhichOneof("update") == "arbitration" and message.arbitration.status.code:
                    reason = "was taken over by another controller"
                    break
        self._failure.set_result(
            InstanceFailed(f"switch '{self.name}' at {self.address} {reason} while jobs used it", device=self.name)
        )

    async def write(self, kind: int, entities: Sequence[P4Entity | StandIn]) -> None:
        """Inserts, modifies or deletes, in order. Raises InstanceFailed (the switch ended), Unreachable, ConfigError
        (it runs another program), or InternalError for what it refuses."""
        try:
            updates = [p4r.Update(type=kind, entity=e.encode(self.schema)) for e in entities]  # type: ignore[arg-type]
        except ValueError as error:  # names of another program
            raise ConfigError(
                f"switch '{self.name}' does not run the program that jumpgate.toml names: {error}", device=self.name
            ) from None
        for first in range(0, len(updates), UPDATES_MAX):
            request = p4r.WriteRequest(
                device_id=self.device_id,
                election_id=U128.encode(self._election),
                updates=updates[first : first + UPDATES_MAX],
            )
            try:
                await self._stub.Write(request, timeout=CALL_TIMEOUT_S, metadata=self._metadata)
            except grpc.aio.AioRpcError as error:
                if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                    found = Unreachable(f"switch '{self.name}' at {self.address}: {error.details()}", device=self.name)
                    raise await self.cause(found) from None
                raise InternalError(
                    f"switch '{self.name}' refused an entry: {error.details()}", device=self.name
                ) from None

    async def close(self) -> None:
        """May be called twice."""
        if self._listening is not None:
            self._listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listening
            self._listening = None
        if self._stream is not None:
            self._stream.cancel()
        await self._channel.close()
