"""Find the stacks whose position matters in a parser's state: others do not tell states apart, so rows are fewer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jumpgate.p4.compiler.elaboration.names import StackValue, Value
from jumpgate.p4.compiler.frontend import ast
from jumpgate.p4.compiler.frontend.source import Mistake

#: of a stack, what depends on how many headers were extracted into it
POSITIONS = ("next", "last", "lastIndex")


def live_stacks(
    states: Mapping[str, ast.State], first: str, value: Callable[[ast.Expression], Value]
) -> frozenset[int] | None:
    """Return the ids of the stacks whose position `first` or a state behind it asks for. None: those of any stack, as
    where a sub-parser runs. `value` gives what an expression stands for where the states are declared."""
    found: set[int] = set()
    seen, waiting = {first}, [first]
    while waiting:
        state = states.get(waiting.pop())
        if state is None:  # accept, reject, or a mistake that is told where it is reached
            continue
        asked = _asked(state, value)
        if asked is None:
            return None
        found |= asked
        behind = {state.target or "", *(case.state for case in state.cases)} - seen
        seen |= behind
        waiting += behind
    return frozenset(found)


def _asked(state: ast.State, value: Callable[[ast.Expression], Value]) -> set[int] | None:
    nodes = list(ast.walk(state))
    own = {n.name for n in nodes if isinstance(n, ast.Variable)}
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.function, ast.Member) and node.function.name == "apply":
            return None
        if not isinstance(node, ast.Member) or node.name not in POSITIONS:
            continue
        inner = list(ast.walk(node.base))
        if any(isinstance(n, ast.Member) and n.name in POSITIONS for n in inner):
            continue  # a field of an element
        if any(isinstance(n, ast.Call) or (isinstance(n, ast.Name) and n.name in own) for n in inner):
            return None
        try:
            base = value(node.base)
        except Mistake:
            return None
        if isinstance(base, StackValue):
            found.add(id(base))
    return found
