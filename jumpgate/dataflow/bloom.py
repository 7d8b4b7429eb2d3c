"""Bloom filters as rows, so that any edge carries them and a semi join reads them (docs/hosts.md has the format).

A filter consists of blocks of 256 bits, four words of 64; a key sets one bit in each word of one block ("split blocks",
Putze et al., WEA 2007; those of Parquet have eight words of 32). A row is a block with at least one bit: its number and
its words. Blocks with one number from several senders are not combined: a key may be in any of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.dataflow.bloom_bits import WORD_BITS, WORDS
from jumpgate.dataflow.expressions import Call, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Aggregate, Distinct, Join, Measure, Operator, Project, Receive, column
from jumpgate.dataflow.types import Schema, int64

BLOCK_BITS = WORDS * WORD_BITS
#: per key: one of 150 other keys passes
BITS_PER_KEY = 12


def blocks_for(keys: float) -> int:
    """Return the number of blocks of a filter for `keys` keys."""
    return max(1, -int(-keys * BITS_PER_KEY // BLOCK_BITS))


def passing(keys: float, blocks: int) -> float:
    """Return the fraction of keys not in a filter that pass it."""
    return float((1.0 - (1.0 - 1.0 / WORD_BITS) ** (keys / blocks)) ** WORDS)


def sent(keys: Operator, blocks: int) -> Operator:
    """Return the rows that travel for `keys`: each once, or (blocks > 0) a Bloom filter of them."""
    if not blocks:
        return Distinct(keys)
    hash = _hash([column(keys.schema, i) for i in range(len(keys.schema))])
    words = [Measure.of("bit_or", bind("bloom_word", (hash, _number(i))), name=f"word{i}") for i in range(WORDS)]
    return Aggregate(keys, (_block(hash, blocks),), ("block",), tuple(words))


def sent_schema(keys: Schema, blocks: int) -> Schema:
    """Return the schema of `sent`."""
    return sent(Receive("", keys), blocks).schema


def estimated(keys: Operator, blocks: int) -> Operator:
    """Return rows with the columns of `sent`, one for each of the distinct `keys`, for estimates."""
    if not blocks:
        return keys
    hash = _hash([column(keys.schema, i) for i in range(len(keys.schema))])
    return Project(keys, (_block(hash, blocks), *[hash] * WORDS), sent_schema(keys.schema, blocks).names)


def kept(rows: Operator, keys: Sequence[Expression], filter: Operator, blocks: int) -> Join:
    """Return the rows whose keys are in what was `sent`; a Bloom filter passes some others."""
    arrived = filter.schema
    if not blocks:
        return Join(rows, filter, JoinType.SEMI, tuple(keys), tuple(column(arrived, i) for i in range(len(arrived))))
    hash, width = _hash(keys), len(rows.schema)
    both = Schema((*rows.schema, *arrived))
    words = [column(both, width + 1 + i) for i in range(WORDS)]
    holds = bind("bloom_holds", (hash, *words))
    return Join(rows, filter, JoinType.SEMI, (_block(hash, blocks),), (column(arrived, 0),), holds)


def key_of(block: Expression) -> Expression:
    """Return the only key of a block expression, for estimates: rows with one block's number and bits mostly have one
    key. Return any other expression unchanged."""
    if not isinstance(block, Call) or block.function != "bloom_block":
        return block
    found = block.args[0]
    while isinstance(found, Call) and found.function == "fingerprint" and len(found.args) == 1:
        found = found.args[0]
    return found


def _hash(keys: Sequence[Expression]) -> Expression:
    """Hash twice, so that the hash is independent of that of partitioning and tables."""
    return bind("fingerprint", (bind("fingerprint", tuple(keys)),))


def _block(hash: Expression, blocks: int) -> Call:
    found = bind("bloom_block", (hash, _number(blocks)))
    assert isinstance(found, Call)
    return found


def _number(value: int) -> Literal:
    return Literal(int64.with_nullable(False), value)
