"""Prints a dataflow as an indented tree, root first: one operator a line."""

from __future__ import annotations

from jumpgate.dataflow.operators import Operator


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
        lines.append(pad + label + node.text)
        for child in node.inputs:
            visit(child, indent + 1)

    visit(root, 0)
    return "\n".join(lines)
