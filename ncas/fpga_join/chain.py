"""Chains of joins that a card answers at once: every key is a column of the one input that probes.

    ((L ⋈ T1) ⋈ T2) ⋈ T3   rows of L look into the tables of T1, T2 and T3 in parallel

A row travels as its keys, 64 bits each, and its other columns, which the card passes on. Projections that only leave
columns out may stand between the joins, and above them: what nobody needs does not leave the card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Join, Operator, Project, Receive, column
from jumpgate.dataflow.types import Field, Schema
from jumpgate.nca.interface import Completeness, Unsupported, Wire, WireInput
from jumpgate.ncas.fpga_join.kind import KEY_BYTES, signature
from jumpgate.ncas.switch.transport import DATAGRAMS, packed
from jumpgate.ncas.switch.wire import converted
from jumpgate.ncas.switch_prune.words import key
from jumpgate.ntf.layout import row_layout

#: whose rows are each of one row that probes
TYPES = tuple(t for t in JoinType if not t.unmatched_right and not t.marks)

#: where a column comes from: the table's number, -1 for the probing input; its position there
Origin = tuple[int, int]
PROBE = -1


@dataclass(frozen=True)
class Side:
    """An input: which leaf of the match it is, its operator, and the keys that it is sent with; `key_columns`: for each
    the column that it holds unchanged, if it is no expression over some."""

    leaf: int
    node: Operator
    keys: tuple[Expression, ...]
    key_columns: tuple[int | None, ...]

    @property
    def passed(self) -> tuple[int, ...]:
        """Columns that travel beside the keys; one that is a key is known from it."""
        return tuple(i for i in range(len(self.node.schema)) if i not in self.key_columns)

    def sent(self, number: int) -> WireInput:
        schema = self.node.schema
        expressions = (*self.keys, *(column(schema, i) for i in self.passed))
        names = (*(f"key{i}" for i in range(len(self.keys))), *(f"c{i}" for i in self.passed))
        fields = (Field(n, e.type) for n, e in zip(names, expressions, strict=True))
        return WireInput(self.leaf, expressions, Schema(tuple(fields)), (0,))

    def position(self, index: int) -> int:
        """Return the position of a column among those that are sent."""
        if index in self.key_columns:
            return self.key_columns.index(index)
        return len(self.keys) + self.passed.index(index)


@dataclass(frozen=True)
class Chain:
    """`operators`, root first; table i is built from `builds[i]` for the join `joins[i]`, deepest first; `output`:
    where each column of the root comes from."""

    operators: tuple[Operator, ...]
    probe: Side
    builds: tuple[Side, ...]
    output: tuple[Origin, ...]

    completeness = Completeness.FULL
    note = ""

    @property
    def schema(self) -> Schema:
        return self.operators[0].schema

    @property
    def joins(self) -> tuple[Join, ...]:
        return tuple(o for o in reversed(self.operators) if isinstance(o, Join))

    def wire(self) -> Wire:
        sent, body, places = self.joined(self.output)
        back = tuple(
            converted(column(body.schema, place), field.type) for place, field in zip(places, self.schema, strict=True)
        )
        return Wire(sent, body, back, DATAGRAMS, spreads=True)

    def joined(self, wanted: Sequence[Origin]) -> tuple[tuple[WireInput, ...], Operator, list[int]]:
        """Return the inputs, the joins over them that send these columns, at least one, and the position of each."""
        sent = [side.sent(i) for i, side in enumerate((self.probe, *self.builds))]
        body: Operator = Receive("0", sent[0].schema)
        first = {PROBE: 0}
        for t, join in enumerate(self.joins):
            built = Receive(str(t + 1), sent[t + 1].schema)
            first[t] = len(body.schema)
            body = Join(body, built, join.type, (column(body.schema, t),), (column(built.schema, 0),))
        places = [self._place(table, index, first) for table, index in wanted]
        kept = sorted({*places}) or [0]
        if len(kept) < len(body.schema):
            columns = tuple(column(body.schema, i) for i in kept)
            body = Project(body, columns, tuple(body.schema.names[i] for i in kept))
        return tuple(sent), body, [kept.index(place) for place in places]

    def _place(self, table: int, index: int, first: Mapping[int, int]) -> int:
        """Where column `index` of an input is in joined rows; a partner's key is that of the row that found it."""
        if table == PROBE:
            return self.probe.position(index)
        position = self.builds[table].position(index)
        return table if position == 0 and self.joins[table].type.any_order else first[table] + position


def is_root(node: Operator) -> bool:
    """Return whether a chain may begin there."""
    return isinstance(node, Join) or (_only_drops(node) and isinstance(node.inputs[0], Join))


def chains(node: Operator, tables_max: int, row_bytes_max: int) -> Iterator[Chain | Unsupported]:
    """The chain of each length that begins at `node`, the shortest first; a reason where it cannot be longer.
    `row_bytes_max`: of rows that arrive and rows that leave."""
    operators: list[Operator] = []
    below, joins = node, 0
    while joins < tables_max and is_root(below):
        if not isinstance(below, Join):
            operators.append(below)
            (below,) = below.inputs
        assert isinstance(below, Join)
        operators.append(below)
        joins += 1
        found = _chain(tuple(operators), row_bytes_max)
        yield found
        if isinstance(found, Unsupported):
            return
        below = _probe(below)


def _only_drops(node: Operator) -> bool:
    """Return whether it is a projection that computes nothing."""
    return isinstance(node, Project) and all(isinstance(e, ColumnRef) for e in node.expressions)


def _chain(operators: tuple[Operator, ...], row_bytes_max: int) -> Chain | Unsupported:
    deepest = operators[-1]
    assert isinstance(deepest, Join)
    leaf = _probe(deepest)
    origins: tuple[Origin, ...] = tuple((PROBE, i) for i in range(len(leaf.schema)))
    order = leaves(operators)
    keys: list[Expression] = []
    key_columns: list[int | None] = []
    builds: list[Side] = []
    for join in reversed(operators):
        if isinstance(join, Project):
            origins = tuple(origins[i] for e in join.expressions for i in e.columns())
            continue
        assert isinstance(join, Join)
        table = len(builds)
        no = _refusal(join)
        if no is not None:
            return no
        swapped = join.type.any_order and join.builds_left
        probing, building = (join.right_keys, join.left_keys) if swapped else (join.left_keys, join.right_keys)
        if any(origins[i][0] != PROBE for e in probing for i in e.columns()):
            return Unsupported("a key comes from another build side, which the card does not look into first", "key",
                               "Let a host join that one.")  # fmt: skip
        traced = tuple(_traced(e, leaf, origins) for e in probing)
        probe_key, build_key = key(traced), key(building)
        if probe_key is None or build_key is None:
            types = ", ".join(e.type.name for e in building)
            return Unsupported(
                f"the key ({types}) is not a number of 64 bits", "key",
                "Join by integers, dates or short decimals: codes of a dictionary, or row numbers.",
            )  # fmt: skip
        keys.append(probe_key)
        key_columns.append(_only_column(traced))
        builds.append(Side(order.index(id(_build(join))), _build(join), (build_key,), (_only_column(building),)))
        mine = tuple((table, i) for i in range(len(_build(join).schema)))
        if join.type.pairs:
            origins = (*mine, *origins) if swapped else (*origins, *mine)
    probe = Side(order.index(id(leaf)), leaf, tuple(keys), tuple(key_columns))
    chain = Chain(operators, probe, tuple(builds), origins)
    return _too_wide(chain, row_bytes_max) or chain


def _traced(key: Expression, leaf: Operator, origins: tuple[Origin, ...]) -> Expression:
    """A key over the probing input, where all of its columns come from."""
    return key.remap(lambda i: column(leaf.schema, origins[i][1]))


def leaves(operators: tuple[Operator, ...]) -> list[int]:
    """The inputs of the match, each once, as `match_inputs` has them."""
    taken = {id(o) for o in operators}
    return list(dict.fromkeys(id(c) for o in operators for c in o.inputs if id(c) not in taken))


def _refusal(join: Join) -> Unsupported | None:
    if join.type not in TYPES:
        return Unsupported(f"the card computes {', '.join(TYPES)} joins, no {join.type} join", "join_type")
    if join.residual is not None:
        return Unsupported("the card compares keys, and no further condition", "residual",
                           "Filter after the join.")  # fmt: skip
    if not join.left_keys:
        return Unsupported("the card joins by keys; a cross join has none", "key")
    if text_key := next((e for e in join.left_keys if e.type.is_text), None):
        return Unsupported(
            f"a key is {text_key.type.name}; the card compares numbers, and codes that both sides share would have to "
            "be found by that join", "key", "Join by a number of the row; hosts join texts.",
        )  # fmt: skip
    for side in join.inputs:
        if text := next((f for f in side.schema if f.type.is_text), None):
            return Unsupported(
                f"column {text.name} is {text.type.name}; the card's rows have a fixed width, and only texts of build "
                "sides have codes", "width", "Join what belongs to the key afterwards.",
            )  # fmt: skip
    return None


def _too_wide(chain: Chain, row_bytes_max: int) -> Unsupported | None:
    for side in chain.builds:
        if signature(need := value_bytes(side.sent(0).schema)) is None:
            return Unsupported(f"a build side's columns beside the key have {need} bytes; a bucket has room for 55",
                               "width", "Select fewer columns.")  # fmt: skip
    wire = chain.wire()
    rows = {"probing": wire.inputs[0].schema, "joined": wire.body.schema}
    for what, schema in rows.items():
        if (stride := row_layout(packed(schema)).stride) > row_bytes_max:
            return Unsupported(f"a {what} row has {stride} bytes, the card has room for {row_bytes_max}", "row",
                               "Select fewer columns.")  # fmt: skip
    return None


def value_bytes(schema: Schema) -> int:
    """Return the bytes that a bucket has for a build side's row beside the key: bits that say what is NULL, if any may
    be, then the columns."""
    return row_layout(packed(schema)).stride - KEY_BYTES


def _build(join: Join) -> Operator:
    """Semi, anti and left joins are built from their right side, whatever a host would do."""
    return join.build if join.type.any_order else join.right


def _probe(join: Join) -> Operator:
    return join.probe if join.type.any_order else join.left


def _only_column(key: tuple[Expression, ...]) -> int | None:
    """The column that a key consists of."""
    return key[0].index if len(key) == 1 and isinstance(key[0], ColumnRef) else None
