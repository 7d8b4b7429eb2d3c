"""Finds the segments of Parquet files: where the chunks of columns lie, row group by row group."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.converters.footers import columns_of, parquet_metadata


def segments(path: str, names: Sequence[str]) -> list[list[int]]:
    """Return begin and end of each chunk of these columns. Raises FileUnreadable or MalformedData."""
    metadata = parquet_metadata(path)
    columns = columns_of(metadata.schema, metadata.schema.to_arrow_schema())
    leaves = [leaf for field, of in columns if field.name in {*names} for leaf in of]
    found = []
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, leaves):
            begin = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset:
                begin = min(begin, chunk.dictionary_page_offset)
            found.append([begin, begin + chunk.total_compressed_size])
    return found
