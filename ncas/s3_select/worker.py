"""The instance: `python -m jumpgate.ncas.s3_select.worker`, started by a host's agent."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
from pyarrow import json

from jumpgate import extras
from jumpgate.errors import FileChanged, FileUnreadable, Forbidden, JumpgateError
from jumpgate.nca.worker import Input, serve
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor

#: objects that are asked about at the same time, and batches that wait to be sent
AT_ONCE, WAITING_MAX = 8, 16
#: bytes of text that become a batch
BATCH_BYTES = 4 << 20
#: attempts for an object of which no row has been sent, and the pause after the first
ATTEMPTS, PAUSE_S = 6, 0.1
CONNECT_S, READ_S = 10.0, 30.0
_BODY = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<SelectObjectContentRequest xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Expression>{}</Expression>'
    "<ExpressionType>SQL</ExpressionType><InputSerialization><Parquet/></InputSerialization><OutputSerialization><JSON>"
    "<RecordDelimiter>\n</RecordDelimiter></JSON></OutputSerialization></SelectObjectContentRequest>"
)


class _Again(Exception):
    """A failure after which the store may be asked again."""


def compute(configuration: dict[str, Any], inputs: tuple[Input, ...]) -> Iterator[pa.RecordBatch]:
    """Ask the store about each object; yield the rows in the types of the output edge. Raises FileUnreadable,
    FileChanged, Forbidden."""
    wanted = arrow_schema(Descriptor.parse(configuration["output"]["ntf"]).schema)
    objects: list[dict[str, Any]] = configuration["objects"]
    found: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(WAITING_MAX)
    body = _BODY.format(escape(configuration["statement"])).encode()

    def ask(told: dict[str, Any]) -> None:
        try:
            for batch in selected(told, body, wanted):
                found.put(batch)
            found.put(None)
        except BaseException as error:
            found.put(error)

    pool = ThreadPoolExecutor(AT_ONCE)
    for told in objects:
        pool.submit(ask, told)
    left = len(objects)
    while left:
        match found.get():
            case None:
                left -= 1
            case BaseException() as error:  # the process ends, and with it what is asked
                raise error
            case batch:
                yield batch
    pool.shutdown()


def selected(told: dict[str, Any], body: bytes, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one object, all in the version that was planned for. The store is asked again as long as none
    was yielded."""
    for attempt in range(ATTEMPTS):
        begun = False
        try:
            for text in _records(told, body):
                begun = True
                yield from _parsed(text, wanted, told["file"])
            _check_version(told)
            return
        except _Again as error:
            if begun or attempt == ATTEMPTS - 1:
                raise FileUnreadable(
                    f"cannot read '{told['file']}' by S3 Select: {error}; run the query again, or leave out "
                    "select in its [[store]]",
                    file=told["file"],
                ) from None
            time.sleep(PAUSE_S * 2**attempt)


def _records(told: dict[str, Any], body: bytes) -> Iterator[bytes]:
    """Yield whole lines of the answer. Raises _Again unless the store says that it is complete."""
    with extras.explained():
        from botocore.eventstream import EventStreamBuffer, ParserError

    messages, text = EventStreamBuffer(), bytearray()
    try:
        for part in _sent("POST", told["select"], told["file"], body):
            messages.add_data(part)
            for message in messages:
                kind = message.headers.get(":event-type", "")
                if message.headers.get(":message-type") == "error":
                    raise _Again(f"the store ends with {message.headers.get(':error-code')}")
                if kind == "Records":
                    text += message.payload
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
        raise _Again(f"the answer is damaged: {error}") from None
    raise _Again("the answer was cut off")


def _parsed(text: bytes, wanted: pa.Schema, file: str) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([pa.field(f"c{i}", field.type) for i, field in enumerate(wanted)])
    options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    try:
        table = json.read_json(pa.BufferReader(text), json.ReadOptions(block_size=len(text) + 1), options)
    except pa.ArrowInvalid as error:
        raise FileUnreadable(f"S3 Select answers about '{file}' with other columns: {error}", file=file) from None
    for batch in table.to_batches():
        yield pa.RecordBatch.from_arrays(batch.columns, schema=wanted)


def _check_version(told: dict[str, Any]) -> None:
    """Raise FileChanged if the object is another one than was planned for: Select itself does not compare."""
    headers = {"Range": "bytes=0-0", "If-Match": told["tag"]}
    list(_sent("GET", told["url"], told["file"], None, headers, told["tag"]))


def _sent(
    method: str, url: str, file: str, body: bytes | None, headers: dict[str, str] | None = None, tag: str = ""
) -> Iterator[bytes]:
    """Yield the body of an answer as it comes; tag: the ETag that it must have. Raises _Again, FileChanged, Forbidden,
    FileUnreadable; no message names the URL, which is a secret."""
    with extras.explained():
        import urllib3

    timeout = urllib3.Timeout(connect=CONNECT_S, read=READ_S)
    try:
        with urllib3.PoolManager(1, timeout=timeout, retries=False) as pool:
            answer = pool.request(method, url, body=body, headers=headers or {}, preload_content=False)
            if answer.status in (429, 500, 502, 503, 504):
                raise _Again(f"the store answers {answer.status}")
            if answer.status >= 300 or (tag and answer.headers.get("ETag", tag) != tag):
                raise _refused(answer.status, file)
            yield from answer.stream(1 << 16)
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise _Again(type(error).__name__) from None


def _refused(status: int, file: str) -> JumpgateError:
    if status < 300 or status == 412:
        return FileChanged(f"file '{file}' was replaced while a query read it: run the query again", file=file)
    if status == 403:
        return Forbidden(f"'{file}': the store refuses to compute ({status})", file=file)
    return FileUnreadable(
        f"cannot read '{file}': its store answers S3 Select with {status}; leave out select in its [[store]]", file=file
    )


if __name__ == "__main__":
    serve(compute)
