"""How large the structures on the switch must be for a wanted probability of success.

Source: Tirmazi et al., "Cheetah: Accelerating Database Queries with Switch Pruning" (SIGMOD 2020), theorems 1 to 6
and appendices. `topn_columns` uses the exact union bound instead of the paper's Chernoff bound, which asks for more
columns. d = rows, w = columns, delta = probability that an answer would be wrong, N = rows wanted by a top-n, D =
distinct values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

#: an answer is wrong at most once in ten thousand jobs
DEFAULT_DELTA = 1e-4


def distinct_pruned_min(distinct: int, rows: int, columns: int) -> float:
    """Least fraction of the duplicates that a d x w cache prunes from a stream in random order (theorem 1).

    Loose, and proven only where D > d ln(200 d); `distinct_pruned_estimate` is for planning.
    """
    if distinct <= rows * math.log(200 * rows):
        raise ValueError(f"the bound needs more than {rows * math.log(200 * rows):.0f} distinct values, not {distinct}")
    return 0.99 * min(columns * rows / (distinct * math.e), 1.0)


def distinct_pruned_estimate(distinct: int, rows: int, columns: int) -> float:
    """Expected fraction of the duplicates that a d x w cache prunes: a value is still there if the cache holds it."""
    return min(1.0, columns * rows / distinct) if distinct else 1.0


def fingerprint_bits_by_length(length: int, columns: int, delta: float = DEFAULT_DELTA) -> int:
    """Bits of a fingerprint so that a stream of `length` keys sees a false match with probability at most delta.

    Each key is compared with at most w others, so the union bound is length * w / 2^f <= delta.
    """
    return math.ceil(math.log2(columns * length / delta))


def length_max(bits: int, columns: int, delta: float = DEFAULT_DELTA) -> int:
    """How long a stream a fingerprint of so many bits serves (the inverse of `fingerprint_bits_by_length`)."""
    return int(2.0**bits * delta / columns)


def fullest_row(distinct: int, rows: int, delta: float = DEFAULT_DELTA) -> float:
    """M: no row receives more different keys than this, but with probability delta / 2 (theorem 5)."""
    log = math.log(2 * rows / delta)
    if distinct > rows * log:
        return math.e * distinct / rows
    if distinct >= rows * math.log(1 / delta) / math.e:
        return math.e * log
    return 1.3 * log / math.log(rows / (distinct * math.e) * log)


def fingerprint_bits(distinct: int, rows: int, delta: float = DEFAULT_DELTA) -> int:
    """Bits of a fingerprint for D different keys over d rows, whatever the stream's length (theorem 5)."""
    return math.ceil(math.log2(rows * fullest_row(distinct, rows, delta) ** 2 / delta))


def carried_bits(fingerprint: int, rows: int) -> int:
    """Bits of the number that a packet carries, when the switch takes the row from a hash of that number as well.

    The theorems have the row from the key itself, independent of the fingerprint; where both come from one number it
    needs log2 d bits more, or keys would meet all d x w others instead of w.
    """
    return fingerprint + math.ceil(math.log2(rows))


def distinct_keys_max(bits: int, rows: int, delta: float = DEFAULT_DELTA) -> int:
    """How many different keys a fingerprint of so many bits holds (the inverse of `fingerprint_bits`, long streams)."""
    return int(rows / math.e * math.sqrt(2.0**bits * delta / rows))


def topn_columns_chernoff(n: int, rows: int, delta: float = DEFAULT_DELTA) -> int:
    """Columns that the paper's theorem 2 asks for; `topn_columns` is tighter."""
    log = math.log(rows / delta)
    return math.floor(1.3 * log / math.log(rows / (n * math.e) * log))


def topn_failure(n: int, rows: int, columns: int) -> float:
    """Upper bound of the probability that a row receives more than w of the n largest: d P[Bin(n, 1/d) > w]."""
    if columns >= n:
        return 0.0
    p = 1 / rows
    log_p, log_q = math.log(p), math.log1p(-p) if rows > 1 else -math.inf
    total, k = 0.0, columns + 1
    while k <= n:
        q_part = (n - k) * log_q if n > k else 0.0
        term = math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log_p + q_part)
        total += term
        if k > n * p and term < total * 1e-15:
            break
        k += 1
    return min(1.0, rows * total)


def topn_columns(n: int, rows: int, delta: float = DEFAULT_DELTA) -> int:
    """Fewest columns with which a randomised top-n of d rows fails at most with probability delta (union bound)."""
    columns = max(1, n // rows)
    while topn_failure(n, rows, columns) > delta:
        columns += 1
    return columns


def topn_unpruned_max(length: int, rows: int, columns: int) -> float:
    """Most tuples of `length` in random order that a randomised top-n forwards, on average (theorem 3)."""
    cells = rows * columns
    return cells * math.log(length * math.e / cells) if length > cells else float(length)


def topn_best_rows(n: int, delta: float = DEFAULT_DELTA) -> int:
    """d that needs the least memory with the paper's w: delta exp(W(n e^2 / delta)), W being Lambert's function."""
    x = n * math.e**2 / delta
    w = math.log(x)
    for _ in range(50):  # Newton; converges quadratically from above
        w -= (w - x * math.exp(-w)) / (1 + w)
    return math.ceil(delta * math.exp(w))


def bloom_false_positives(keys: int, bits: int, hashes: int = 3) -> float:
    """Probability that a Bloom filter of `bits` bits, divided among its hashes, passes a key that it does not hold."""
    return float((1 - math.exp(-hashes * keys / bits)) ** hashes)


@dataclass(frozen=True)
class TopN:
    """A randomised top-n's sizes, and the probability that bounds its failure."""

    rows: int
    columns: int
    failure: float


def topn(n: int, columns_max: int, rows_max: int, delta: float = DEFAULT_DELTA) -> TopN | None:
    """The smallest randomised top-n that fails at most with probability delta; rows are a power of two, as hashes are.

    None if `columns_max` x `rows_max` cannot promise it; the deterministic top-n or no pruning are left then.
    """
    found = None
    rows = 16
    while rows <= rows_max:
        columns = topn_columns(n, rows, delta)
        if columns <= columns_max and (found is None or rows * columns < found.rows * found.columns):
            found = TopN(rows, columns, topn_failure(n, rows, columns))
        rows *= 2
    return found
