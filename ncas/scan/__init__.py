"""Scans of storage formats: a table of one NCA each, and the filters and projections that run in the same pass."""

from __future__ import annotations

from jumpgate.dataflow.operators import Operator, Read
from jumpgate.ncas.software import SoftwareNCA


class Scan(SoftwareNCA):
    """Reads files of one storage format with the converter of that name."""

    def __init__(self, format: str, throughput: float) -> None:
        self.format = format
        self.name = f"scan_{format}"
        self.throughput = throughput

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Read) and node.format == self.format


#: file bytes a second and core
JSON = Scan("json", 1.5e9)
CSV = Scan("csv", 0.7e9)
ORC = Scan("orc", 0.4e9)
PARQUET = Scan("parquet", 0.5e9)
