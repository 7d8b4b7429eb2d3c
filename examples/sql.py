"""SQL over a CSV file and an Arrow table: `python examples/sql.py`."""

import tempfile
from pathlib import Path

import pyarrow as pa

import jumpgate

with tempfile.TemporaryDirectory() as folder:
    sales = Path(folder, "sales.csv")
    sales.write_text("item,price\n" + "".join(f"{n % 3},{n}.50\n" for n in range(1000)))

    with jumpgate.connect() as connection:
        connection.register("sales", sales)
        connection.register("item", pa.table({"id": [0, 1, 2], "name": ["apple", "pear", "plum"]}))
        query = connection.sql(
            """
            SELECT name, count(*) AS sold, sum(price) AS paid
            FROM sales JOIN item ON item = id
            GROUP BY name ORDER BY name
            """
        )
        for row in query.to_pylist():
            print(row)
        print(query.explain())  # what ran on accelerators, what stayed here, and why

        # parameters are values, never text of the query
        cheap = connection.sql("SELECT count(*) AS n FROM sales WHERE price < $1", [10])
        print(cheap.to_arrow().column("n")[0].as_py(), "sales below 10")
