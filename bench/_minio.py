"""MinIO as the store of benchmarks: `ENDPOINT KEY SECRET FOLDER PLACE …` copies a folder into places of buckets."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pyarrow import fs

PORT = 9000
#: to make a bucket, and seconds between them
ATTEMPTS, PAUSE_S = 60, 0.5


def command(endpoint: str, data: Path) -> list[str]:
    """Return what serves a folder of MinIO's own. Raises SystemExit without MinIO."""
    program = shutil.which("minio")
    if program is None:
        raise SystemExit("minio is not on the path: go install github.com/minio/minio@latest")
    address = endpoint.removeprefix("http://")
    host = address.partition(":")[0]
    return [program, "server", "--quiet", "--address", address, "--console-address", f"{host}:0", str(data)]


def environment(key: str, secret: str) -> dict[str, str]:
    return {"MINIO_ROOT_USER": key, "MINIO_ROOT_PASSWORD": secret, "MINIO_API_SELECT_PARQUET": "on"}


def fill(endpoint: str, key: str, secret: str, folder: Path, places: Sequence[str]) -> None:
    """Copy a folder into places of buckets, which are made. Raises SystemExit if MinIO does not answer."""
    there = fs.S3FileSystem(
        access_key=key, secret_key=secret, endpoint_override=endpoint, region="us-east-1", allow_bucket_creation=True
    )
    for place in places:
        _make(there, place.partition("/")[0])
        fs.copy_files(str(folder), place, fs.LocalFileSystem(), there)


def _make(there: fs.S3FileSystem, bucket: str) -> None:
    """Make a bucket. While MinIO starts it answers, but knows no user yet, and denies everything."""
    for left in reversed(range(ATTEMPTS)):
        try:
            there.create_dir(bucket)
            return
        except OSError as error:
            if not left:
                raise SystemExit(f"MinIO makes no bucket: {error}") from error
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    fill(*sys.argv[1:4], Path(sys.argv[4]), sys.argv[5:])  # type: ignore[misc]
