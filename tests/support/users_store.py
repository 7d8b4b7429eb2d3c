"""A store of several users, whose signatures it verifies and who may see different objects: hadro for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from hadro.app import create_app
from hadro.config import Config

from tests.support.object_store import Scope, Send, Store, credentials


@dataclass
class User:
    """One with a key. token: of a session, which each request must show. reads: the prefixes, bucket/key, of what may
    be read; `lists`: of what may be listed."""

    key: str
    secret: str
    token: str = ""
    reads: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    #: the error of every answer; empty: none
    error: str = ""

    def brought(self, *urls: str, **more: Any) -> dict[str, dict[str, Any]]:
        """Return the credentials as a client gives them."""
        own = {"access_key": self.key, "secret_key": self.secret, **more}
        return {url: own | ({"session_token": self.token} if self.token else {}) for url in urls}


class UsersStore(Store):
    """`asked`: of each request the user's key, its method, and the object or what is listed."""

    def __init__(self, folder: Path, *users: User, certificate: Path | None = None) -> None:
        self.users = {user.key: user for user in users}
        self.asked: list[tuple[str, str, str]] = []
        apps = {
            user.key: create_app(Config.from_env(data=str(folder), access_key=user.key, secret_key=user.secret))
            for user in users
        }
        super().__init__(folder, certificate, lambda _: self._checked(apps))

    def who(self) -> set[str]:
        """Return the keys of all requests since the last call."""
        found = {key for key, _, _ in self.asked}
        self.asked.clear()
        return found

    def _checked(self, apps: Mapping[str, Any]) -> Callable[[Scope, Any, Send], Any]:
        async def app(scope: Scope, receive: Any, send: Send) -> None:
            query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()}
            headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
            key = _key(headers.get("authorization", ""), query)
            name = unquote(scope["path"]).strip("/")
            if "/" not in name:
                name = f"{name}/{query.get('prefix', '')}"
            self.asked.append((key, scope["method"], name))
            error = self._refusal(key, name, "/" not in unquote(scope["path"]).strip("/"), headers, query)
            if error:
                await _refuse(send, error, scope["method"] == "HEAD")
            else:
                await apps[key](scope, receive, send)

        return app

    def _refusal(self, key: str, name: str, is_list: bool, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        user = self.users.get(key)
        if user is None:
            return "InvalidAccessKeyId"
        if headers.get("x-amz-security-token", query.get("X-Amz-Security-Token", "")) != user.token:
            return "InvalidToken"
        if user.error:
            return user.error
        allowed = user.lists if is_list else user.reads
        return "" if any(name.startswith(prefix) for prefix in allowed) else "AccessDenied"


def _key(authorization: str, query: Mapping[str, str]) -> str:
    credential = query.get("X-Amz-Credential", "") or authorization.partition("Credential=")[2]
    return credential.partition("/")[0]


async def _refuse(send: Send, code: str, is_head: bool) -> None:
    body = b"" if is_head else f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
    headers = [(b"content-type", b"application/xml"), (b"content-length", str(len(body)).encode())]
    status = 400 if code == "ExpiredToken" else 403
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def users_store(folder: Path, own: User, *others: User) -> Iterator[UsersStore]:
    """Serve a folder; `own` is who this process is by its environment."""
    found = UsersStore(folder, own, *others)
    try:
        with credentials(found.endpoint, own.key, own.secret):
            yield found
    finally:
        found.close()
