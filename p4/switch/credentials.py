"""The credentials that a controller shows to a switch's P4Runtime server, and the errors of a refusal."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from jumpgate.errors import JumpgateError, Unauthenticated, Unreachable
from jumpgate.trust import tokens
from jumpgate.trust.channels import refusal
from jumpgate.trust.tls import Identity


@dataclass(frozen=True)
class Credentials:
    """`identity`: the certificate to show; without, the connection is not encrypted. `token`: None for that of this
    user, which is found by the switch's address."""

    identity: Identity | None = None
    token: str | None = field(default=None, repr=False)

    @staticmethod
    def load(tls: str | Path | None, token_file: str | Path | None, whose: str) -> Credentials:
        """Load a folder of certificates and a file with a token, where there are any. Raises ConfigError."""
        return Credentials(Identity.load(tls) if tls else None, tokens.read(token_file, whose) if token_file else None)

    def target(self, address: str) -> str:
        """The address to call; names are left to the certificates where there are any."""
        return address if self.identity else tokens.local(address) or address

    def metadata(self, address: str) -> tuple[tuple[str, str], ...]:
        """Return the metadata that each call shows."""
        return tokens.metadata(self.token or tokens.find(address))


#: neither certificates nor a file with a token: a switch of this user on this machine
FOUND = Credentials()


def turned_away(
    switch: str, address: str, credentials: Credentials, error: grpc.RpcError | None, **fields: object
) -> JumpgateError:
    """The error of a first call that failed; `error`: None if no answer came. Asks who listens what is wrong with the
    certificates: that is an Unauthenticated error, with the way out. `fields` are the error's."""
    found: Any = error
    reason = found.details() if found is not None else "no answer"
    if found is not None and found.code() is grpc.StatusCode.UNAUTHENTICATED:
        return Unauthenticated(f"{switch}: {reason}", address=address, **fields)
    if why := refusal(credentials.target(address), credentials.identity):
        way = (
            "Does it run with --tls, and with a certificate of the same authority for this address?"
            if credentials.identity
            else "Name a folder of certificates of its authority: `tls` of the [[device]], or --tls"
        )
        return Unauthenticated(f"{switch}: {why}. {way}", address=address, **fields)
    return Unreachable(f"{switch}: {reason}. Is it running? Else correct its address", address=address, **fields)
