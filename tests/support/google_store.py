"""A store of Google for tests: hadro, whose protocol its XML API shares, for who shows a token; and who gives that."""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

TOKEN = "ya29.a-token-that-nobody-may-see"
EMAIL = "reader@project.iam.example.org"


class Account:
    """A service account with a key of its own."""

    def __init__(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        form = serialization.PrivateFormat.PKCS8
        self.key = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
        info = serialization.PublicFormat.SubjectPublicKeyInfo
        self.public = key.public_key().public_bytes(serialization.Encoding.PEM, info)

    def file(self, endpoint: str) -> str:
        """Return what is in the account's file with credentials."""
        told = {"type": "service_account", "client_email": EMAIL, "private_key": self.key, "private_key_id": "1",
                "token_uri": f"{endpoint}/token"}  # fmt: skip
        return json.dumps(told)


class GoogleApp:
    """Answers those who show TOKEN, or a token that the account signed itself; gives TOKEN to the account."""

    def __init__(self, app: Any, account: Account) -> None:
        self._app, self._account = app, account

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/token":
            body = (await receive())["body"].decode()
            found = {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}
            status = 200 if self._is_signed(body.partition("assertion=")[2].partition("&")[0]) else 401
            await answer(send, status, json.dumps(found if status == 200 else {"error": "invalid_grant"}).encode())
            return
        shown = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        if shown == TOKEN or self._is_signed(shown):
            await self._app(scope, receive, send)
        else:
            await answer(send, 401, b"<Error><Code>AuthenticationRequired</Code></Error>")

    def _is_signed(self, token: str) -> bool:
        try:
            return jwt.decode(token, certs=self._account.public)["iss"] == EMAIL  # type: ignore[no-untyped-call, no-any-return]
        except (ValueError, KeyError):
            return False


async def answer(send: Any, status: int, body: bytes = b"", headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send a whole answer."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})
