"""The dataflow API: `python examples/dataflow.py`."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from jumpgate.client import col, connect, count, read, sum_

with tempfile.TemporaryDirectory() as folder:
    pq.write_table(
        pa.table({"item": [n % 3 for n in range(1000)], "price": range(1000)}), Path(folder, "sales.parquet")
    )
    Path(folder, "item.json").write_text(
        '{"id": 0, "name": "apple"}\n{"id": 1, "name": "pear"}\n{"id": 2, "name": null}\n'
    )

    sales = read(Path(folder, "sales.parquet"))
    items = read(Path(folder, "item.json"), schema={"id": "int64", "name": "string"})
    dataflow = (
        sales.filter(col("price") >= 100)  # nothing is read yet: names and types are checked at once
        .join(items, left_on="item", right_on="id")
        .aggregate(by=["name"], sold=count(), paid=sum_("price"))
        .sort(col("paid").desc())
    )
    with connect() as session:
        print(session.explain(dataflow))
        result = session.run(dataflow)
        for batch in result:  # as they arrive
            print(batch.to_pylist())
        print("job", result.job)
