"""Several clients of one service: `python examples/service.py`."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from jumpgate.client import col, connect, count, read
from jumpgate.errors import Cancelled
from jumpgate.service import embedded

with tempfile.TemporaryDirectory() as folder, closing(embedded.start()) as service:  # or: jumpgate serve --port 7411
    Path(folder, "n.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(10_000)))
    numbers = read(Path(folder, "n.csv"), schema={"n": "int64"})

    def even(limit: int) -> int:
        """One client with a connection of its own."""
        with connect(service.address) as session:
            answer = session.run(numbers.filter((col("n") < limit) & (col("n") % 2 == 0)).aggregate(n=count()))
            return int(answer.to_pylist()[0]["n"])

    with ThreadPoolExecutor(4) as clients:
        print(list(clients.map(even, [10, 100, 1000, 10_000])))

    with connect(service.address) as session:
        abandoned = session.run(numbers)
        abandoned.cancel()
        try:
            abandoned.to_arrow()
        except Cancelled as error:
            print("cancelled:", error.code)
        print(sorted({job.state for job in session.jobs()}))
