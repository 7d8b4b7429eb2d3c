"""pyarrow's instance: takes all batches, computes once, and sends the result in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.errors import Overflow
from jumpgate.nca.worker import Input, serve
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor

BATCH_ROWS = 8192


def compute(configuration: dict[str, Any], inputs: tuple[Input, ...]) -> Iterator[pa.RecordBatch]:
    (input,) = inputs
    names = [f"c{i}" for i in range(len(input.schema))]
    table = collected(input).rename_columns(names)
    wanted = arrow_schema(Descriptor.parse(configuration["output"]["ntf"]).schema)
    result = (
        sort(table, configuration["sort"]) if "sort" in configuration else aggregate(table, configuration["aggregate"])
    )
    try:
        columns = [column.cast(field.type) for column, field in zip(result.columns, wanted, strict=True)]
    except pa.ArrowInvalid as error:
        raise Overflow(f"a sum does not fit its type: {error}") from None
    yield from pa.Table.from_arrays(columns, schema=wanted).combine_chunks().to_batches(BATCH_ROWS)


def collected(input: Input) -> pa.Table:
    return pa.Table.from_batches(list(input), input.schema)


def sort(table: pa.Table, how: dict[str, Any]) -> pa.Table:
    keys = [
        (f"c{i}", "descending" if descending else "ascending", "at_start" if nulls_first else "at_end")
        for i, descending, nulls_first in how["keys"]
    ]
    order = pc.sort_indices(table, keys)
    end = None if how["limit"] is None else how["offset"] + how["limit"]
    return table.take(order[how["offset"] : end])


def aggregate(table: pa.Table, how: dict[str, Any]) -> pa.Table:
    wide = widened(table, how["measures"])
    keys = [f"c{i}" for i in how["keys"]]
    wanted: list[Any] = [([], "count_all")]
    for function, i in how["measures"]:
        wanted += [(name, f) for name, f in needed(function, i) if (name, f) not in wanted]
    found = wide.group_by(keys, use_threads=False).aggregate(wanted)
    outputs = [found[name] for name in keys]
    for function, i in how["measures"]:
        outputs.append(measure(found, function, i))
    return pa.Table.from_arrays(outputs, names=[f"o{i}" for i in range(len(outputs))])


def widened(table: pa.Table, measures: list[Any]) -> pa.Table:
    """With a column s<i> of each that is summed, in 38 digits: pyarrow's own sums wrap around."""
    for i in dict.fromkeys(i for function, i in measures if function in ("sum", "avg")):
        column = table[f"c{i}"]
        scale = column.type.scale if pa.types.is_decimal(column.type) else 0
        table = table.append_column(f"s{i}", column.cast(pa.decimal128(38, scale)))
    return table


def needed(function: str, i: int) -> list[tuple[str, str]]:
    """What pyarrow is asked for."""
    if function == "count_star":
        return []
    if function in ("sum", "avg"):
        return [(f"s{i}", "sum"), (f"s{i}", "count")]
    return [(f"c{i}", function)]


def measure(found: pa.Table, function: str, i: int) -> pa.ChunkedArray:
    if function == "count_star":
        return found["count_all"]
    if function == "avg":
        return pc.divide(found[f"s{i}_sum"].cast(pa.float64()), found[f"s{i}_count"].cast(pa.float64()))
    return found[f"s{i}_sum"] if function == "sum" else found[f"c{i}_{function}"]


if __name__ == "__main__":
    serve(compute)
