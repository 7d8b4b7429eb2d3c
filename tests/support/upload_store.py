"""A store that takes multipart uploads, on loopback: completed objects are files of a folder, which hadro can serve."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


class UploadStore:
    """`uploads` are those that are neither completed nor aborted. `before` is called with method and object of each
    request, and may answer a status to refuse it with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.before: Callable[[str, str], int] = lambda method, name: 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def objects(self) -> list[str]:
        return sorted(str(file.relative_to(self.folder)) for file in self.folder.rglob("*") if file.is_file())

    def taken(self, request: _Handler) -> tuple[int, str]:
        """Answer a request with a status and the text of an XML element."""
        if status := self.before(request.command, unquote(urlsplit(request.path).path)):
            return status, ""
        url = urlsplit(request.path)
        asked = {name: value for name, (value, *_) in parse_qs(url.query, keep_blank_values=True).items()}
        file = self.folder / unquote(url.path).lstrip("/")
        upload = asked.get("uploadId", "")
        match request.command:
            case "GET":
                below = [o for o in self.objects if o.startswith(f"{file.name}/{asked['prefix']}")]
                keys = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in below)
                return 200, f"<ListBucketResult>{keys}</ListBucketResult>"
            case "POST" if "uploads" in asked:
                upload = f"upload-{len(self.uploads)}-{file.name}"
                self.uploads[upload] = {}
                return (
                    200,
                    f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>",
                )
            case "DELETE" if not upload:
                file.unlink(missing_ok=True)
                return 204, ""
            case _ if upload not in self.uploads:
                return 404, "<Error><Code>NoSuchUpload</Code></Error>"
            case "PUT":
                self.uploads[upload][int(asked["partNumber"])] = request.body
                return 200, ""
            case "DELETE":
                del self.uploads[upload]
                return 204, ""
        parts = self.uploads.pop(upload)
        numbers = map(int, re.findall(rb"<PartNumber>(\d+)</PartNumber>", request.body))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"".join(parts[number] for number in numbers))
        return 200, "<CompleteMultipartUploadResult/>"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b""

    def __init__(self, store: UploadStore, *connection: Any) -> None:
        self._store = store
        super().__init__(*connection)  # which answers the connection's requests

    def _answer(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("content-length", 0)))
        status, text = self._store.taken(self)
        content = text.encode()
        self.send_response(status)
        self.send_header("etag", '"part"')
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 (names of http.server)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""
