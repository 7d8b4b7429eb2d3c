"""Whether a sub-plan goes to accelerators: Overhead + D / T_jumpgate ≤ D / T_client (the paper's inequality).

D is what its reads take from storage, and `jumpgate calibrate` measures the throughputs T. A sub-plan whose result is
estimated larger than what it reads is cut further down, where the data is smaller. What a query holds twice runs once
on accelerators, but twice in the client. `always` takes all that maps. All this is for queries that are new:
experience.py keeps how long the others took.
"""

from __future__ import annotations

from jumpgate.client.sql.calibrate import Speeds
from jumpgate.client.sql.cuts import Candidate, Decision
from jumpgate.converters import probe
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Aggregate, Distinct, Filter, Join, Limit, Operator, Read, Sort, UnionAll
from jumpgate.dataflow.types import Schema

#: rows that a filter lets pass, and groups that an aggregate has of its rows, where nothing is known
SELECTIVITY, GROUPS = 0.25, 0.1
#: bytes of a string where nothing is known
STRING_BYTES = 16
#: of an accelerator's advantage that must be left after an estimate's errors
MARGIN = 0.9


def decision(speeds: Speeds | None) -> Decision:
    """For offload = auto by what is known about this host's speed; None: for offload = always."""
    if speeds is None:
        return lambda candidate: None
    return lambda candidate: _auto(candidate, speeds)


def _auto(candidate: Candidate, speeds: Speeds) -> str | None:
    ours, theirs = seconds(candidate.operator, speeds, candidate.uses)
    if ours > MARGIN * theirs:
        return (
            f"offload = auto: accelerators would take {_ms(ours)} ({_ms(speeds.overhead_s)} of it overhead), "
            f"the client takes {_ms(theirs)}"
        )
    memory = sum(_rows(read) * row_bytes(read.schema) for read in reads_of(candidate.operator))
    result = rows(candidate.operator) * row_bytes(candidate.operator.schema)
    if not isinstance(candidate.operator, Read) and result > memory:
        return f"offload = auto: it would send {_mb(result)} of the {_mb(memory)} that it reads; cut below"
    return None


def seconds(operator: Operator, speeds: Speeds, uses: int = 1) -> tuple[float, float]:
    """Estimates of what accelerators take for it, and the client, who computes it `uses` times."""
    reads = reads_of(operator)
    sizes = [read_bytes(read) for read in reads]
    ours = speeds.overhead_s + sum(size / speeds.jumpgate[r.format] for r, size in zip(reads, sizes, strict=True))
    return ours, uses * sum(size / speeds.client[r.format] for r, size in zip(reads, sizes, strict=True))


def reads_of(operator: Operator) -> list[Read]:
    return [node for node in operator.walk() if isinstance(node, Read)]


def read_bytes(read: Read) -> float:
    """Bytes that the read takes from its files: of columnar formats the share of its columns."""
    known = probe.estimate(read.files, read.format, read.options).bytes or 0.0
    if not formats()[read.format].columnar:
        return known
    return known * row_bytes(read.schema) / row_bytes(read.file_schema)


def rows(node: Operator) -> float:
    """A rough number of rows of the result, from the files' and textbook selectivities."""
    match node:
        case Read():
            return _rows(node)
        case Filter():
            return SELECTIVITY * rows(node.input)
        case Aggregate():
            return max(1.0, GROUPS * rows(node.input)) if node.keys else 1.0
        case Distinct():
            return GROUPS * rows(node.input)
        case Sort() | Limit():
            count = node.limit if isinstance(node, Sort) else node.count
            return rows(node.input) if count is None else min(float(count), rows(node.input))
        case UnionAll():
            return sum(map(rows, node.members))
        case Join(left=left, right=right, type=type):
            if type in ("semi", "anti"):
                return SELECTIVITY * rows(left)
            if not node.left_keys:
                return rows(left) * rows(right)
            return max(rows(left), rows(right))
    return rows(node.inputs[0]) if node.inputs else 1.0


def row_bytes(schema: Schema) -> int:
    return sum(STRING_BYTES if f.type.is_text or f.type.is_opaque else f.type.width for f in schema) + 1


def _rows(read: Read) -> float:
    return probe.estimate(read.files, read.format, read.options).rows or 0.0


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _mb(size: float) -> str:
    return f"{size / 1e6:.1f} MB"
