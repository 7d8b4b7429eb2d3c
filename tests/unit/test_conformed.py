"""A query's batches have its own schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from jumpgate.client.sql.conforming import conformed
from jumpgate.errors import InvalidCast

PLAIN = pa.schema([pa.field("a", pa.int64()), pa.field("a", pa.string())])
VALUES = [pa.array([1, 2]), pa.array(["x", None])]


@pytest.mark.parametrize(
    "theirs",
    [
        PLAIN,
        pa.schema([pa.field("x", pa.int64()), pa.field("y", pa.string())]),
        pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("a", pa.string())]),
        PLAIN.with_metadata({"pandas": "{}"}),
        pa.schema([pa.field("x", pa.int64(), metadata={"note": "n"}), pa.field("y", pa.string())]),
    ],
    ids=["equal", "names", "nullability", "metadata", "metadata of a field"],
)
def test_whatever_the_batch_has(theirs: pa.Schema) -> None:
    batch = pa.RecordBatch.from_arrays(VALUES, schema=theirs)
    for found in conformed([batch, batch], PLAIN):
        assert found.schema.equals(PLAIN, check_metadata=True)
        assert found.columns == batch.columns


def test_metadata_of_a_later_batch_does_not_come_through() -> None:
    schemas = (PLAIN, PLAIN.with_metadata({"pandas": "{}"}))
    batches = conformed([pa.RecordBatch.from_arrays(VALUES, schema=s) for s in schemas], PLAIN)
    assert [batch.schema.metadata for batch in batches] == [None, None]


def test_types_are_cast_batch_by_batch() -> None:
    schema = pa.schema([pa.field("n", pa.int8())])
    batches = [pa.RecordBatch.from_pydict({"n": pa.array([1], type)}) for type in (pa.int64(), pa.int8(), pa.int32())]
    assert [b.schema.equals(schema) for b in conformed(batches, schema)] == [True] * 3
    with pytest.raises(InvalidCast, match="column 'n'"):
        list(conformed([pa.RecordBatch.from_pydict({"n": [300]})], schema))


def test_rows_without_columns_stay() -> None:
    rows = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    assert [batch.num_rows for batch in conformed([rows], pa.schema([]))] == [3]
    with pytest.raises(ValueError):
        list(conformed([rows], PLAIN))
