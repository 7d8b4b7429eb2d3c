"""Prints plans for people: one line for each operator, shared parts once."""

from __future__ import annotations

import os.path
from collections.abc import Callable

from jumpgate.compiler.tree import uses
from jumpgate.dataflow.operators import Join, Operator, Read, Receive

TEXT_MAX = 200  #: the most characters of one operator, before it is cut


def describe(node: Operator) -> str:
    """Describe one operator in one line, without its inputs."""
    text = node.text
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"


def short(node: Operator) -> str:
    """Name an operator as errors do: join(store_sales, item)."""
    if isinstance(node, Join):
        return f"join({origin(node.left)}, {origin(node.right)})"
    return f"{node.kind}({origin(node)})"


def origin(node: Operator) -> str:
    """Return the name of the file behind the leftmost leaf of `node`."""
    while node.inputs:
        node = node.inputs[0]
    if isinstance(node, Read):
        return os.path.basename(node.files[0]) if node.files else node.format
    return node.edge if isinstance(node, Receive) else node.kind


def tree(root: Operator, note: Callable[[Operator], str] = lambda _: "") -> list[str]:
    """Print the graph as indented lines; a shared node is printed once and referred to after that. `note` returns the
    text to append to a node's line."""
    shared = {i for i, n in uses(root).items() if n > 1}
    names: dict[int, str] = {}
    lines: list[str] = []

    def visit(node: Operator, depth: int) -> None:
        indent = "  " * depth
        if id(node) in names:
            lines.append(f"{indent}{names[id(node)]} again")
            return
        label = ""
        if id(node) in shared:
            names[id(node)] = f"@{len(names) + 1}"
            label = names[id(node)] + " = "
        lines.append(f"{indent}{label}{describe(node)}{note(node)}")
        for child in node.inputs:
            visit(child, depth + 1)

    visit(root, 0)
    return lines
