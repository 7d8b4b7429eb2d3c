"""Find out who calls: by a bearer token as the service's own clients show it, or by a name and password for tools that
know only these. The password is the client's token."""

from __future__ import annotations

import base64
import binascii
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any

from pyarrow import flight

from jumpgate.errors import JumpgateError, Unauthenticated
from jumpgate.flight.failures import as_flight
from jumpgate.flight.limits import TOKENS_MAX
from jumpgate.service.guard import Client, Guard
from jumpgate.trust import tokens

COOKIE = "jumpgate-session"
MIDDLEWARE = "caller"
#: in place of an address: Arrow tells it only of calls that are let in
UNKNOWN_PEER = "flight"


@dataclass(frozen=True)
class Audit:
    """Hears, on any thread, of clients that log in and of calls that are refused: client, peer, and the error."""

    login: Callable[[str, str], None] = lambda *_: None
    failed: Callable[[str, str, JumpgateError], None] = lambda *_: None


@dataclass
class Caller(flight.ServerMiddleware):  # type: ignore[misc]
    """A client that makes a call. `connection` tells connections with the same token apart if no `cookie` is shown."""

    client: Client
    token: str
    cookie: bytes = b""
    granted: str = ""
    is_own_token: bool = False

    def sending_headers(self) -> dict[str, str]:
        """Return the token that was granted for a name and a password."""
        return {tokens.HEADER: tokens.SCHEME + self.granted} if self.granted else {}

    def connection(self, peer: str) -> tuple[str, str]:
        """Return what stands for the client's connection: a token that was granted for one, or the peer."""
        return self.token, "" if self.is_own_token else peer


class NoHandshake(flight.ServerAuthHandler):  # type: ignore[misc]
    """The handshake is what the middleware does with the call's headers."""

    def authenticate(self, outgoing: Any, incoming: Any) -> None:
        """Accept: the middleware has let the call in."""

    def is_valid(self, token: bytes) -> str:
        """Accept: tokens of this kind are not used."""
        return ""


class Callers(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Turns strangers away before their call is read."""

    def __init__(self, guard: Guard, audit: Audit) -> None:
        self._guard, self._audit = guard, audit
        #: tokens of handshakes: the token that was shown there, which may be withdrawn
        self._granted: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def start_call(self, info: flight.CallInfo, headers: dict[str, list[str]]) -> Caller:
        """Return who calls. Raises FlightUnauthenticatedError."""
        try:
            caller = self._caller(str((headers.get(tokens.HEADER) or [""])[0]))
        except Unauthenticated as error:
            self._audit.failed("", UNKNOWN_PEER, error)
            raise as_flight(error) from None
        if info.method == flight.FlightMethod.HANDSHAKE:
            caller.granted = self._grant(caller.token)
            self._audit.login(caller.client.name, UNKNOWN_PEER)
        caller.cookie = _cookie(headers.get("cookie") or [])
        return caller

    def _caller(self, authorization: str) -> Caller:
        scheme, _, value = authorization.partition(" ")
        value = value.strip()
        if scheme.lower() == "basic":
            return self._named(value)
        with self._lock:
            granted = self._granted.get(value)
        shown = value if granted is None else granted
        try:
            client = self._guard.client(tokens.metadata(shown or None))
            return Caller(client, value, is_own_token=granted is not None)
        except Unauthenticated:
            what = "does not know this token" if value else "wants a token"
            raise Unauthenticated(
                f"the service at {self._guard.address} {what}: send `authorization: Bearer TOKEN`, or a [[client]]'s "
                "name as the user and its token as the password",
                address=self._guard.address,
            ) from None

    def _named(self, encoded: str) -> Caller:
        """Return the client whose name and token these are."""
        try:
            padded = encoded + "=" * (-len(encoded) % 4)  # clients in Go leave the padding out
            name, _, password = base64.b64decode(padded, validate=True).decode().partition(":")
            client = self._guard.client(tokens.metadata(password))
        except (binascii.Error, UnicodeDecodeError, Unauthenticated):
            client, name = None, ""
        if client is None or (client.name and client.name != name):
            raise Unauthenticated(
                f"the service at {self._guard.address} does not know this user or password: they are a [[client]]'s "
                "name and its token",
                address=self._guard.address,
            )
        return Caller(client, password)

    def _grant(self, shown: str) -> str:
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._granted[token] = self._granted.get(shown, shown)
            if len(self._granted) > TOKENS_MAX:
                self._granted.popitem(last=False)
        return token


def _cookie(headers: list[str]) -> bytes:
    """Return the session in the cookies, or nothing."""
    for header in headers:
        try:
            found = SimpleCookie(header).get(COOKIE)
            if found is not None:
                return bytes.fromhex(found.value)
        except (CookieError, ValueError):
            continue
    return b""
