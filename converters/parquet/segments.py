"""Finds the segments of Parquet files: where the chunks of columns lie, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jumpgate.converters.footers import columns_of, parquet_metadata


def segments(path: str, names: Sequence[str]) -> list[list[int]]:
    """Return begin and end of each chunk of these columns. Raises FileUnreadable or MalformedData."""
    metadata = parquet_metadata(path)
    return [segment for group in range(metadata.num_row_groups) for segment in group_segments(metadata, group, names)]


def group_segments(metadata: Any, group: int, names: Sequence[str]) -> Iterator[list[int]]:
    """Yield begin and end of each chunk of these columns in a row group."""
    found = metadata.row_group(group)
    for field, leaves in columns_of(metadata.schema, metadata.schema.to_arrow_schema()):
        for chunk in map(found.column, leaves if field.name in names else ()):
            begin = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset:
                begin = min(begin, chunk.dictionary_page_offset)
            yield [begin, begin + chunk.total_compressed_size]
