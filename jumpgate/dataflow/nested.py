"""Restricts nested values: they are passed on, taken apart, and tested for NULL."""

from __future__ import annotations

from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import Operator


def compared_nested(node: Operator) -> list[str]:
    """Return a sentence for each nested value that the operator would have to compare."""
    what, compared = node.compared
    return list(dict.fromkeys(f"{what} {_named(e)}: nested values are not compared; name fields of it" for e in compared
                              if e.type.is_nested))  # fmt: skip


def _named(e: Expression) -> str:
    name = getattr(e, "name", "")
    return f"{name!r}, a {e.type.name}" if name else f"a {e.type.name}"
