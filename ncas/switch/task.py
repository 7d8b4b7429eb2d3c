"""Tasks: an accelerator's requests to its switch for one instance, as plain data made from the plan alone."""

from __future__ import annotations

from dataclasses import dataclass

from jumpgate.ncas.switch.transport import TupleFormat

#: parameters of an action by name
Values = tuple[tuple[str, int], ...]
#: fields of a match by name; of a ternary one the value and its mask
Matches = tuple[tuple[str, int | tuple[int, int]], ...]


@dataclass(frozen=True)
class Row:
    """An entry of a table that is the same for all jobs; or, in `Input.rows`, for all flows of an input."""

    table: str
    match: Matches
    action: str
    parameters: Values
    #: of a table with ternary fields; entries of one do not overlap
    priority: int = 0


@dataclass(frozen=True)
class Input:
    """The handling of one input edge's flows: the parameters of table `flow`'s action. `forwards`: what is left
    of them goes on to the output edge. `rows`: entries that each flow has beside, which match its number, too."""

    parameters: Values = ()
    forwards: bool = True
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Task:
    """`action` is that of table `flow`, and `tuples` what its packets hold. `inputs` are the instance's input edges, in
    order. `claims` are leased; registers whose names begin with one of `registers` are cleared, which have 2^`row_bits`
    rows. `outputs`: which of a group's numbers each column of the output is; then the buckets are drained.
    `constants`: what the algorithm's tables must hold."""

    action: str
    tuples: TupleFormat
    inputs: tuple[Input, ...]
    claims: tuple[str, ...]
    registers: tuple[str, ...]
    row_bits: int
    outputs: tuple[str, ...] = ()
    constants: tuple[Row, ...] = ()
