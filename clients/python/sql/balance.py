"""Long chains of AND and OR as balanced trees: DataFusion nests them one into the other, and protobuf's readers refuse
messages that are nested more than 100 deep.
"""

from __future__ import annotations

from google.protobuf.message import Message
from substrait.algebra_pb2 import Expression
from substrait.plan_pb2 import Plan

#: shorter chains stay as they are
CHAIN_MIN = 8


def balance(plan: Plan) -> None:
    """Changes `plan` in place; every conjunction and disjunction keeps its value."""
    names = {e.extension_function.function_anchor: e.extension_function.name.split(":")[0] for e in plan.extensions}
    chained = {anchor for anchor, name in names.items() if name in ("and", "or")}
    stack: list[Message] = [plan] if chained else []
    while stack:
        message = stack.pop()
        if isinstance(message, Expression) and message.scalar_function.function_reference in chained:
            terms = _terms(message, message.scalar_function.function_reference)
            if message.HasField("scalar_function") and len(terms) >= CHAIN_MIN:
                kept = [_copy(term) for term in terms]
                tree = _tree(kept, message.scalar_function)
                message.CopyFrom(tree)
        for field, value in message.ListFields():
            if field.message_type is not None and not field.message_type.GetOptions().map_entry:
                stack.extend(value if field.is_repeated else (value,))


def _terms(expression: Expression, anchor: int) -> list[Expression]:
    """What a chain of one function connects, from left to right."""
    found: list[Expression] = []
    stack = [expression]
    while stack:
        inner = stack.pop()
        if inner.HasField("scalar_function") and inner.scalar_function.function_reference == anchor:
            stack.extend(reversed([argument.value for argument in inner.scalar_function.arguments]))
        else:
            found.append(inner)
    return found


def _copy(expression: Expression) -> Expression:
    copied = Expression()
    copied.CopyFrom(expression)
    return copied


def _tree(terms: list[Expression], call: Expression.ScalarFunction) -> Expression:
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    found = Expression()
    found.scalar_function.function_reference = call.function_reference
    found.scalar_function.output_type.CopyFrom(call.output_type)
    for half in (terms[:middle], terms[middle:]):
        found.scalar_function.arguments.add().value.CopyFrom(_tree(half, call))
    return found
