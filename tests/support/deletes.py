"""Tables with deleted rows for tests: what their own Python libraries read, and do not write."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate
from pyiceberg.typedef import Record
from pyroaring import BitMap

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def bitmaps(rows: Iterable[int]) -> bytes:
    """Rows below 2^32 as a 64-bit roaring bitmap in the portable format."""
    return struct.pack("<QI", 1, 0) + bytes(BitMap(rows).serialize())


def delete_from_delta(folder: Path, rows: Mapping[str, Iterable[int]]) -> None:
    """Give files of a new Delta table, whose names have these parts, deletion vectors in the log."""
    log = folder / "_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    features = ["deletionVectors"]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7,
                                  "readerFeatures": features, "writerFeatures": features}  # fmt: skip
        for part, of_file in rows.items():
            if "add" in action and part in action["add"]["path"]:
                content = struct.pack("<I", 1681511377) + bitmaps(of_file)
                action["add"]["deletionVector"] = {
                    "storageType": "i", "pathOrInlineDv": _z85(content), "sizeInBytes": len(content),
                    "cardinality": len({*of_file}),
                }  # fmt: skip
    log.write_text("\n".join(map(json.dumps, actions)))


def _z85(content: bytes) -> str:
    content += b"\0" * (-len(content) % 4)
    numbers = (int.from_bytes(content[at : at + 4], "big") for at in range(0, len(content), 4))
    return "".join(_Z85[number // 85**place % 85] for number in numbers for place in (4, 3, 2, 1, 0))


class _DeleteManifest(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def positions_file(path: Path, rows: Iterable[tuple[str, int]]) -> tuple[str, FileFormat]:
    files, positions = zip(*rows, strict=True)
    pq.write_table(pa.table({"file_path": files, "pos": pa.array(positions, pa.int64())}), path)
    return f"file://{path}", FileFormat.PARQUET


def puffin_file(path: Path, rows: Mapping[str, Iterable[int]]) -> tuple[str, FileFormat]:
    """Deletion vectors of Iceberg's version 3."""
    content, blobs = b"PFA1", []
    for file, of_file in rows.items():
        vector = b"\xd1\xd3\x39\x64" + bitmaps(of_file)
        blob = struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))
        blobs.append({"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1,
                      "offset": len(content), "length": len(blob),
                      "properties": {"referenced-data-file": file, "cardinality": "1"}})  # fmt: skip
        content += blob
    footer = json.dumps({"blobs": blobs}).encode()
    path.write_bytes(content + b"PFA1" + footer + struct.pack("<II", len(footer), 0) + b"PFA1")
    return f"file://{path}", FileFormat.PUFFIN


def delete_from_iceberg(
    table: Any,
    file: tuple[str, FileFormat],
    partition: Record | None = None,
    equal: Sequence[int] = (),
) -> None:
    """Commit a snapshot with a file of deletes: of positions or, by columns of these ids, of values."""
    io = PyArrowFileIO()
    before = table.current_snapshot()
    folder, sequence = table.location(), table.metadata.next_sequence_number()
    id = table.metadata.new_snapshot_id()
    of_deletes = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES if equal else DataFileContent.POSITION_DELETES,
        file_path=file[0], file_format=file[1], partition=partition or Record(),
        record_count=1, file_size_in_bytes=1, equality_ids=list(equal) or None,
    )  # fmt: skip
    of_deletes.spec_id = table.spec().spec_id
    with _DeleteManifest(
        table.spec(), table.schema(), io.new_output(f"{folder}/metadata/{id}-m.avro"), id, "null"
    ) as writer:
        writer.add_entry(
            ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=id, data_file=of_deletes)
        )
    output = io.new_output(f"{folder}/metadata/snap-{id}.avro")
    with write_manifest_list(2, output, id, before.snapshot_id, sequence, "null") as manifests:
        manifests.add_manifests([*before.manifests(io), writer.to_manifest_file()])
    snapshot = Snapshot.model_validate({
        "snapshot-id": id, "parent-snapshot-id": before.snapshot_id, "sequence-number": sequence,
        "timestamp-ms": before.timestamp_ms + 1, "manifest-list": output.location,
        "summary": Summary(Operation.DELETE), "schema-id": table.schema().schema_id,
    })  # fmt: skip
    update = SetSnapshotRefUpdate.model_validate({"ref-name": "main", "type": "branch", "snapshot-id": id})
    table.catalog.commit_table(table, (), (AddSnapshotUpdate(snapshot=snapshot), update))
    table.refresh()
