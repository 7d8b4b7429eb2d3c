"""Results as Parquet: one file, or Hive folders by the values of some columns, on local paths and in stores; all or
nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from jumpgate.codegen import cache
from jumpgate.dataflow.partitions import NULL
from jumpgate.errors import FileUnreadable, InvalidDataflow
from jumpgate.stores import hdfs, providers, uploads
from jumpgate.stores.names import bucket_and_key, canonical, is_remote, scheme

#: the most folders that one batch is written into
FOLDERS_MAX = 10_000


def write_parquet(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    target: str,
    *,
    partition_by: Sequence[str] = (),
    compression: str = "zstd",
) -> int:
    """Write batches and return the number of their rows. `target`: a local path or a name in a store, of a file, which
    is replaced, or with `partition_by` of a new folder. It appears when everything is written; whatever `batches`
    raises leaves nothing behind.

    Raises InvalidDataflow for a target or columns that cannot be written, FileUnreadable, Forbidden, and what `batches`
    raise.
    """
    counted = _Counted(batches, _checks(schema, partition_by))
    with _staged(target, bool(partition_by)) as staged:
        try:
            if partition_by:
                _write_folders(counted, schema, staged, partition_by, compression)
            else:
                with pq.ParquetWriter(staged, schema, compression=compression) as writer:
                    for batch in counted:
                        writer.write_batch(batch)
        except (pa.ArrowException, OSError) as error:
            if error is counted.error:
                raise
            raise FileUnreadable(f"cannot write '{target}': {error}", file=target) from error
    return counted.rows


class _Counted:
    """Batches as they pass: their rows, and the error that ended them."""

    def __init__(self, batches: Iterable[pa.RecordBatch], check: Callable[[pa.RecordBatch], None]) -> None:
        self.rows = 0
        self.error: BaseException | None = None
        self._batches, self._check = batches, check

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                self._check(batch)
                self.rows += batch.num_rows
                yield batch
        except BaseException as error:
            self.error = error
            raise


def _write_folders(
    batches: _Counted, schema: pa.Schema, folder: Path, partition_by: Sequence[str], compression: str
) -> None:
    folder.mkdir()
    parquet = ds.ParquetFileFormat()
    try:
        ds.write_dataset(
            pa.RecordBatchReader.from_batches(schema, batches),
            folder,
            format=parquet,
            file_options=parquet.make_write_options(compression=compression),
            partitioning=ds.partitioning(pa.schema([schema.field(name) for name in partition_by]), flavor="hive"),
            basename_template="part-{i}.parquet",
            max_partitions=FOLDERS_MAX,
        )
    except BaseException:
        if batches.error is not None:  # which Arrow may hand on as another
            raise batches.error from None
        raise


def _checks(schema: pa.Schema, partition_by: Sequence[str]) -> Callable[[pa.RecordBatch], None]:
    """Return the check of a batch. Raises InvalidDataflow for columns that name no folders."""
    texts = []
    for name in partition_by:
        if schema.names.count(name) != 1 or list(partition_by).count(name) != 1:
            raise InvalidDataflow(
                f"write: partition_by names '{name}', which must be one column of {', '.join(schema.names)}"
            )
        type_ = schema.field(name).type
        is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_)
        if not (is_text or pa.types.is_integer(type_) or pa.types.is_date32(type_) or pa.types.is_boolean(type_)):
            raise InvalidDataflow(
                f"write: column '{name}' is {type_}; names of folders hold integers, dates, bools and strings. "
                "Cast it to string"
            )
        texts += [name] * is_text
    if partition_by and len(partition_by) == len(schema):
        raise InvalidDataflow("write: partition_by names all columns, and a file has at least one")

    def check(batch: pa.RecordBatch) -> None:
        for name in texts:
            if pc.any(pc.equal(batch.column(name), NULL)).as_py():
                raise InvalidDataflow(
                    f"write: column '{name}' has the text '{NULL}', which means NULL in a folder's name"
                )

    return check


@contextlib.contextmanager
def _staged(target: str, is_folder: bool) -> Iterator[Path]:
    """Yield a path to write; what is there becomes the target at the end, unless the block raises."""
    if is_remote(target):
        if not scheme(target):
            raise InvalidDataflow(
                f"write: '{target}' is on a web server, which takes no files; write to a store, such as s3://"
            )
        if scheme(target) == "hdfs":
            raise hdfs.unwritten(target)
        with tempfile.TemporaryDirectory(dir=cache.folder("spool")) as room:
            name = _object(target, is_folder)
            yield Path(room) / "it"
            _upload(Path(room) / "it", name)
        return
    path = Path(target.removeprefix("file://")).expanduser().absolute()
    _check_path(path, is_folder)
    try:
        room = tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise FileUnreadable(f"cannot write '{target}': {error.strerror}", file=target) from None
    try:
        yield Path(room) / "it"
        os.replace(Path(room) / "it", path)
    except OSError as error:
        raise FileUnreadable(f"cannot write '{target}': {error.strerror or error}", file=target) from error
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _check_path(path: Path, is_folder: bool) -> None:
    if not path.parent.is_dir():
        raise InvalidDataflow(f"write: there is no folder '{path.parent}'; make it first")
    if path.is_dir() and not (is_folder and not any(path.iterdir())):
        raise InvalidDataflow(f"write: '{path}' is a folder{' with files' * is_folder}; remove it, or name another")
    if is_folder and path.exists() and not path.is_dir():
        raise InvalidDataflow(f"write: '{path}' is a file; remove it, or name another folder")


def _object(target: str, is_folder: bool) -> str:
    """Return the target's name in the store. Raises InvalidDataflow for a folder that has objects."""
    name = canonical(target).rstrip("/")
    _, key = bucket_and_key(name)
    if not key or (target.endswith("/") and not is_folder):
        raise InvalidDataflow(f"write: '{target}' names no object; write {scheme(name)}://bucket/key")
    if is_folder and any(providers.of(name).below(name, f"{key}/", 1)):
        raise InvalidDataflow(f"write: '{name}/' has objects; remove them, or name another folder")
    return name


def _upload(staged: Path, name: str) -> None:
    files = [staged] if staged.is_file() else sorted(file for file in staged.rglob("*") if file.is_file())
    with uploads.together() as upload:
        for file in files:
            upload(file, name if file == staged else f"{name}/{file.relative_to(staged).as_posix()}")
