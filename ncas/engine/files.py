"""Looks whether DuckDB's reader finds in files what Jumpgate's does, before an instance reads them."""

from __future__ import annotations

from jumpgate.converters import probe
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.errors import CannotPlace


def check(root: Operator) -> None:
    """Verify the files of all reads. Raises CannotPlace, and what is wrong with a file."""
    for node in {id(node): node for node in root.walk() if isinstance(node, Read)}.values():
        _check(node)


def _check(node: Read) -> None:
    if probe.misread(node.files):
        raise _refusal(node, "DuckDB may misread it")
    found = probe.infer_schema(node.files, node.format, {})
    known = {field.name: field.type for field in found}
    if len({name.lower() for name in found.names}) < len(found.names):  # DuckDB renames the second
        raise _refusal(node, "two columns differ only in case")
    for field in node.schema:
        if field.name not in known or not known[field.name].same(field.type):
            raise _refusal(node, f"the column {field.name!r} is not in all files, or of another type there")
    names = tuple(sorted(set(node.schema.names)))
    days = tuple(name for name in names if known[name].kind in ("date", "timestamp"))
    if dict(node.options).get("early_days") == "fail" and days and not probe.has_late_days(node.files, days):
        raise _refusal(node, "it may have days before 1582-10-15")
    probe.check_pages(node.files, names)


def _refusal(node: Read, reason: str) -> CannotPlace:
    return CannotPlace(f"the engine does not read {node.files[0]}: {reason}", nca="engine", operator="read")
