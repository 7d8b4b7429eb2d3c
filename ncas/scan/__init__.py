"""Scans of files: an accelerator for each format, and the filters and projections that run in the same pass."""

from __future__ import annotations

from jumpgate.dataflow.formats import Format
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.ncas.software import SoftwareNCA


class Scan(SoftwareNCA):
    """Reads files of one format with its reader."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self.name = f"scan_{format.name}"

    def accepts(self, node: Operator) -> bool:
        return isinstance(node, Read) and node.format == self.format.name
