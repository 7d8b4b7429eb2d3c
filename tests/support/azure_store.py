"""A store of Azure for tests: the few requests of its REST API that reading, listing and uploading take, with keys of
accounts and signed URLs, and folders as a hierarchical namespace has them. hadro answers reads of blobs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

from tests.support.google_store import answer

ACCOUNT = "jumpgatetests"
KEY = base64.b64encode(b"a key of an account that nobody may see").decode()
#: of the string that a signed URL signs (service SAS of a blob), and of a request's that an account's key signs
_SIGNED = ("sp", "st", "se", "", "si", "sip", "spr", "sv", "sr", "", "ses", "rscc", "rscd", "rsce", "rscl", "rsct")
_HEADERS = ("content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
            "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range")  # fmt: skip
PAGE = 5000


class AzureApp:
    """Serves the folders in `folder` as containers of ACCOUNT. `blocks` are those that nothing was made of; `refused`
    begins the names of blobs that are not completed."""

    def __init__(self, app: Any, folder: Path) -> None:
        self._app, self._folder = app, folder
        self.blocks: dict[str, dict[str, bytes]] = {}
        self.refused = "\0"
        self._metadata: dict[str, dict[str, str]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        asked = {name: value for name, (value, *_) in parse_qs(scope["query_string"].decode()).items()}
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        path = scope["path"].removeprefix(f"/{ACCOUNT}")
        if not self._may(scope, headers, asked, path):
            await self._refuse(send, 403, "AuthenticationFailed")
        elif asked.get("comp") == "list":
            await self._list(send, path.strip("/"), asked)
        elif scope["method"] in ("GET", "HEAD"):
            await self._read(scope, receive, send, path)
        else:
            await self._write(scope["method"], headers, asked, path, receive, send)

    async def _read(self, scope: Any, receive: Any, send: Any, path: str) -> None:
        if (self._folder / path.strip("/")).is_dir():
            await answer(send, 200, b"", ((b"etag", b'"0x1"'), (b"x-ms-meta-hdi_isfolder", b"true")))
            return
        if not (self._folder / path.strip("/")).exists():
            await self._refuse(send, 404, "BlobNotFound")
            return
        more = [(f"x-ms-meta-{name}".encode(), value.encode()) for name, value in self._metadata.get(path, {}).items()]

        async def told(message: Any) -> None:
            is_head = message["type"] == "http.response.start"
            await send({**message, "headers": [*message["headers"], *more]} if is_head else message)

        # newer tools name the range in a header of Azure's
        sent = [(b"range" if name == b"x-ms-range" else name, value) for name, value in scope["headers"]]
        await self._app({**scope, "path": path, "raw_path": path.encode(), "headers": sent}, receive, told)

    async def _write(
        self, method: str, headers: dict[str, str], asked: dict[str, str], path: str, receive: Any, send: Any
    ) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        file = self._folder / path.strip("/")
        if method == "DELETE":
            file.unlink(missing_ok=True)
        elif asked.get("comp") == "block":
            self.blocks.setdefault(path, {})[asked["blockid"]] = body
        elif path.startswith(self.refused):
            await self._refuse(send, 403, "AuthorizationFailure")
            return
        else:
            made = self.blocks.pop(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(
                b"".join(made[id.decode()] for id in re.findall(rb"<(?:Latest|Uncommitted)>([^<]*)", body))
            )
            prefix = "x-ms-meta-"
            self._metadata[path] = {n.removeprefix(prefix): v for n, v in headers.items() if n.startswith(prefix)}
        await answer(send, 202 if method == "DELETE" else 201)

    async def _list(self, send: Any, container: str, asked: dict[str, str]) -> None:
        folder = self._folder / container
        if not folder.is_dir():
            await self._refuse(send, 404, "ContainerNotFound")
            return
        names = sorted(str(f.relative_to(folder)) for f in folder.rglob("*"))
        prefix, start = asked.get("prefix", ""), asked.get("startFrom", "")
        names = [name for name in names if name.startswith(prefix) and name >= start]
        first, most = int(asked.get("marker") or 0), int(asked.get("maxresults", PAGE))
        blobs = "".join(self._entry(folder / name, name) for name in names[first : first + most])
        marker = str(first + most) if first + most < len(names) else ""
        found = f"<Blobs>{blobs}</Blobs><NextMarker>{marker}</NextMarker>"
        text = f"<?xml version='1.0'?><EnumerationResults>{found}</EnumerationResults>"
        await answer(send, 200, text.encode(), ((b"content-type", b"application/xml"),))

    @staticmethod
    def _entry(file: Path, name: str) -> str:
        size, tag, more = 0, "0x1", "<Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>"
        if file.is_file():
            size, tag, more = file.stat().st_size, _tag(file), ""
        changed = formatdate(file.stat().st_mtime, usegmt=True)
        properties = (
            f"<Last-Modified>{changed}</Last-Modified><Etag>{tag}</Etag><Content-Length>{size}</Content-Length>"
            "<Content-Type>application/octet-stream</Content-Type><BlobType>BlockBlob</BlobType>"
        )
        return f"<Blob><Name>{escape(name)}</Name><Properties>{properties}</Properties>{more}</Blob>"

    @staticmethod
    async def _refuse(send: Any, status: int, code: str) -> None:
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        await answer(send, status, body, ((b"x-ms-error-code", code.encode()), (b"content-type", b"application/xml")))

    @staticmethod
    def _may(scope: Any, headers: dict[str, str], asked: dict[str, str], path: str) -> bool:
        if "sig" in asked:  # of a blob, for reading
            told = [asked.get(name, "") for name in _SIGNED]
            told[3] = f"/blob/{ACCOUNT}{path}"
            return asked["sig"] == _signature("\n".join(told)) and scope["method"] in ("GET", "HEAD")
        own = "".join(f"{n}:{v}\n" for n, v in sorted(headers.items()) if n.startswith("x-ms-"))
        query = "".join(f"\n{name.lower()}:{value}" for name, value in sorted(asked.items()))
        values = [headers.get(name, "") for name in _HEADERS]
        values[2] = "" if values[2] == "0" else values[2]
        raw = scope.get("raw_path", scope["path"].encode()).decode().partition("?")[0]
        text = "\n".join([scope["method"], *values, f"{own}/{ACCOUNT}{raw}{query}"])
        return headers.get("authorization", "") == f"SharedKey {ACCOUNT}:{_signature(text)}"


def _signature(text: str) -> str:
    return base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()


def _tag(file: Path) -> str:
    """Return a file's ETag as hadro has it."""
    found = file.stat()
    return hashlib.md5(f"{found.st_size}:{found.st_mtime_ns}".encode()).hexdigest()
