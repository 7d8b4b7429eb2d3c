"""The first rows of partitions, filtered in front of a window's table → C++: the others need not be sorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jumpgate.codegen.cpp import Value, cpp_type, equal, hash_group, is_word, ordered_words
from jumpgate.codegen.program import FirstRowsStep
from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.operators import FirstRows, Window
from jumpgate.dataflow.types import DataType

#: the most words of a row that are compared; rows with equal words count as ties
WORDS_MAX = 4


def first_rows_step(
    node: Window, first: FirstRows, resolved: Callable[[Expression], Expression], count: int
) -> FirstRowsStep:
    """Return the step in front of the window's table; `count` is the parameter with the number of rows."""
    return FirstRowsStep(
        count,
        first.ties,
        tuple(map(resolved, node.partition_by)),
        tuple(resolved(k.expression) for k in node.order_by),
        tuple((k.descending, k.nulls_first) for k in node.order_by),
    )


def first_rows_code(step: FirstRowsStep, partition: Sequence[Value], order: Sequence[Value]) -> dict[str, Any]:
    """Return the template's values: how to find a partition and what to keep of its key, the words by which rows
    compare, the condition under which they do not order a row, and whether the hash alone identifies partitions."""
    types = [e.type for e in step.partition]
    #: different keys have different hashes, except the one with NULL's hash
    injective = len(types) == 1 and is_word(types[0])
    words, unordered, exact = _words(order, [e.type for e in step.order], step.directions)
    if injective and partition[0].null:
        of_null = f"(!({partition[0].null}) && h == JG_HASH_NULL)"
        unordered = f"{of_null} || {unordered}" if unordered else of_null
    fields = sorted(enumerate(types), key=lambda f: -f[1].width)
    return {
        "count": step.count,
        "ties": step.ties or not exact,
        "hash": hash_group([*partition], types) if types else "0",
        "same": " && ".join(_same(k, i, t) for i, (k, t) in enumerate(zip(partition, types, strict=True))) or "true",
        "stores": [_store(k, i, t) for i, (k, t) in enumerate(zip(partition, types, strict=True))],
        "fields": [{"id": i, "type": t, "cpp": cpp_type(t)} for i, t in fields],
        "flags": [i for i, k in enumerate(partition) if k.null],
        "words": words or ["0"],
        "unordered": unordered,
        "injective": injective,
    }


def _words(
    order: Sequence[Value], types: Sequence[DataType], directions: Sequence[tuple[bool, bool]]
) -> tuple[list[str], str | None, bool]:
    """Return words that order rows as their keys do, the condition under which they do not, and whether equal words are
    equal keys. NULL takes the place of the least or greatest word; rows with that word themselves are unordered."""
    words: list[str] = []
    unordered: list[str] = []
    for key, type, (descending, nulls_first) in zip(order, types, directions, strict=True):
        numbers = ordered_words(key.text, type)[:2]
        numbers = tuple(f"(uint64_t){'~' * descending}({n})" for n in numbers)
        if key.null:
            null = "0" if nulls_first else "UINT64_MAX"
            unordered.append(f"(!({key.null}) && ({numbers[0]}) == {null})")
            numbers = tuple(f"({key.null}) ? {null} : {n}" for n in numbers)
        if len(words) + len(numbers) > WORDS_MAX:
            return words, " || ".join(unordered) or None, False
        words += numbers
        if type.is_text:  # the words are its first bytes
            return words, " || ".join(unordered) or None, False
    return words, " || ".join(unordered) or None, True


def _same(key: Value, i: int, type: DataType) -> str:
    same = equal(key.text, f"part->f{i}", type)
    return f"(part->n{i} == (uint8_t)({key.null}) && (part->n{i} || {same}))" if key.null else same


def _store(key: Value, i: int, type: DataType) -> str:
    kept = f"jg_keep_partition(t, {key.text})" if type.is_text else f"({cpp_type(type)})({key.text})"
    return f"if ({key.null}) part->n{i} = 1; else part->f{i} = {kept};" if key.null else f"part->f{i} = {kept};"
