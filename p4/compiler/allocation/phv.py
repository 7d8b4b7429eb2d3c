"""The packet header vector: which containers of 8, 16 and 32 bits hold the fields of headers, metadata and variables.

What is assumed, on the side of caution but where it says so:

- A header lies in containers of its own, cut at byte boundaries, for the whole pass. Fields that share bytes (version
  and length of IPv4) are one piece. Headers that exclude each other do not share containers, though they could.
- A header that the stages neither match nor change costs no container that they need: it goes into the tagalong ones.
- A metadata field or variable has containers of its own from the stage that first writes it to the last that reads
  it; behind that another may have them. It lives from the parser on if some path reads it before it was written.
- A field that is computed with as a number, or that a stateful ALU gives, is in one container.
- An ALU's operands and result lie in one group of containers, so fields that are assigned to each other do, cut alike.
  Of wide fields that are copied, or combined bit by bit, each part may lie in another group.
- Generous: fields that are combined but cannot be cut alike do not share a group; the bits that say which headers are
  valid are packed; a container belongs to either half of the pipe on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.allocation.units import Unit
from jumpgate.p4.compiler.frontend.source import Diagnostics, Position
from jumpgate.p4.compiler.profile import Profile
from jumpgate.p4.compiler.walk import expressions, gets, walk

SIZES = (32, 16, 8)
FOREVER = 1 << 30


@dataclass(eq=False)
class Piece:
    """Bits that lie together from stage `first` to stage `last` (-1: from the parser)."""

    name: str
    bits: int
    position: Position
    is_header: bool
    is_whole: bool = False
    first: int = FOREVER
    last: int = -1

    def containers(self, size: int) -> int:
        """How many of that size it takes; 0 if it cannot lie in such."""
        count = -(-self.bits // size)
        if self.is_whole and count > 1 and self.bits <= 32:
            return 0
        return 0 if self.is_header and not self.is_whole and self.bits % size else count


#: containers of one size that hold each piece of a cluster, and the bits that they waste
Cut = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass
class Group:
    """Containers that ALUs can combine; `taken`: for each container the times at which it is in use."""

    size: int
    taken: list[list[tuple[int, int]]]

    def rooms(self, cluster: Sequence[Piece], counts: Sequence[int]) -> list[list[int]] | None:
        """Containers for each piece; None if they do not all fit."""
        out: list[list[int]] = []
        given: dict[int, list[tuple[int, int]]] = {}
        for piece, count in zip(cluster, counts, strict=True):
            mine: list[int] = []
            for at, times in enumerate(self.taken):
                if len(mine) == count:
                    break
                if all(piece.last < a or b < piece.first for a, b in (*times, *given.get(at, ()))):
                    mine.append(at)
            if len(mine) < count:
                return None
            for at in mine:
                given.setdefault(at, []).append((piece.first, piece.last))
            out.append(mine)
        return out

    def take(self, cluster: Sequence[Piece], rooms: Sequence[Sequence[int]]) -> None:
        for piece, mine in zip(cluster, rooms, strict=True):
            for at in mine:
                self.taken[at].append((piece.first, piece.last))

    def give_back(self, cluster: Sequence[Piece], rooms: Sequence[Sequence[int]]) -> None:
        for piece, mine in zip(cluster, rooms, strict=True):
            for at in mine:
                self.taken[at].remove((piece.first, piece.last))

    @property
    def free(self) -> int:
        return sum(not times for times in self.taken)


@dataclass(frozen=True)
class Containers:
    """`used`: containers of each size. `tagalong_bits`: of headers that only pass."""

    used: dict[int, int]
    tagalong_bits: int


@dataclass
class Vector:
    """The containers of a pipe."""

    groups: list[Group] = field(default_factory=list)

    def place(self, cluster: Sequence[Piece]) -> bool:
        """Finds containers for pieces that ALUs combine; tries what takes the scarcest least first."""
        free = {size: 1 + sum(g.free for g in self.groups if g.size == size) for size in SIZES}

        def cost(cut: Cut) -> float:
            waste = sum(size * sum(counts) for size, counts in cut) - sum(p.bits for p in cluster)
            return waste / 64 + sum(sum(counts) / free[size] for size, counts in cut)

        for cut in sorted(cuts(cluster), key=cost):
            found: list[tuple[Group, list[list[int]]]] = []
            strips = [*_strips(cut)]
            for size, counts in strips:
                for group in self.groups:
                    rooms = group.rooms(cluster, counts) if group.size == size else None
                    if rooms is not None:
                        group.take(cluster, rooms)
                        found.append((group, rooms))
                        break
            if len(found) == len(strips):
                return True
            for group, rooms in found:
                group.give_back(cluster, rooms)
        return False


def _strips(cut: Cut) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the parts of a cut that need not lie in one group: of what has several containers ALUs combine each with
    those at the same place of the others, counted from the lowest bits."""
    for size, counts in cut:
        yield from ((size, tuple(int(at < count) for count in counts)) for at in range(max(counts)))


def cuts(cluster: Sequence[Piece]) -> Iterator[Cut]:
    """Ways to lay a cluster out: all in containers of one size, or pieces of equal length cut at the same bits."""
    for size in SIZES:
        counts = tuple(p.containers(size) for p in cluster)
        if all(counts):
            yield ((size, counts),)
    bits = cluster[0].bits
    if any(p.is_whole or p.bits != bits for p in cluster) or bits % 8:
        return
    for largest in (32, 16):
        left, cut = bits, []
        for size in (s for s in SIZES if s <= largest):
            if left >= size:
                cut.append((size, (left // size,) * len(cluster)))
                left %= size
        if len(cut) > 1:
            yield tuple(cut)


def containers(
    program: ir.Program, stages: Sequence[Sequence[Unit]], profile: Profile, diagnostics: Diagnostics
) -> Containers:
    """Lays the fields out; `stages` are the units of each. Adds to `diagnostics` what finds no place."""
    limits = profile.phv
    vector = Vector([
        Group(size, [[] for _ in range(limits["group"])])
        for size in SIZES for _ in range(limits[f"containers_{size}"] // limits["group"])
    ])  # fmt: skip
    clusters: list[list[Piece]] = []
    tagalong = 0
    for gress in program.gresses:
        mine = [[u for u in units if u.gress == gress.name] for units in stages]
        busy, idle = _clusters(gress, mine)
        for piece in idle:
            if tagalong + piece.bits <= limits["tagalong_bits"]:
                tagalong += piece.bits
            else:
                busy.append([piece])
        clusters += busy
    for cluster in sorted(clusters, key=lambda c: (len(list(cuts(c))), -sum(p.bits for p in c))):
        if not vector.place(cluster):
            _complain(cluster, vector, profile, diagnostics)
            break
    used = {
        size: sum(len(g.taken) - g.free for g in vector.groups if g.size == size) for size in reversed(SIZES)
    }  # fmt: skip
    return Containers(used, tagalong)


def _complain(cluster: Sequence[Piece], vector: Vector, profile: Profile, diagnostics: Diagnostics) -> None:
    piece = min(cluster, key=lambda p: (p.is_header, p.position))
    named = f"the {piece.bits} bits of '{piece.name}'"
    if len(cluster) > 1:
        named += f" in one group with those of {len(cluster) - 1} fields that are combined with it"
    free = {s: sum(g.free for g in vector.groups if g.size == s) for s in reversed(SIZES)}
    listed = ", ".join(f"{n} of {profile.phv[f'containers_{s}']} of {s} bits" for s, n in free.items())
    diagnostics.error(
        piece.position,
        f"the packet header vector has no room for {named}; free containers of a {profile.title}: {listed}: "
        "use fewer or narrower headers, metadata and variables, or copies that are combined with fewer others",
    )


def _clusters(gress: ir.Gress, stages: Sequence[Sequence[Unit]]) -> tuple[list[list[Piece]], list[Piece]]:
    """(pieces that the stages touch, those together that an ALU combines; pieces of headers that only pass)."""
    placed = [(at, u) for at, units in enumerate(stages) for u in units]
    intrinsic = set(gress.intrinsic.values())
    validity = {s.valid for s in walk(gress.deparser) if isinstance(s, ir.Emit)}
    final = {x for s in walk(gress.deparser) for e in expressions(s) for x in gets(e)} | intrinsic
    read = {slot for _, u in placed for slot in u.reads} | final
    pieces = dict(_headers(gress))
    headers = list(dict.fromkeys(pieces.values()))
    left_out = validity | (_decisions(gress) - {slot for _, u in placed if u.kind == "action" for slot in u.reads})
    busy: dict[Piece, None] = {}
    for at, u in placed:
        for slot in sorted(u.reads | u.writes, key=lambda s: s.id):
            piece = pieces.get(slot)
            if piece is None:
                if slot not in read or slot in left_out:
                    continue
                piece = pieces[slot] = Piece(slot.name, slot.type.width, u.position, False)
            piece.first = min(piece.first, -1 if slot in u.unset | intrinsic else at)
            piece.last = max(piece.last, len(stages) if slot in final else at)
            piece.is_whole |= slot in u.whole
            busy.setdefault(piece)
    moves = {move for _, u in placed for move in u.moves if pieces.keys() >= set(move)}
    ordered = sorted(moves, key=lambda move: (move[0].id, move[1].id))
    joined = _joined(list(busy), [(pieces[a], pieces[b]) for a, b in ordered])
    joined = [part for c in joined for part in ([c] if any(cuts(c)) else [[piece] for piece in c])]
    if validity:
        bits = -(-len(validity) // 8) * 8
        joined.append([Piece("validity of headers", bits, gress.states[0].position, True, False, -1, FOREVER)])
    return joined, [h for h in headers if h not in busy]


def _decisions(gress: ir.Gress) -> set[ir.Slot]:
    """Return the results of look-ups: they choose the next table's address, and take no container."""
    return {x for s in walk(gress.control) if isinstance(s, ir.Apply) for x in (s.hit, s.action, s.entry)}


def _joined(pieces: Sequence[Piece], pairs: Iterable[tuple[Piece, Piece]]) -> list[list[Piece]]:
    cluster = {p: [p] for p in pieces}
    for a, b in pairs:
        if a in cluster and b in cluster and cluster[a] is not cluster[b]:
            cluster[a] += cluster[b]
            for p in cluster[b]:
                cluster[p] = cluster[a]
    return [c for p, c in cluster.items() if c[0] is p]


def _headers(gress: ir.Gress) -> Iterator[tuple[ir.Slot, Piece]]:
    """Each header's fields, with the piece of whole bytes that they lie in."""
    seen: set[tuple[ir.Slot, ...]] = set()
    for fields, position in _laid(gress):
        if fields in seen:
            continue
        seen.add(fields)
        run: list[ir.Slot] = []
        for slot in fields:
            run.append(slot)
            bits = sum(x.type.width for x in run)
            if bits % 8 == 0:
                piece = Piece(run[0].name, bits, position, True, False, -1, FOREVER)
                yield from ((x, piece) for x in run)
                run = []


def _laid(gress: ir.Gress) -> Iterator[tuple[tuple[ir.Slot, ...], Position]]:
    """The headers of the packet: those that are extracted, then those that are emitted only."""
    start = gress.states[0].position
    for state in gress.states:
        for s in state.body:
            if isinstance(s, ir.Extract) and s.source != "intrinsic":
                yield s.fields, s.position
    yield from ((s.fields, start) for s in walk(gress.deparser) if isinstance(s, ir.Emit))
