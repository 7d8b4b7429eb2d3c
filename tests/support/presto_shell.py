"""Presto's command line over tables of TPC-H, a server that has the connector, and a service:

    python -m tests.support.presto_shell [ARGUMENT OF THE COMMAND LINE …]

Makes what they need, and becomes tests.support.presto_shell_run, which runs them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from jumpgate.codegen import cache, toolchain
from jumpgate.tpcds.data import generate
from jumpgate.tpch import TPCH
from tests.support import presto
from tests.support.presto_shell_run import end_on_signals

SCALE = 0.01


def main(arguments: list[str]) -> None:
    end_on_signals()
    folder = Path(tempfile.mkdtemp(prefix="jumpgate-presto-"))
    try:
        print("preparing Presto 0.296 (the first time, some minutes)", file=sys.stderr, flush=True)
        toolchain.runtime()
        jars = presto.library(), presto.command_line()
        data = cache.root() / f"tpch-{SCALE}"
        generate(data, SCALE, formats=("parquet",), suite=TPCH)
        presto.install(folder / "plugin")
        (folder / "catalog.json").write_text(json.dumps({"tpch": presto.tpch_catalog(data)}))
        command = presto.in_a_network("tests.support.presto_shell_run", folder, *jars, *arguments)
        os.execvp(command[0], command)
    except BaseException:
        shutil.rmtree(folder)
        raise


if __name__ == "__main__":
    main(sys.argv[1:])
