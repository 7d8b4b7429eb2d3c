"""What stands for the disk: it reads its files, and sends the rows that all comparisons accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jumpgate.nca.worker import Input, serve
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor

COMPARE = {"eq": pc.equal, "lt": pc.less, "le": pc.less_equal, "gt": pc.greater, "ge": pc.greater_equal}


def compute(configuration: dict[str, Any], inputs: tuple[Input, ...]) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(Descriptor.parse(configuration["output"]["ntf"]).schema)
    for file in configuration["files"]:
        for batch in pq.ParquetFile(file).iter_batches(columns=configuration["columns"]):
            batch = batch.select(configuration["columns"])
            for comparison, column, value in configuration["terms"]:
                batch = batch.filter(COMPARE[comparison](batch.column(column), value))
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays([batch.column(i) for i in configuration["kept"]], schema=schema)


if __name__ == "__main__":
    serve(compute)
