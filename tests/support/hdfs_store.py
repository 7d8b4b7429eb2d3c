"""A cluster of HDFS over a folder for tests, on loopback: namenodes that lead to datanodes, or HttpFS, by what WebHDFS
takes for reading, with mischief on the way."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

TOKEN = "KAAEcmVhZA-a_token/that+nobody=may_see"
NEGOTIATE = ("WWW-Authenticate", "Negotiate")
#: exception → status
REFUSALS = {
    "StandbyException": 403, "SafeModeException": 403, "RetriableException": 403, "AccessControlException": 403,
    "IOException": 403, "FileNotFoundException": 404, "InvalidToken": 403, "UnsupportedOperationException": 400,
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """server: namenode, datanode or httpfs, and its number."""

    server: str
    op: str
    path: str
    who: str


class Cluster:
    """Serves the files in `folder`. `before` is called with each request, and may answer an exception of REFUSALS, or
    "lost" (no answer), "cut" (half of one), "short" (one that says to be shorter), "kerberos", or where a namenode
    leads to. Reads take the delegation token TOKEN if there is `token`, else any user's name. places: by path, the
    host of each block."""

    def __init__(self, folder: Path, namenodes: int = 1, is_httpfs: bool = False, token: bool = False) -> None:
        self.folder, self.is_httpfs, self.token = folder, is_httpfs, token
        self.requests: list[Asked] = []
        self.before: Callable[[Asked], str] = lambda asked: ""
        self.places: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        kind = "httpfs" if is_httpfs else "namenode"
        names = [f"{kind} {n}" for n in range(namenodes)] + ([] if is_httpfs else ["datanode 0", "datanode 1"])
        self._servers = {name: ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self, name)) for name in names}
        self._threads = [threading.Thread(target=s.serve_forever, args=(0.05,)) for s in self._servers.values()]
        for thread in self._threads:
            thread.start()
        self.endpoint = ",".join(self.at(f"{kind} {n}") for n in range(namenodes))

    def close(self) -> None:
        for server in self._servers.values():
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()

    def at(self, server: str) -> str:
        return f"http://127.0.0.1:{self._servers[server].server_port}"

    def datanode(self) -> str:
        return self.at(f"datanode {len(self.requests) % 2}")

    def noted(self, asked: Asked) -> str:
        with self._lock:
            self.requests.append(asked)
            return self.before(asked)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, cluster: Cluster, server: str, *connection: Any) -> None:
        self._cluster, self._server = cluster, server
        super().__init__(*connection)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: value for name, (value, *_) in parse_qs(url.query, keep_blank_values=True).items()}
        path = unquote(url.path).removeprefix("/webhdfs/v1")
        who = query.get("user.name", "") or query.get("delegation", "")
        asked = Asked(self._server, query["op"], path, who)
        mischief = self._cluster.noted(asked)
        file = self._cluster.folder / path.lstrip("/")
        if mischief == "lost":
            self.close_connection = True
        elif mischief == "kerberos" or (self._cluster.token and who != TOKEN):
            self._send(401, b"<html>", NEGOTIATE)
        elif mischief in REFUSALS or not file.exists():
            self._refuse(mischief or "FileNotFoundException")
        elif asked.op == "GETFILEBLOCKLOCATIONS":
            self._tell_places(path)
        elif asked.op in ("GETFILESTATUS", "LISTSTATUS"):
            self._tell(asked.op, file)
        elif self._server.startswith("namenode"):
            to = mischief or f"{self._cluster.datanode()}{quote('/webhdfs/v1' + path)}?{url.query}"
            self._send(307, b"", ("Location", to))
        else:
            self._give(file, int(query["offset"]), int(query["length"]), mischief)

    def _tell(self, op: str, file: Path) -> None:
        if op == "GETFILESTATUS":
            found: Any = {"FileStatus": self._status(file, "")}
        else:
            entries = sorted(file.iterdir()) if file.is_dir() else [file]
            found = {
                "FileStatuses": {"FileStatus": [self._status(f, f.name if file.is_dir() else "") for f in entries]}
            }
        self._send(200, json.dumps(found).encode(), in_pieces=True)

    def _tell_places(self, path: str) -> None:
        if path not in self._cluster.places:
            self._refuse("UnsupportedOperationException")
            return
        found = [{"hosts": [f"{host}.example.com"], "names": ["192.0.2.9:9866"]} for host in self._cluster.places[path]]
        self._send(200, json.dumps({"BlockLocations": {"BlockLocation": found}}).encode())

    def _status(self, file: Path, suffix: str) -> dict[str, Any]:
        stat, is_folder = file.stat(), file.is_dir()
        return {
            "pathSuffix": suffix, "type": "DIRECTORY" if is_folder else "FILE", "owner": 'a"length":1',
            "length": 0 if is_folder else stat.st_size, "modificationTime": stat.st_mtime_ns // 1_000_000,
            **({} if self._cluster.is_httpfs else {"fileId": stat.st_ino}),
        }  # fmt: skip

    def _give(self, file: Path, offset: int, length: int, mischief: str) -> None:
        content = file.read_bytes()
        if offset > len(content):
            self._refuse("IOException")
            return
        content = content[offset : offset + length]
        if mischief == "short":
            content = content[:-1]
        is_datanode = self._server.startswith("datanode")
        more = [("Connection", "close")] if is_datanode else []
        self._send(200, content, *more, in_pieces=not is_datanode, is_cut=mischief == "cut")

    def _refuse(self, exception: str) -> None:
        told = {
            "exception": exception,
            "javaClassName": f"org.apache.hadoop.{exception}",
            "message": "secret of others",
        }
        self._send(REFUSALS[exception], json.dumps({"RemoteException": told}).encode())

    def _send(
        self, status: int, body: bytes, *headers: tuple[str, str], in_pieces: bool = False, is_cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header(*(("Transfer-Encoding", "chunked") if in_pieces else ("Content-Length", str(len(body)))))
        self.end_headers()
        sent = body[: len(body) // 2] if is_cut else body
        if in_pieces:
            pieces = [sent[at : at + 10_000] for at in range(0, len(sent), 10_000)]
            sent = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n" * (not is_cut)
        self.wfile.write(sent)
        self.close_connection |= is_cut

    def log_message(self, format: str, *args: Any) -> None:
        pass
