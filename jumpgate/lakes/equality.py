"""Equality deletes of Iceberg: rows of earlier files that have the values of a row in a delete file, as positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpgate.errors import MalformedData
from jumpgate.lakes.scan import refused

#: kinds of columns whose values are equal in Arrow where they are equal in Iceberg: no floats, for NaN and -0
COMPARED = ("boolean", "int", "long", "string", "binary", "date", "time", "timestamp", "timestamptz", "decimal")


@dataclass(frozen=True)
class Delete:
    """A file of rows, and the ids of the columns whose values they are."""

    path: str
    ids: tuple[int, ...]


def planned(table: str, scan: Any) -> tuple[list[Any], dict[str, list[Delete]]]:
    """Return pyiceberg's tasks for a scan, and the equality deletes of each data file, by its path. `table` is for
    messages. Raises InvalidDataflow for what is not applied, and what pyiceberg raises."""
    from pyiceberg.manifest import DataFileContent, ManifestContent

    snapshot = scan.snapshot()
    manifests = snapshot.manifests(scan.io) if snapshot else []
    of_deletes = [m for m in manifests if m.content == ManifestContent.DELETES]
    entries = [entry for m in of_deletes for entry in m.fetch_manifest_entry(scan.io)]
    equal = [entry for entry in entries if entry.data_file.content == DataFileContent.EQUALITY_DELETES]
    if not equal:
        return list(scan.plan_files()), {}
    deletes = [(entry, _delete(table, entry.data_file)) for entry in equal]
    rest = scan._manifest_planner.plan_files(
        manifests, lambda entry: entry.data_file.content != DataFileContent.EQUALITY_DELETES
    )
    found: dict[str, list[Delete]] = {}
    for manifest in manifests:
        for entry in manifest.fetch_manifest_entry(scan.io):
            if entry.data_file.content == DataFileContent.DATA:
                found[entry.data_file.file_path] = [delete for other, delete in deletes if _applies(scan, other, entry)]
    return list(rest), {path: of for path, of in found.items() if of}


def _applies(scan: Any, delete: Any, entry: Any) -> bool:
    """Return whether a delete is later than a data file, and of its partition or of the whole table."""
    ours, theirs = delete.data_file, entry.data_file
    is_global = not scan.table_metadata.specs()[ours.spec_id].fields
    same = (ours.spec_id, ours.partition) == (theirs.spec_id, theirs.partition)
    return (is_global or same) and delete.sequence_number > entry.sequence_number


def _delete(table: str, file: Any) -> Delete:
    if file.file_format.value != "PARQUET" or file.key_metadata is not None or not file.equality_ids:
        raise refused(table, f"some of its equality deletes are encrypted or in files of {file.file_format.value}; "
                      "compact it")  # fmt: skip
    return Delete(str(file.file_path), tuple(sorted(file.equality_ids)))


class Matches:
    """Finds the rows of data files that deletes are of; reads each delete file once."""

    def __init__(self, table: str, source: Any) -> None:
        self._table, self._io = table, source.io
        self._fields = {f.field_id: f for _, schema in sorted(source.schemas().items()) for f in schema.fields}
        self._read: dict[Delete, list[Any]] = {}

    def of(self, file: str, deletes: Sequence[Delete]) -> Iterator[Any]:
        """Yield positions in a data file, some several times. Raises InvalidDataflow, MalformedData."""
        by_ids: dict[tuple[int, ...], list[Delete]] = {}
        for delete in deletes:
            by_ids.setdefault(delete.ids, []).append(delete)
        for ids, of_ids in by_ids.items():
            rows = self._columns(file, ids, is_data=True)
            for delete in of_ids:
                if delete not in self._read:
                    self._read[delete] = self._columns(delete.path, ids, is_data=False)
                yield _positions(rows, self._read[delete])

    def _columns(self, path: str, ids: Sequence[int], is_data: bool) -> list[Any]:
        """Return columns of a file by their ids; of a data file without one, NULLs."""
        import pyarrow as pa
        import pyarrow.parquet as pq
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        with self._io.new_input(path).open() as source, pq.ParquetFile(source) as opened:
            names = {int((f.metadata or {}).get(b"PARQUET:field_id", -1)): f.name for f in opened.schema_arrow}
            read = opened.read(columns=[names[id] for id in ids if id in names])
            rows = opened.metadata.num_rows
        found = []
        for id in ids:
            field = self._fields.get(id)
            if field is None or str(field.field_type).partition("(")[0] not in COMPARED:
                what = "a part of a column" if field is None else f"column '{field.name}' ({field.field_type})"
                raise refused(self._table, f"it has equality deletes by {what}, which are not applied yet; compact it")
            if id not in names and not is_data:
                raise MalformedData(f"{self._table}: '{path}' lacks a column that its deletes are of", file=path)
            type_ = schema_to_pyarrow(field.field_type)
            column = read.column(names[id]).cast(type_) if id in names else pa.chunked_array([pa.nulls(rows, type_)])
            found.append(column)
        return found


def _positions(rows: Sequence[Any], deleted: Sequence[Any]) -> Any:
    """Return which rows have the values of a deleted one, NULL for NULL. A row's values become one number: digits that
    say which of the deleted values of a column they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    here, there = (pa.chunked_array([pa.repeat(pa.scalar(0, pa.int64()), len(of[0]))]) for of in (rows, deleted))
    for column, gone in zip(rows, deleted, strict=True):
        values = pc.unique(gone)
        here, there = (
            pc.add_checked(pc.multiply_checked(number, len(values)), pc.index_in(of, value_set=values).cast(pa.int64()))
            for number, of in ((here, column), (there, gone))
        )
    is_gone = pc.is_in(here, value_set=pc.unique(there))
    return pc.indices_nonzero(is_gone).cast(pa.int64())


def positions(table: str, source: Any, found: Mapping[str, Sequence[Delete]]) -> dict[str, list[Any]]:
    """Return the positions of rows that equality deletes are of, by the paths of data files in `source`, a table that
    pyiceberg has loaded. Raises as `Matches.of`."""
    matches = Matches(table, source)
    return {path: list(matches.of(path, deletes)) for path, deletes in found.items()}
