"""Asks a store by S3 Select: one request about one object, its answer as lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import json

from jumpgate import extras
from jumpgate.errors import FileUnreadable
from jumpgate.ncas.s3_select import texts

#: bytes of text that become a batch
BATCH_BYTES = 4 << 20
CONNECT_S, READ_S = 10.0, 30.0


class Counted(dict[str, float]):
    """The requests of this process, the bytes that the store says it scanned, and those that it returned, some of which
    it computed and charges for."""

    def __init__(self) -> None:
        super().__init__(
            requests=0, scanned_bytes=0, returned_bytes=0, charged_bytes=0, ranged_objects=0, sought_rows=0, cost=0.0
        )


class Broken(Exception):
    """An answer that did not come whole; the store may be asked again."""


class Busy(Exception):
    """The store is busy, or does not answer."""


class Refused(Exception):
    """The store does not compute this."""


class Wrong(Refused):
    """The store does not compute this over this object."""


#: errors of a store in the middle of an answer that another request may not have
_PASSING = ("InternalError", "Busy", "SlowDown", "ServiceUnavailable", "Throttl", "Timeout")


def records(told: dict[str, Any], body: bytes, counted: Counted) -> Iterator[bytes]:
    """Yield whole lines of the answer to a request. Raises Broken unless the store says that it is complete, Busy,
    Refused."""
    with extras.explained():
        from botocore.eventstream import EventStreamBuffer, ParserError

    messages, text = EventStreamBuffer(), bytearray()
    try:
        for part in _sent(told["select"], body, counted):
            messages.add_data(part)
            for message in messages:
                kind = message.headers.get(":event-type", "")
                if message.headers.get(":message-type") == "error":
                    code = str(message.headers.get(":error-code"))
                    kind_of = Broken if any(word in code for word in _PASSING) else Wrong
                    raise kind_of(f"the store ends with {code}")
                if kind == "Records":
                    text += message.payload
                    counted["returned_bytes"] += len(message.payload)
                    counted["charged_bytes"] += len(message.payload)
                if kind == "Stats":
                    counted["scanned_bytes"] += _scanned(message.payload, told["size"])
                if kind == "End":
                    if text:
                        yield bytes(text)
                    return
            if len(text) > BATCH_BYTES:
                end = text.rfind(b"\n") + 1
                if end:
                    yield bytes(text[:end])
                    del text[:end]
    except ParserError as error:
        raise Broken(f"the answer is damaged: {error}") from None
    raise Broken("the answer was cut off")


def _scanned(stats: bytes, size: int) -> int:
    """Return the bytes scanned; all of the object's where the store does not say."""
    found = stats.partition(b"<BytesScanned>")[2].partition(b"<")[0]
    return int(found) if found.isdigit() else size


def parsed(text: bytes, wanted: pa.Schema, file: str) -> Iterator[pa.RecordBatch]:
    """Yield lines c0, c1, … as the columns of the schema. Raises FileUnreadable for others."""
    schema = pa.schema([pa.field(f"c{i}", texts.returned_as(field.type)) for i, field in enumerate(wanted)])
    options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        read = json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        table = json.read_json(pa.BufferReader(text), read, options)
        for batch in table.to_batches():
            columns = [texts.value_of(c, field.type) for c, field in zip(batch.columns, wanted, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=wanted)
    except pa.ArrowInvalid as error:
        raise FileUnreadable(f"S3 Select answers about '{file}' with other columns: {error}", file=file) from None


def _sent(url: str, body: bytes, counted: Counted) -> Iterator[bytes]:
    """Yield the body of an answer as it comes. Raises Broken, Busy, Refused; no message names the URL, a secret."""
    with extras.explained():
        import urllib3

    timeout = urllib3.Timeout(connect=CONNECT_S, read=READ_S)
    counted["requests"] += 1
    try:
        with urllib3.PoolManager(1, timeout=timeout, retries=False) as pool:
            answer = pool.request("POST", url, body=body, preload_content=False)
            if answer.status in (429, 500, 502, 503, 504):
                raise Busy(f"the store answers {answer.status}")
            if answer.status == 400:  # such as a text that is no number
                raise Wrong(f"the store answers {answer.status}")
            if answer.status >= 300:
                raise Refused(f"the store answers {answer.status}")
            yield from answer.stream(1 << 16)
    except urllib3.exceptions.TimeoutError as error:
        raise Busy(type(error).__name__) from None
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise Broken(type(error).__name__) from None
