"""Builds candidate graphs: asks every NCA on every device what it takes over, and completes partial and pruning
answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from jumpgate import deadline
from jumpgate.compiler.describe import short
from jumpgate.compiler.mapping.arrange_joins import best_order, run_of
from jumpgate.compiler.mapping.filtered_reads import saved_by_filter
from jumpgate.compiler.mapping.hybrid_reads import hybrid
from jumpgate.compiler.mapping.links import arriving, moved, saved_by_device
from jumpgate.compiler.mapping.text_codes import text_codes
from jumpgate.compiler.plan import Candidate, Mapped, MappedPlan, Plan, Site
from jumpgate.compiler.stores import demands
from jumpgate.compiler.tree import unique
from jumpgate.compiler.work import added, state_bytes, work
from jumpgate.dataflow import located
from jumpgate.dataflow.objective import Objective
from jumpgate.dataflow.operators import Join, Operator
from jumpgate.errors import CannotPlace
from jumpgate.nca.interface import (
    NCA,
    Answer,
    Completeness,
    ComputesWires,
    Device,
    Match,
    Statistics,
    Unsupported,
    Wire,
)
from jumpgate.nca.matching import ask, each, malformed, match_inputs, pruned_leaf
from jumpgate.nca.speeds import Speeds, assumed, seconds_of, unit_seconds


@dataclass(frozen=True)
class Alternative:
    """One way to compute a node and all below it, with its cost so far.

    `below` names the finished fragments below the node's own. `overloaded` counts devices whose estimated memory
    exceeds their capacity, `preferred` the matches of preferred NCAs; `claimed` holds the exclusive claims of matches;
    `seconds` is None without statistics; `sent_bytes` is the traffic of joins between hosts and devices.
    """

    node: Mapped
    below: frozenset[tuple[str, Device, int]]
    fragments: int
    matches: int
    seconds: float | None
    money: float
    overloaded: int
    preferred: int
    claimed: frozenset[tuple[str, str]] = frozenset()
    sent_bytes: float = 0.0

    @property
    def fragment(self) -> tuple[str, Device, int]:
        """Identify the program: fused matches of the same operators are one program, whichever NCA answered for each
        part."""
        site = self.node.site
        return (site.fusion or site.nca, site.devices[0], id(self.node.match.operators[0]))

    @property
    def near(self) -> frozenset[str]:
        """Return which stores its hosts are near, if any."""
        return frozenset(device.near for _, device, _ in (self.fragment, *self.below) if device.near)

    def rank(self, objective: Objective) -> tuple[float, ...]:
        """Return the sort key: among equals, fewer fragments and matches come first."""
        if self.seconds is None:
            return (-self.preferred, self.overloaded, self.fragments, self.matches)
        ranked = objective.rank(self.seconds, self.money)
        return (-self.preferred, self.overloaded, *ranked, self.fragments, self.matches)


def map_operators(plan: Plan) -> MappedPlan:
    """Fill `candidates`, best first, and `refused` (the reasons of NCAs that did not take an operator).

    Raises CannotPlace with every operator that no NCA takes.
    """
    mapper = _Mapper(plan)
    found = [a for a in mapper.alternatives(plan.root.input) if not a.node.match.needs_filter]
    if not found:
        raise mapper.error(plan.root.input)
    found = sorted(map(mapper.delivered, found), key=lambda a: a.rank(plan.options.objective))
    candidates = tuple(
        Candidate(a.node, a.fragments, a.matches, a.seconds, a.money, a.overloaded, a.preferred, a.sent_bytes)
        for a in found
    )
    return MappedPlan(**{**vars(plan), "refused": (*plan.refused, *mapper.refused)}, candidates=candidates)


def device_classes(devices: Iterable[Device]) -> list[tuple[Device, ...]]:
    """Group devices: all hosts form one pool, but for those near a store, which form one with others near it; other
    devices form one if they name the same `pool`. A device at the top of a chain is a class alone, and one with those
    below it, which are none of their own."""
    devices = [*devices]
    chained = [device for device in devices if device.offer.chain]
    below = {top.name: tuple(device for device in chained if device.is_below(top)) for top in chained}
    lower = {device.name for members in below.values() for device in members}
    pools: dict[object, list[Device]] = {}
    for device in devices:
        if device.name in lower:
            continue
        key: object = device.name
        if device.kind == "host":
            key = (device.kind, device.near)
        elif device.pool:
            key = (device.kind, device.pool)
        pools.setdefault(key, []).append(device)
    tops = (top for top in chained if below[top.name] and top.name not in lower)
    return [*map(tuple, pools.values()), *((replace(top, below=below[top.name]),) for top in tops)]


class _Mapper:
    def __init__(self, plan: Plan) -> None:
        self._plan, self.options = plan, plan.options
        self.estimator = plan.estimator
        self.ncas: list[NCA] = list(plan.registry)
        self.nca_by_name = {n.name: n for n in self.ncas}
        self.classes = device_classes(plan.devices)
        self.hosts = self._spread([device for device in plan.devices if device.kind == "host"])
        #: hosts do not all reach the same files
        self.is_split = sum(devices[0].kind == "host" for devices in self.classes) > 1
        self.refused: dict[tuple[str, str], None] = {}
        self._answers: dict[int, list[tuple[str, Unsupported]]] = {}
        self._unmatched: dict[int, Operator] = {}
        #: operators whose runs were arranged or got text codes
        self._in_order: dict[int, Operator] = {}
        self._coded: dict[int, Operator] = {}
        #: and those of hybrid reads, with those of them over files on disks
        self._halved: dict[int, Operator] = {}
        self._on_disk: set[int] = set()
        self._memo: dict[tuple[int, frozenset[str]], tuple[Operator, list[Alternative]]] = {}

    def alternatives(self, node: Operator, excluded: frozenset[str] = frozenset()) -> list[Alternative]:
        """Return the best ways to compute `node`, best first. NCAs in `excluded` have pruned it or done its first
        phase."""
        key = (id(node), excluded)
        if key not in self._memo:
            deadline.check("planned")
            found = list(self._find(node, excluded))
            self._memo[key] = (node, self._best(found))
        return self._memo[key][1]

    def delivered(self, found: Alternative) -> Alternative:
        """Return the alternative with the seconds of the client's rows on the link of hosts near a store."""
        crossing = self._crossing(found.node.site, None, self.estimator.of(found.node).bytes)
        return found if found.seconds is None else replace(found, seconds=found.seconds + crossing)

    def _best(self, found: list[Alternative]) -> list[Alternative]:
        """Return the best alternatives up to the beam: first the best of each kind (site and fusion of the root,
        claims, stores nearby), then others."""
        if len(found) < 2:
            return found
        found.sort(key=lambda a: a.rank(self.options.objective))
        seen: set[object] = set()
        kinds: set[object] = set()
        first: list[Alternative] = []
        rest: list[Alternative] = []
        for a in found:
            program = (a.fragment, a.below)
            if program in seen:
                continue
            seen.add(program)
            kind = (a.fragment, a.claimed, a.near)
            (rest if kind in kinds else first).append(a)
            kinds.add(kind)
        kept = (first + rest)[: self.options.beam]
        kept.sort(key=lambda a: a.rank(self.options.objective))
        return kept

    def _find(self, node: Operator, excluded: frozenset[str]) -> Iterator[Alternative]:
        if isinstance(node, Mapped):  # the remainder of a pruned or partial match: already mapped
            yield from self._memo[(id(node), frozenset())][1]
            return
        matched = False
        for nca in self.ncas:
            if nca.name in excluded:
                continue
            for devices in self.classes:
                for answer in each(self._asked(nca, node, devices[0])):
                    if devices[0].below and not (isinstance(answer, Match) and answer.chains):
                        continue  # it is said of the top alone
                    if isinstance(answer, Unsupported):
                        self._refuse(node, nca, devices[0], answer)
                    elif (
                        no := _beyond_limits(answer, devices[0])
                        or malformed(answer, node)
                        or self._far(answer, devices)
                    ) is not None:
                        self._refuse(node, nca, devices[0], no)
                    elif answer.asked is None or id(node) not in self._on_disk:
                        matched = True
                        yield from self._take(nca, answer, devices, excluded)
        if not excluded:
            for other in (self._arranged(node), self._with_codes(node), self._hybrid(node)):
                if other is not None:
                    yield from self.alternatives(other)
        if not matched:
            self._unmatched[id(node)] = node
            for child in node.inputs:
                self.alternatives(child)

    def _arranged(self, node: Operator) -> Operator | None:
        """Return the joins from `node` down in the order of which a device in the network takes most."""
        if not self._may_travel() or id(node) in self._in_order or not isinstance(node, Join):
            return None
        run = run_of(node)
        sides = () if run is None else (run.leaf, *(step.build for step in run.steps))
        if run is None or any(self.estimator.of(side).rows is None for side in sides):
            return None

        def saved(join: Join) -> float:
            least = 1.0 if self.options.prefer else 0.0  # a preferred NCA also gets joins that save nothing
            return max(least, saved_by_device(join, self.hosts, self.estimator, self.options.broadcast_bytes_max))

        found = best_order(run, self._travels, saved)
        if found is not None:
            self._in_order.update(_new(found, node))
        return found

    def _with_codes(self, node: Operator) -> Operator | None:
        """Return the joins from `node` down with texts as codes, if a device in the network takes one of them that
        way."""
        if not self._may_travel() or id(node) in self._coded or not isinstance(node, Join):
            return None
        run = run_of(node, joins_min=1)
        coded = None if run is None else text_codes(run)
        if coded is None:
            return None
        found = coded.arranged(range(len(coded.steps)))
        new = _new(found, node)
        if not any(isinstance(n, Join) and self._travels(n, 1) for n in new.values()):
            return None
        self._coded.update(new)
        return found

    def _hybrid(self, node: Operator) -> Operator | None:
        """Return `node` over what disks have beside `node` over the rest, if a store would compute it."""
        if id(node) in self._halved or (found := hybrid(node, self.estimator)) is None:
            return None
        hosts = [devices[0] for devices in self.classes if devices[0].kind == "host"]
        answers = (a for nca in self.ncas for host in hosts for a in each(self._asked(nca, node, host)))
        if not any(isinstance(a, Match) and a.asked is not None and not a.needs_filter for a in answers):
            return None
        whole, on_disk = found
        self._halved.update(_new(whole, node))
        self._on_disk |= {id(n) for n in unique(on_disk)}
        return whole

    def _may_travel(self) -> bool:
        """Return whether a device in the network could gain from joins."""
        apart = any(devices[0].kind != "host" for devices in self.classes)
        return apart and (self.hosts > 1 or bool(self.options.prefer))

    def _travels(self, tree: Operator, joins: int) -> bool:
        """Return whether a device in the network takes `joins` joins from `tree` down."""
        apart = [devices[0] for devices in self.classes if devices[0].kind != "host"]
        answers = (a for nca in self.ncas for device in apart for a in each(self._asked(nca, tree, device)))
        return any(
            isinstance(a, Match) and a.wire is not None and a.completeness is Completeness.FULL
            and sum(isinstance(n, Join) for n in a.operators) == joins
            for a in answers
        )  # fmt: skip

    def _asked(self, nca: NCA, node: Operator, device: Device) -> Answer:
        return ask(nca.operators, node, device, self.options.dialect, self.estimator)

    def _refuse(self, node: Operator, nca: NCA, device: Device, answer: Unsupported) -> None:
        self._answers.setdefault(id(node), []).append((f"'{nca.name}' on {device.name}", answer))
        self.refused[(short(node), f"'{nca.name}' on {device.name}: {answer.reason}")] = None

    def _take(
        self, nca: NCA, match: Match, devices: tuple[Device, ...], excluded: frozenset[str]
    ) -> Iterator[Alternative]:
        leaves = match_inputs(match)
        near = f"near {devices[0].near}" if devices[0].near else ""
        first = ", ".join(device.name for device in devices[0].below)
        note = ", ".join(filter(None, (near, first and f"after {first}", "" if match.fusion else match.note)))
        site = Site(nca.name, devices, match.fusion, 1, match.settings, note, match.asked)
        statistics = tuple(self.estimator.of(leaf) for leaf in leaves)
        if (no := _too_large(match, statistics)) is not None:
            self._refuse(match.operators[0], nca, devices[0], no)
            return
        speeds = nca.operators.speeds(devices[0]).of(self.options.speeds)
        seconds, sent = self._seconds(match, leaves, speeds, devices[0]), 0.0
        hosts = self._spread(devices) if devices[0].kind == "host" else self.hosts
        if hosts > 1 and (match.wire is not None or (match.fusion and devices[0].kind == "host")):
            links = moved(match, hosts, self.estimator, self.options.broadcast_bytes_max)
            sent = float(links.sent)
            if seconds is not None:
                seconds += float(links.busiest) * unit_seconds("link", {**assumed(), **self.options.speeds})
        charged = 0.0
        for asked, link in demands(match.operators, match.asked, self.estimator, self.options.link, devices[0]):
            seconds = None if seconds is None else seconds + asked.seconds(link)
            charged += asked.money(link)
        hourly = sum(device.offer.money_per_hour for device in devices[0].chain)
        charged += hourly * (speeds.setup_s + (seconds or 0.0)) / 3600
        speeds = replace(speeds, money=speeds.money + charged)
        for below in itertools.product(*(self.alternatives(leaf) for leaf in leaves)):
            box = Mapped(match, site, tuple(a.node for a in below), leaves)
            taken = self._combine(nca, box, below, speeds, seconds, sent)
            if taken is None:
                continue
            if match.completeness is Completeness.FULL:
                yield taken
                continue
            self._memo[(id(box), frozenset())] = (box, [taken])
            yield from self.alternatives(_remainder(match, box), excluded | {nca.name})

    def _combine(
        self, nca: NCA, box: Mapped, below: tuple[Alternative, ...], speeds: Speeds, seconds: float | None, sent: float
    ) -> Alternative | None:
        fragments, matches, money, overloaded = 1, 1, speeds.money, 0
        preferred = int(nca.name in self.options.prefer)
        alone = True
        finished: set[tuple[str, Device, int]] = set()
        claimed = {(device.name, claim) for device in box.site.devices[0].chain for claim in box.match.claims}
        below = _as_sent(box.match, below)
        leaves = box.leaves if box.match.wire is None else (box.leaves[w.leaf] for w in box.match.wire.inputs)
        for leaf, a in zip(leaves, below, strict=True):
            if taken := claimed & a.claimed:
                used = ", ".join(sorted(claim for _, claim in taken))
                no = Unsupported(f"another part of the request uses its {used}", "claimed", "Add another device.")
                self._refuse(box.match.operators[0], nca, box.site.devices[0], no)
                return None
            claimed |= a.claimed
            finished |= a.below
            fragments += a.fragments
            matches += a.matches
            money += a.money
            overloaded += a.overloaded
            preferred += a.preferred
            sent += a.sent_bytes
            edge = 0.0
            if fused(box, a.node):
                fragments -= 1
                alone = False
            else:
                refusal = self._edge_refused(nca, box, a.node)
                if refusal is not None:
                    self._refuse(box.match.operators[0], nca, box.site.devices[0], refusal)
                    return None
                finished.add(a.fragment)
                if box.match.wire is None:
                    bytes = self.estimator.of(a.node).bytes
                    edge = self._edge_seconds(bytes) + self._crossing(a.node.site, box.site, bytes)
            saved = saved_by_filter(self._plan, box, leaf, a.node)
            if saved is None and a.node.match.needs_filter:
                return None
            saved_s, saved_money = saved or (0.0, 0.0)
            money -= saved_money
            seconds = None if seconds is None or a.seconds is None else seconds + a.seconds + edge - saved_s
        if box.match.wire is not None and seconds is not None:
            seconds += self._edge_seconds(arriving(box.match, box.match.wire, self.hosts, self.estimator))
        if alone and seconds is not None:
            seconds += speeds.setup_s + speeds.seconds["start"]
        memory = box.site.devices[0].memory_bytes
        held = sum(state_bytes(node, self.estimator) for node in box.match.operators)
        if memory and held > memory * len(box.site.devices):
            overloaded += 1
        return Alternative(
            box,
            frozenset(finished),
            fragments,
            matches,
            seconds,
            money,
            overloaded,
            preferred,
            frozenset(claimed),
            sent,
        )

    def _edge_refused(self, consumer: NCA, box: Mapped, producer: Mapped) -> Unsupported | None:
        if box.match.wire is not None:
            return self._wire_refused(producer, box.match.wire, "send")
        if producer.match.wire is not None:
            return self._wire_refused(box, producer.match.wire, "make rows of what comes")
        descriptor, transport = self.nca_by_name[producer.match.nca].operators.match_output(producer.match, 1)
        return consumer.operators.match_input(descriptor, transport)

    def _wire_refused(self, end: Mapped, wire: Wire, verb: str) -> Unsupported | None:
        """Return why `end` cannot be the other end of a device's wire, where its expressions are computed."""
        operators = self.nca_by_name[end.match.nca].operators
        channels = operators.wire_channels if isinstance(operators, ComputesWires) else ()
        if end.match.wire is None and wire.transport.channel in channels:
            return None
        no = f"{end.match.nca} does not {verb} over {wire.transport.name}"
        return Unsupported(no, "transport", "Add a software host.")

    def _edge_seconds(self, bytes: float | None) -> float:
        """Return the seconds that rows of this many bytes take to reach other instances."""
        return 0.0 if bytes is None else seconds_of({"send": bytes}, {**assumed(), **self.options.speeds})

    def _crossing(self, sender: Site, receiver: Site | None, bytes: float | None) -> float:
        """Return the seconds of the link between hosts near a store and others, or the client (None)."""
        ends = (sender, *(() if receiver is None else (receiver,)))
        near = {site.devices[0].near for site in ends if site.devices[0].kind == "host"}
        if bytes is None or not any(near) or (receiver is not None and len(near) < 2):
            return 0.0
        pool = min((s.devices for s in ends if s.devices[0].near), key=len)
        assumed_s = unit_seconds("link", {**assumed(), **self.options.speeds})
        return bytes / len(pool) * (8 / pool[0].link_bits_per_s if pool[0].link_bits_per_s else assumed_s)

    def _spread(self, hosts: Sequence[Device]) -> int:
        return min(len(hosts), self.options.parallelism or len(hosts))

    def _far(self, match: Match, devices: tuple[Device, ...]) -> Unsupported | None:
        """Return why these hosts do not read what the match reads: hosts near a store have its objects, and each has
        its own files; the others have all else."""
        if not self.is_split or devices[0].kind != "host":
            return None
        names = {device.name for device in devices}
        for node in match.operators:
            files = self.estimator.files_of(node)
            owners = located.hosts(files).keys() - {""}
            if owners and not owners <= names:
                return Unsupported("it is for the hosts that have the files", "place")
            if not owners and devices[0].near and not all(map(devices[0].is_near, files)):
                return Unsupported(f"it is near {devices[0].near}, and reads nothing else", "place")
        return None

    def _seconds(self, match: Match, leaves: tuple[Operator, ...], speeds: Speeds, device: Device) -> float | None:
        """Return the seconds that the device takes for the match's own operators and the bytes that reach it."""
        parts = [work(node, self.estimator) for node in match.operators]
        bytes = [self.estimator.of(leaf).bytes for leaf in leaves]
        known = [p for p in parts if p is not None]
        if len(known) < len(parts) or None in bytes:
            return None
        reach = sum(b for b in bytes if b is not None)
        if match.wire is not None:
            reach = arriving(match, match.wire, self.hosts, self.estimator)
        return reach * speeds.receive_s + seconds_of(added(known), speeds.seconds, device.cores)

    def error(self, root: Operator) -> CannotPlace:
        """Build the error: every operator that no NCA takes, each NCA's reason, and the way out."""
        problems: list[str] = []
        for node in unique(root):
            if id(node) not in self._unmatched:
                continue
            answers = self._answers.get(id(node), [])
            said = "; ".join(f"{who}: {a.reason}" for who, a in answers)
            remedies = list(dict.fromkeys(a.remedy for _, a in answers if a.remedy))
            way_out = " ".join(remedies) or "Add an accelerator that does, or leave this operator to the client."
            nobody = f"no accelerator ({', '.join(self.nca_by_name) or 'there is none'}) offers {node.kind}"
            problems.append(f"cannot place {short(node)}: {said or nobody}. {way_out}")
        if not problems:
            edges = "; ".join(f"{what}: {why}" for what, why in self.refused)
            problems.append(f"cannot place {short(root)}: no two NCAs agree on an edge ({edges}). Add a software host.")
        return CannotPlace("\n".join(problems), operators=len(problems))


def _new(tree: Operator, old: Operator) -> dict[int, Operator]:
    """Return the operators of `tree` that `old` does not have."""
    known = {id(n) for n in unique(old)}
    return {id(n): n for n in unique(tree) if id(n) not in known}


def _as_sent(match: Match, below: tuple[Alternative, ...]) -> tuple[Alternative, ...]:
    """Return the inputs as often as they are computed: a device may be sent the rows of one twice."""
    return below if match.wire is None else tuple(below[w.leaf] for w in match.wire.inputs)


def fused(consumer: Mapped, producer: Operator) -> bool:
    """Return whether both become one instance: the same non-empty fusion domain on the same devices."""
    return (
        isinstance(producer, Mapped)
        and consumer.site.fusion != ""
        and consumer.site.fusion == producer.site.fusion
        and consumer.site.devices == producer.site.devices
    )


def _beyond_limits(match: Match, device: Device) -> Unsupported | None:
    """Return which limit or claim of the match the device does not satisfy, or None."""
    for name, need in match.limits:
        if need > (has := device.capacity(name)):
            return Unsupported(f"needs {name} {need:g}, '{device.name}' has {has:g}", "limit")
    offered = device.offer.claims
    for claim in match.claims if offered is not None else ():
        if claim not in (offered or ()):
            return Unsupported(f"needs its {claim}, which '{device.name}' does not have", "claim")
    return None


def _remainder(match: Match, box: Mapped) -> Operator:
    """Return the operators that still run above a partial or pruning match."""
    root = match.operators[0]
    if match.completeness is Completeness.PARTIAL:
        return root.final_phase(box)
    leaf = pruned_leaf(match.operators)

    def rebuild(node: Operator) -> Operator:
        if node is leaf:
            return box
        return node.with_inputs((rebuild(node.inputs[0]), *node.inputs[1:]))

    return rebuild(root)


def _too_large(match: Match, inputs: Sequence[Statistics]) -> Unsupported | None:
    """Return the reason if more is expected of an input than the match is for."""
    for unit, most in (("rows", match.rows_max), ("bytes", match.bytes_max)):
        limits = most if isinstance(most, tuple) else (most,) * len(inputs)
        for statistics, limit in zip(inputs, limits, strict=True):
            expected = statistics.rows if unit == "rows" else statistics.bytes
            if expected is not None and expected > limit:
                return Unsupported(f"it is for {limit:.3g} {unit}; {expected:.3g} are expected", unit)
    return None
