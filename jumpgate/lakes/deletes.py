"""Rows that a snapshot has deleted from its files, by their positions: deletion vectors and files of positions."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jumpgate.dataflow import deleted
from jumpgate.errors import MalformedData
from jumpgate.lakes.scan import refused

#: of the texts of all files, which are a part of the plan
TEXTS_BYTES_MAX = 1 << 20
#: of a deletion vector in a Puffin file (https://iceberg.apache.org/puffin-spec, deletion-vector-v1)
_MAGIC = b"\xd1\xd3\x39\x64"


def texts(table: str, found: Iterable[tuple[str, Iterable[Any]]]) -> dict[str, str]:
    """Return the text of each file that has lost rows, given their positions as Arrow arrays, in any order and number.
    `table` is for messages. Raises InvalidDataflow for more than a plan holds, MalformedData."""
    import pyarrow as pa
    import pyarrow.compute as pc

    result: dict[str, str] = {}
    for file, arrays in found:
        chunks = [chunk for array in arrays for chunk in getattr(array, "chunks", (array,))]
        rows = pc.unique(pa.chunked_array(chunks, pa.int64())).sort()
        try:
            text = deleted.encode(rows.to_pylist())
        except (ValueError, TypeError) as error:
            raise MalformedData(f"{table}: its deletes of '{file}' are damaged: {error}", file=file) from None
        if text:
            result[file] = text
        if sum(map(len, result.values())) > TEXTS_BYTES_MAX:
            raise refused(
                table, "it has deleted more rows than a plan holds; rewrite its files without them (compact it)"
            )
    return result


def of_delta(table: str, vectors: Any, files: Iterable[str]) -> dict[str, str]:
    """Return the same of what `DeltaTable.deletion_vectors` returns: masks, false where a row is deleted."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = set(files)
    masks = pa.table(vectors)

    def positions() -> Iterator[tuple[str, list[Any]]]:
        for path, mask in zip(masks.column("filepath").to_pylist(), masks.column("selection_vector"), strict=True):
            rows = pc.indices_nonzero(pc.invert(mask.values)).cast(pa.int64())
            yield _one_of(table, known, path), [rows]

    return texts(table, positions())


def _one_of(table: str, files: set[str], path: str) -> str:
    """Return the file that a URI names."""
    from urllib.parse import unquote

    path = path.removeprefix("file://")
    found = {path, unquote(path)} & files
    if len(found) != 1:
        raise refused(table, f"it has a deletion vector of '{path}', which is no file of this version")
    return found.pop()


def of_iceberg(table: str, io: Any, tasks: Iterable[Any], equal: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the same of pyiceberg's tasks, by the paths in them. `equal`: positions of rows that equality deletes are
    of. Raises what `io` raises, too."""
    read: dict[str, Mapping[str, list[Any]]] = {}

    def positions(task: Any) -> Iterator[Any]:
        for file in task.delete_files:
            if file.file_path not in read:
                read[file.file_path] = _vectors(file, io) if _format(file) == "PUFFIN" else _positions(file, io)
            yield from read[file.file_path].get(task.file.file_path, ())
        yield from equal.get(task.file.file_path, ())

    return texts(table, ((task.file.file_path, positions(task)) for task in tasks))


def check_iceberg(table: str, task: Any) -> None:
    """Raise InvalidDataflow for deletes that are not of positions in Parquet or Puffin files."""
    for file in task.delete_files:
        if file.content.name != "POSITION_DELETES":
            raise refused(table, f"some of its files have {file.content.name.lower().replace('_', ' ')}, which are not "
                          "applied yet; compact it")  # fmt: skip
        if _format(file) not in ("PARQUET", "PUFFIN"):
            raise refused(table, f"some of its deletes are in files of {_format(file)}; compact it")
        if file.key_metadata is not None:
            raise refused(table, "some of its deletes are encrypted")


def _format(file: Any) -> str:
    return str(file.file_format.value)


def _positions(file: Any, io: Any) -> dict[str, list[Any]]:
    """Return the positions in a Parquet file of them, by the file that they are of."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with io.new_input(file.file_path).open() as source:
        rows = pq.read_table(source, columns=["file_path", "pos"])
    if rows.column("pos").null_count or rows.column("file_path").null_count:
        raise MalformedData(f"deletes in '{file.file_path}' are damaged: some have no file or no position")
    paths = rows.column("file_path")
    return {path.as_py(): [rows.filter(pc.equal(paths, path)).column("pos")] for path in pc.unique(paths)}


def _vectors(file: Any, io: Any) -> dict[str, list[Any]]:
    """Return the positions in a Puffin file's deletion vectors, by the file that they are of."""
    import pyarrow as pa
    from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
    from pyiceberg.table.puffin import PuffinFile

    with io.new_input(file.file_path).open() as source:
        puffin = PuffinFile(source.read())
    for blob in puffin.footer.blobs:
        content = puffin.get_blob_payload(blob)
        length = int.from_bytes(content[:4], "big")
        inside, sum = content[4 : 4 + length], int.from_bytes(content[4 + length : 8 + length], "big")
        if blob.type != "deletion-vector-v1" or inside[:4] != _MAGIC or zlib.crc32(inside) != sum:
            raise MalformedData(f"a deletion vector in '{file.file_path}' is damaged", file=file.file_path)
    found: dict[str, list[Any]] = {}
    for vector in deletion_vectors_from_puffin_file(puffin):
        rows = [pa.array([(high << 32) + low for low in bitmap], pa.int64())
                for high, bitmap in enumerate(vector._bitmaps)]  # fmt: skip
        found.setdefault(vector.referenced_data_file, []).extend(rows)
    return found
