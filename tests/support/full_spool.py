"""Queries beyond memory_limit whose disk is full, then larger; on a disk of their own:

    unshare --user --map-root-user --mount python -m tests.support.full_spool FILE < QUERIES > ANSWERS

Of each query, a line with the error while there is too little room and what is left in the folder, and the answer once
there is more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jumpgate
from jumpgate.client.sql.connection import Connection
from jumpgate.codegen import cache
from jumpgate.errors import JumpgateError
from jumpgate.testing.leaks import wait_until
from tests.support.modes import by_job

#: beside the 512 MiB that are left to others
LITTLE, ENOUGH = 516 << 20, 2 << 30
LIMIT_BYTES = 12 << 20


def _asked(connection: Connection, text: str) -> dict[str, Any]:
    try:
        return {"rows": [[str(v) for v in row.values()] for row in by_job(connection, text).to_pylist()]}
    except JumpgateError as error:
        return {"code": error.code, "message": str(error)}


def _used(folder: Path) -> int:
    found = os.statvfs(folder)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def _is_back(folder: Path, planned: int) -> bool:
    return _used(folder) <= planned


def main(file: str) -> None:
    folder = cache.folder("spool")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={LITTLE}", "tmpfs", folder], check=True)
    with jumpgate.connect(offload="always", memory_limit_bytes=LIMIT_BYTES) as connection:
        connection.register("facts", file)
        for text in json.load(sys.stdin):
            connection.sql(text).close()
            planned = _used(folder)  # stand-ins of the tables, which stay
            refused = _asked(connection, text)
            is_empty = wait_until(partial(_is_back, folder, planned))
            small = _asked(connection, "SELECT count(*) FROM facts WHERE v > 0")
            subprocess.run(["mount", "-o", f"remount,size={ENOUGH}", folder], check=True)
            answered = _asked(connection, text)
            wait_until(partial(_is_back, folder, planned))
            subprocess.run(["mount", "-o", f"remount,size={LITTLE}", folder], check=True)
            line = {"refused": refused, "is_empty": is_empty, "small": small, "answered": answered}
            print(json.dumps({**line, "left": os.listdir(folder)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
