"""gRPC between machines with certificates at both ends, and why a server hangs up on a client without the right one."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Sequence
from typing import Any

import grpc

from jumpgate.errors import ConfigError
from jumpgate.ntf.addresses import host_of
from jumpgate.trust.tls import CA, CERTIFICATE, KEY, Identity

#: for who listens to say a byte
ANSWER_TIMEOUT_S = 5.0
#: how a client of HTTP/2 begins, with an empty frame of settings; a server answers with its own
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))

Options = Sequence[tuple[str, Any]]
#: a connection of its own: one that is shared would fail at once, without a try, while another channel to the same
#: address waits after a refusal, also where a server listens there since
OWN: Options = (("grpc.use_local_subchannel_pool", 1),)


def channel(target: str, identity: Identity | None, options: Options = ()) -> grpc.Channel:
    """To a server; without an identity it is not encrypted."""
    if identity is None:
        return grpc.insecure_channel(target, options=(*OWN, *options))
    return grpc.secure_channel(target, _shown(identity), options=(*OWN, *options))


def aio_channel(target: str, identity: Identity | None) -> grpc.aio.Channel:
    """The same for asyncio."""
    if identity is None:
        return grpc.aio.insecure_channel(target, options=OWN)
    return grpc.aio.secure_channel(target, _shown(identity), options=OWN)


def _shown(identity: Identity) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(identity.ca, identity.key, identity.certificate)


def server_credentials(identity: Identity) -> grpc.ServerCredentials:
    """Make the credentials of a server that wants a certificate of every client. A connection that begins once the
    files have changed sees the new ones, if they can be used."""
    shown, stamp = identity, _stamp(identity)

    def changed() -> grpc.ServerCertificateConfiguration | None:
        nonlocal shown, stamp
        if (now := _stamp(shown)) == stamp:
            return None
        try:
            shown, stamp = Identity.load(shown.folder), now
        except ConfigError:  # they are being written; the next connection tries again
            return None
        return _configuration(shown)

    return grpc.dynamic_ssl_server_credentials(_configuration(identity), changed, require_client_authentication=True)


def _configuration(identity: Identity) -> grpc.ServerCertificateConfiguration:
    pair = (identity.key, identity.certificate)
    return grpc.ssl_server_certificate_configuration([pair], root_certificates=identity.ca)


def _stamp(identity: Identity) -> tuple[tuple[int, int], ...]:
    """Return what differs once one of the files was written."""
    found = []
    for name in (CA, CERTIFICATE, KEY):
        with contextlib.suppress(OSError):
            state = (identity.folder / name).stat()
            found.append((state.st_mtime_ns, state.st_ino))
    return tuple(found)


def refusal(address: str, identity: Identity | None) -> str:
    """Why gRPC does not begin with who listens at host:port, though somebody does; empty: it begins, or nobody does.
    gRPC's own errors do not tell a client that was turned away from a server that is gone."""
    try:
        plain = socket.create_connection((host_of(address), int(address.rpartition(":")[2])), ANSWER_TIMEOUT_S)
    except OSError:
        return ""
    with contextlib.closing(plain):
        if identity is None:
            return "" if _begins(plain) else "it hung up on a connection that is not encrypted"
        context = identity.context(server=False)
        context.set_alpn_protocols(["h2"])
        try:
            with context.wrap_socket(plain, server_hostname=host_of(address)) as encrypted:
                return "" if _begins(encrypted) else f"it hung up on the certificate in {identity.folder}"
        except ssl.SSLCertVerificationError as error:
            return f"its certificate does not hold: {error.verify_message}"
        except ssl.SSLError as error:
            return f"TLS with the certificate in {identity.folder} failed: {error.reason or error}"
        except OSError:
            return "it hung up on a connection that is encrypted"


def _begins(connection: socket.socket) -> bool:
    """Return whether the peer answers as HTTP/2 does. Raises SSLError."""
    try:
        connection.sendall(PREFACE)
        return connection.recv(4)[3:] == PREFACE[-6:-5]  # the type of its first frame
    except ssl.SSLError:
        raise
    except OSError:
        return False
