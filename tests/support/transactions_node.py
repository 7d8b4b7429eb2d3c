"""A node of a database in a process of its own: `URL FOLDER NODE COUNT POINT [EAST]`.

It does COUNT transactions, and ends at once where the last of them reaches POINT, if that is not empty. EAST is the URL
of another server, which then has a part in each.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jumpgate.transactions import Node


def main(url: str, folder: str, node: str, count: str, point: str, east: str = "") -> None:
    def end(reached: str) -> None:
        if reached == point:
            os._exit(9)

    with Node(url, Path(folder), int(node), servers={"east": east} if east else {}) as database:
        for left in reversed(range(int(count))):
            if not left:
                database.reach = end
            t = database.transaction()
            if east:
                t.sql("INSERT INTO history VALUES (1)", server="east")
                t.sql("INSERT INTO history VALUES (1)")
            else:
                t.sql("INSERT INTO history VALUES (%s, 1)", (int(node),))
            t.add("accounts", 0, "balance", -1, at_least=0)
            t.add("accounts", 1, "balance", 1)
            assert database.commit(t).done


if __name__ == "__main__":
    main(*sys.argv[1:])
