"""The live page of a service: what a browser is shown, for who has a token."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING

import jumpgate
from jumpgate.codegen import cache
from jumpgate.errors import JumpgateError, Unauthenticated
from jumpgate.observe import overview, report
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service.devices import devices
from jumpgate.service.guard import Client
from jumpgate.service.traffic import result_rows
from jumpgate.service.web import Answer, Asked, Page
from jumpgate.trust import tokens
from jumpgate.trust.tls import Identity

if TYPE_CHECKING:
    from jumpgate.service.facade import Service

HTML = "text/html; charset=utf-8"
#: no page loads or runs anything, is shown within another one, or is kept
HEADERS = (
    ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    ("cache-control", "no-store"),
    ("referrer-policy", "no-referrer"),
)
JOBS = "/jobs/"


def encryption(identity: Identity) -> ssl.SSLContext:
    """Return TLS for browsers, which show tokens in place of certificates."""
    found = identity.context(server=True)
    found.verify_mode = ssl.CERT_NONE
    return found


def pages(service: Service) -> Answer:
    """Return what answers browsers: the overview, and a page for each job."""

    async def answer(asked: Asked) -> Page | None:
        token = _token(asked.headers.get("authorization", ""))
        try:
            client = service.guard.client(tokens.metadata(token))
            if asked.path == "/":
                cached = await asyncio.to_thread(_cache_bytes)
                return _page(overview.html(_overview(service, client, cached)))
            if asked.path.startswith(JOBS):
                record = service.record(client, asked.path.removeprefix(JOBS)).to_json()
                return _page(await asyncio.to_thread(report.of_record, record))
        except Unauthenticated as error:
            if token:  # else a browser asks its user for one
                service.on_failed("", asked.peer, error)
            wanted = ("www-authenticate", 'Basic realm="Jumpgate: the token as the password", charset="UTF-8"')
            return Page(f"{error.message}\n".encode(), status=401, headers=(wanted, *HEADERS))
        except JumpgateError as error:
            return Page(f"{error.message}\n".encode(), status=404, headers=HEADERS)
        return None

    return answer


def _page(html: str) -> Page:
    return Page(html.encode(), HTML, headers=HEADERS)


def _token(header: str) -> str | None:
    """Return the token that a browser shows as a password, or a program as a bearer.

    >>> _token("Basic bWU6YQ=="), _token("Bearer a"), _token("Basic ?"), _token("")
    ('a', 'a', None, None)
    """
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return value
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2] or None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _overview(service: Service, client: Client, cache_bytes: int) -> overview.Overview:
    engine = service.engine
    records = [record for record in engine.jobs() if client.sees(record)]
    queued = service.queued()
    return overview.Overview(
        address=service.guard.address,
        version=jumpgate.__version__,
        client=client.name,
        unready=service.unready,
        jobs=tuple(_job(record, queued.get(record.job, record.state)) for record in records),
        devices=tuple(devices(engine)),
        memory_bytes=_resident_bytes(),
        cache_bytes=cache_bytes,
        plans_found=service.plans.found,
        plans_made=service.plans.missed,
    )


def _job(record: JobRecord, state: str) -> overview.JobRow:
    return overview.JobRow(
        record.job,
        state,
        record.client,
        record.text,
        ((record.ended_ns or time.time_ns()) - record.submitted_ns) / 1e9,
        result_rows(record),
        tuple(dict.fromkeys(i["host"] for i in record.instances)),
        sum(counters.get("held_bytes", 0) for counters in record.counters.values()),
        str((record.error or {}).get("message", "")),
    )


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def _cache_bytes() -> int:
    """Return the size of the programs in the cache; one that is evicted meanwhile counts nothing."""
    found = 0
    for folder, _, files in os.walk(cache.root() / "artifacts"):
        for name in files:
            try:
                found += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
    return found
