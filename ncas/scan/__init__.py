"""Scans of storage formats: a table of one NCA each, and the filters and projections that run in the same pass."""

from __future__ import annotations

from jumpgate.dataflow.operators import Operator, Read
from jumpgate.ncas.software import SoftwareNCA


class Scan(SoftwareNCA):
    """Reads files of one storage format with the converter of that name."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.name = f"scan_{format}"

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Read) and node.format == self.format


JSON = Scan("json")
CSV = Scan("csv")
ORC = Scan("orc")
PARQUET = Scan("parquet")
