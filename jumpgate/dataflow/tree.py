"""Prints a dataflow as an indented tree, root first: one operator a line."""

from __future__ import annotations

import os

from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Emit,
    Filter,
    Join,
    Limit,
    Operator,
    Partitioning,
    Project,
    Read,
    Receive,
    Send,
    Shuffle,
    Skyline,
    Sort,
    UnionAll,
    Window,
)


def line(node: Operator) -> str:
    """Describe one operator, without its inputs."""
    match node:
        case Read():
            more = f" and {len(node.files) - 1} more" if len(node.files) > 1 else ""
            columns = ", ".join(node.schema.names)
            hint = f" where {node.predicate}" if node.predicate is not None else ""
            return f"read {node.format} {os.path.basename(node.files[0])}{more} ({columns}){hint}"
        case Filter():
            return f"filter {node.predicate}"
        case Project():
            pairs = zip(node.names, node.expressions, strict=True)
            return "project " + ", ".join(n if getattr(e, "name", None) == n else f"{n} = {e}" for n, e in pairs)
        case Join():
            keys = ", ".join(f"{a} = {b}" for a, b in zip(node.left_keys, node.right_keys, strict=True))
            residual = f" where {node.residual}" if node.residual is not None else ""
            built = " (builds left)" if node.builds_left else ""
            return f"join {node.type}" + (f" on {keys}" if keys else "") + residual + built
        case Aggregate():
            phase = "" if node.phase == "full" else f"{node.phase} "
            by = f" by {', '.join(node.key_names)}" if node.keys else ""
            return f"aggregate {phase}{', '.join(map(str, node.measures))}{by}".replace("  ", " ")
        case Sort():
            top = f"top {node.limit} " if node.limit is not None else "sort "
            return top + "by " + ", ".join(map(str, node.keys)) + (f" offset {node.offset}" if node.offset else "")
        case Skyline():
            return "skyline of " + ", ".join(f"{k.expression} {'max' if k.descending else 'min'}" for k in node.keys)
        case Limit():
            return f"limit {node.count}" + (f" offset {node.offset}" if node.offset else "")
        case Window():
            by = f" by {', '.join(map(str, node.partition_by))}" if node.partition_by else ""
            order = f" order {', '.join(map(str, node.order_by))}" if node.order_by else ""
            first = f", {node.first}" if node.first is not None else ""
            return f"window {', '.join(map(str, node.functions))}{by}{order}{first}"
        case Distinct() | UnionAll():
            return node.kind
        case Shuffle():
            return f"shuffle {_partitioning(node.partitioning)}"
        case Send():
            return f"send {node.layout} {_partitioning(node.partitioning)} to {', '.join(node.endpoints)}"
        case Receive():
            return f"receive {node.edge}"
        case Emit():
            return f"emit {node.edge} {_partitioning(node.partitioning)}"
    return node.kind


def tree(root: Operator) -> str:
    """Print the whole dataflow; a shared operator is printed once and referred to afterwards."""
    uses: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        uses[id(node)] = uses.get(id(node), 0) + 1
        if uses[id(node)] == 1:
            stack += node.inputs
    lines: list[str] = []
    names: dict[int, str] = {}

    def visit(node: Operator, indent: int) -> None:
        pad = "  " * indent
        if id(node) in names:
            lines.append(f"{pad}{names[id(node)]} (as above)")
            return
        label = ""
        if uses[id(node)] > 1:
            names[id(node)] = f"[{len(names) + 1}]"
            label = names[id(node)] + " "
        lines.append(pad + label + line(node))
        for child in node.inputs:
            visit(child, indent + 1)

    visit(root, 0)
    return "\n".join(lines)


def _partitioning(p: Partitioning) -> str:
    keys = f"({', '.join(f'#{k}' for k in p.keys)})" if p.keys else ""
    return p.kind + keys + (f" × {p.count}" if p.count != 1 else "")
