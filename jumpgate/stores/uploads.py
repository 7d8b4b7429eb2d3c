"""Files to objects, all or nothing: a multipart upload each, which are completed together or aborted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumpgate.errors import FileUnreadable
from jumpgate.stores import s3
from jumpgate.stores.names import bucket_and_key

#: of a part; a store takes 10,000 parts of an object
PART_BYTES = 64 << 20


@dataclass
class _Upload:
    name: str
    id: str
    parts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def place(self) -> dict[str, str]:
        bucket, key = bucket_and_key(self.name)
        return {"Bucket": bucket, "Key": key}


@contextlib.contextmanager
def together() -> Iterator[Callable[[Path, str], None]]:
    """Yield a function that sends a file as an object of that name. Objects appear at the end of the block; where it
    raises, or an upload fails, none does, and no part is left. Raises FileUnreadable, Forbidden."""
    started: list[_Upload] = []

    def send(file: Path, name: str) -> None:
        bucket, key = bucket_and_key(name)
        made = s3.ask(name, lambda client: client.create_multipart_upload(Bucket=bucket, Key=key), "write")
        upload = _Upload(name, made["UploadId"])
        started.append(upload)
        _send(file, upload)

    try:
        yield send
        for upload in started:
            _complete(upload)
    except BaseException:
        for upload in started:
            with contextlib.suppress(Exception):  # the error that leads here says more
                _undo(upload)
        raise


def remove(name: str) -> None:
    """Remove an object, which may be gone. Raises FileUnreadable, Forbidden."""
    bucket, key = bucket_and_key(name)
    s3.ask(name, lambda client: client.delete_object(Bucket=bucket, Key=key), "write")


def _send(file: Path, upload: _Upload) -> None:
    with file.open("rb") as source:
        while (part := source.read(PART_BYTES)) or not upload.parts:
            number = len(upload.parts) + 1
            of = {**upload.place, "UploadId": upload.id, "PartNumber": number, "Body": part}
            sent = s3.ask(upload.name, lambda client, of=of: client.upload_part(**of), "write")  # type: ignore[misc]
            upload.parts.append({"PartNumber": number, "ETag": sent["ETag"]})


def _complete(upload: _Upload) -> None:
    of = {**upload.place, "UploadId": upload.id, "MultipartUpload": {"Parts": upload.parts}}
    s3.ask(upload.name, lambda client: client.complete_multipart_upload(**of), "write")


def _undo(upload: _Upload) -> None:
    """Abort an upload; one that is gone was completed, whatever its answer was, and has made an object."""
    of = {**upload.place, "UploadId": upload.id}
    try:
        s3.ask(upload.name, lambda client: client.abort_multipart_upload(**of), "write")
    except FileUnreadable as error:
        if error.fields.get("missing"):
            remove(upload.name)
