"""Explains a plan and the reasons for it, as data (JSON) and as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jumpgate.compiler.describe import tree
from jumpgate.compiler.physical.figures import measured
from jumpgate.compiler.plan import Candidate, PhysicalPlan
from jumpgate.dataflow.operators import Read, numbered
from jumpgate.nca.interface import Edge, Figures, InstancePlan, JobFigures
from jumpgate.ntf.crossed import Crossed, crossed
from jumpgate.words import counted

#: a plan's line that refers to an operator printed before
AGAIN = re.compile(r" *@[0-9]+ again")
#: an instance that receives this many times the mean is reported as skewed
SKEWED = 1.5
#: the most links that explain lists
LINKS_SHOWN = 12
#: directions of the link of a network
WAYS = ("up", "down")


def explain_data(plan: PhysicalPlan) -> dict[str, Any]:
    """Return the chosen NCAs, instances, edges, stages, expected figures of each operator, losing candidates and
    refusals, and the plan after each pass if it was traced."""
    best, found = plan.candidates[0], plan.figures
    fragments: dict[str, dict[str, Any]] = {}
    for i in plan.instances:
        if i.fragment not in fragments:
            fragments[i.fragment] = {
                "nca": i.nca,
                "stage": i.stage,
                "input_stages": dict(zip(i.inputs, i.input_stages, strict=True)),
                "threads": i.threads,
                "note": i.note,
                "asked": _asked(found, i.fragment),
                "read_rows": _read_rows(i, found),
                "on_disk": sorted(i.joins_on_disk),
                "kept_rows": sorted(i.kept_rows),
                "instances": [],
                "plan": tree(i.root),
                "operators": [_expected(found.operators.get((i.fragment, n))) for n in range(len(numbered(i.root)))],
            }
        fragments[i.fragment]["instances"].append({"id": i.id, "device": i.device.name})
    return {
        "stages": plan.stages,
        "ncas": sorted({i.nca for i in plan.instances}),
        "fragments": fragments,
        "edges": edges_data(plan.edges, found),
        "networks": {name: dict(zip(WAYS, map(_rounded, ways), strict=True)) for name, ways in found.networks.items()},
        "above": {d.name: [link.name for link in d.above] for i in plan.instances for d in i.device.chain if d.above},
        "below": {i.device.name: [d.name for d in i.device.below] for i in plan.instances if i.device.below},
        "cost": _cost(best),
        "seconds": found.seconds,
        "lost": [{"graph": tree(c.root), "cost": _cost(c), "why": _why(best, c)} for c in plan.candidates[1:]],
        "refused": [{"operator": operator, "answer": answer} for operator, answer in plan.refused],
        "passes": list(plan.trace),
    }


def _rounded(bytes: float) -> float:
    return float(f"{bytes:.4g}")


def edges_data(edges: Iterable[Edge], found: JobFigures) -> list[dict[str, Any]]:
    """Return the edges of `explain_data`."""
    return [
        {
            "id": e.id,
            "from": list(e.producers),
            "to": list(e.consumers or e.endpoints) or ["client"],
            "partitioning": str(e.partitioning),
            "layout": e.ntf.layout,
            "transport": e.transport.name,
            "fingerprint": e.ntf.fingerprint(),
            "filter": e.filter,
            "crossing": _rounded(found.crossing.get(e.id, 0.0)),
        }
        for e in edges
    ]


def _read_rows(instance: InstancePlan, found: JobFigures) -> float | None:
    """Return the rows that all instances of the fragment are expected to read from files, or None if unknown."""
    places = (n for n, node in enumerate(numbered(instance.root)) if isinstance(node, Read))
    reads = [found.operators.get((instance.fragment, n)) for n in places]
    return None if None in reads else sum((read.rows for read in reads if read), 0.0)


def _asked(found: JobFigures, fragment: str) -> dict[str, float]:
    """Return what the fragment is expected to ask of stores; empty if nothing."""
    if fragment not in found.asked:
        return {}
    asked, cost = found.asked[fragment]
    figures = {"requests": asked.requests, "scanned_bytes": asked.scanned_bytes, "returned_bytes": asked.returned_bytes}
    if asked.segments:
        figures |= {"segments": asked.segments, "kept_segments": asked.kept_segments}
    return {name: float(f"{value:.4g}") for name, value in {**figures, "cost": cost}.items()}


def _of_stores(fragment: dict[str, Any], counters: Mapping[str, Any] | None) -> list[str]:
    """Format what a fragment asks of stores, and what it did ask where its instances count that."""
    if not (expected := fragment.get("asked")):
        return []
    text = "asks stores: " + _demand(expected)
    found = [c["asked"] for i in fragment["instances"] if (c := (counters or {}).get(i["id"], {})).get("asked")]
    if found:
        text += "; was " + _demand({name: sum(f[name] for f in found) for name in found[0]})
    return [text]


def _demand(figures: Mapping[str, float]) -> str:
    scanned = f"{size(figures['scanned_bytes'])} scanned, " if figures["scanned_bytes"] else ""
    cost = f", cost {figures['cost']:.3g}" if figures.get("cost") else ""
    cached = f", {size(figures['cached_bytes'])} from the disk" if figures.get("cached_bytes") else ""
    requests = counted(count(figures["requests"]), "request")
    segments = ""
    if all_ := figures.get("segments"):
        kept, of = count(figures["kept_segments"]), counted(count(all_), "segment")
        segments = f", {of} there" if scanned else f", {kept} of {of} on the disk"
    return f"{requests}, {scanned}{size(figures['returned_bytes'])} returned{cached}{segments}{cost}"


def _expected(figures: Figures | None) -> dict[str, float]:
    """Return one operator's expected figures; empty if too little is known."""
    if figures is None:
        return {}
    return {
        "rows": float(f"{figures.rows:.4g}"),
        "bytes": float(f"{figures.bytes:.4g}"),
        "doubt": float(f"{figures.doubt:.2g}"),
        "seconds": float(f"{figures.seconds:.3g}"),
    }


def _cost(candidate: Candidate) -> dict[str, Any]:
    return {
        "seconds": candidate.seconds,
        "money": candidate.money,
        "fragments": candidate.fragments,
        "matches": candidate.matches,
        "overloaded": candidate.overloaded,
        "sent_bytes": candidate.sent_bytes,
    }


def _why(best: Candidate, other: Candidate) -> str:
    """Say in one clause why `other` lost."""
    if other.preferred < best.preferred:
        return "uses less of what is preferred"
    if other.overloaded > best.overloaded:
        return "is estimated to need more memory than a device has"
    if best.seconds is not None and other.seconds is not None and other.seconds > best.seconds:
        return f"is estimated at {_seconds(other.seconds)}, the chosen one at {_seconds(best.seconds)}"
    if other.money > best.money:
        return f"costs {other.money:g}, the chosen one {best.money:g}"
    if other.fragments > best.fragments:
        return f"has {counted(other.fragments, 'fragment')}, the chosen one {best.fragments}"
    return f"takes {counted(other.matches, 'match')}, the chosen one {best.matches}"


def _with_figures(fragment: dict[str, Any], were: dict[int, dict[str, float]]) -> list[str]:
    """Return the lines of a fragment's plan with the expected and the measured figures of each operator."""
    lines, number = [], 0
    for line in fragment["plan"]:
        if AGAIN.fullmatch(line):
            lines.append(line)
            continue
        expected = fragment["operators"][number]
        notes = [_noted(expected)] if expected else []
        if number in fragment["on_disk"]:
            notes.append("may go to disk")
        if number in fragment["kept_rows"]:
            notes.append("keeps its rows")
        if number in were:
            notes.append(f"was {_was(were[number])}")
        lines.append(f"{line}  [{'; '.join(notes)}]" if notes else line)
        number += 1
    return lines


def _noted(expected: dict[str, float]) -> str:
    """Format expected figures: `~1.2 k rows (×/÷ 1.3), 14.4 kB, 3.1 ms`. Exact row counts have no sign and no
    factor."""
    sure = expected["doubt"] <= 1.0
    rows = counted(count(expected["rows"]), "row")
    if not sure:
        rows = f"~{rows} (×/÷ {expected['doubt']:g})"
    return f"{rows}, {size(expected['bytes'])}, {_seconds(expected['seconds'])}"


def _travelled(edge: dict[str, Any], counters: Mapping[str, Any]) -> str:
    """Format an edge's measured traffic: `; was 1.2 M rows, 34 MB, 2.5 times the mean to f1.2`. The last part appears
    only if an instance received far more than the others."""
    sent = [s for i in edge["from"] for s in counters.get(i, {}).get("sinks", ()) if s["edge"] == edge["id"]]
    if not sent:
        return ""
    rows, bytes = (sum(s[name] for s in sent) for name in ("rows", "bytes"))
    text = f"; was {counted(count(rows), 'row')}, {size(bytes)}"
    came = {
        i: sum(s["rows"] for s in counters.get(i, {}).get("sources", ()) if s["name"] == edge["id"]) for i in edge["to"]
    }
    most = max(came, key=lambda i: came[i])
    skew = came[most] * len(came) / max(1, sum(came.values()))
    return text + (f", {skew:.3g} times the mean to {most}" if skew >= SKEWED else "")


def links(data: Mapping[str, Any], counters: Mapping[str, Any]) -> Crossed:
    """Return the bytes that crossed links while the job of `explain_data` ran."""
    host_of = {i["id"]: i["device"] for f in data["fragments"].values() for i in f["instances"]}
    edges = (
        (e["id"], e["from"], [i for i in e["to"] if i in host_of], e["partitioning"].startswith("paired"))
        for e in data["edges"]
    )
    return crossed(edges, host_of, counters, data.get("above", {}), data.get("below", {}))


def _networks(data: Mapping[str, Any], found: Crossed | None) -> list[str]:
    """Format `network rack1: ~12 MB up, ~3 MB down; was 11 MB up, 3 MB down`."""
    lines = []
    for name in sorted({*data.get("networks", ()), *(found.networks if found else ())}):
        expected = data.get("networks", {}).get(name, dict.fromkeys(WAYS, 0.0))
        line = f"network {name}: " + ", ".join(f"~{size(expected[way])} {way}" for way in WAYS)
        if found is not None:
            was = zip(WAYS, found.networks.get(name, (0, 0)), strict=True)
            line += "; was " + ", ".join(f"{size(bytes)} {way}" for way, bytes in was)
        lines.append(line)
    return lines


def _links(found: Crossed) -> list[str]:
    """Format `host a: sent 12 MB, received 34 MB` and the busiest links; nothing for a single host."""
    if len(found.hosts) < 2:
        return []
    lines = [f"host {h.host}: sent {size(h.sent)}, received {size(h.received)}" for h in found.hosts]
    shown = [*found.links.items()][:LINKS_SHOWN]
    more = f"; {counted(len(found.links) - len(shown), 'more link')}" if len(shown) < len(found.links) else ""
    if shown:
        lines.append("links: " + ", ".join(f"{a} → {b} {size(bytes)}" for (a, b), bytes in shown) + more)
    if found.skew >= SKEWED:
        most = max(found.hosts, key=lambda h: h.received)
        lines.append(f"skew: {most.host} received {found.skew:.3g} times the mean of the hosts")
    return lines


def _shares(fragment: dict[str, Any], counters: Mapping[str, Any]) -> list[str]:
    """List each scan that siblings shared: `parts of sales.parquet: f0.0 read 14, 4 of them taken over; f0.1 read
    10`."""
    read: dict[int, list[tuple[str, dict[str, Any]]]] = {}
    for i in fragment["instances"]:
        for source in counters.get(i["id"], {}).get("sources", ()):
            if source.get("shares"):
                read.setdefault(source["id"], []).append((i["id"], source))
    lines = []
    for readers in read.values():
        if len(fragment["instances"]) == 1:
            continue
        texts = [
            f"{id} read {s['shares']}" + f", {s['stolen_shares']} of them taken over" * (s["stolen_shares"] > 0)
            for id, s in readers
        ]
        lines.append(f"parts of {readers[0][1]['name']}: {'; '.join(texts)}")
    return lines


def _was(measured: dict[str, float]) -> str:
    parts = [counted(count(measured["rows"]), "row")] if "rows" in measured else []
    if "seconds" in measured:
        parts.append(f"{_seconds(measured['seconds'])} of a core for the passes that end here")
    return ", ".join(parts)


def count(value: float) -> str:
    """Format a number of rows in three digits: 12, 1.23 k, 45.6 M."""
    for unit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def size(value: float) -> str:
    """Format bytes in three digits."""
    return f"{count(value)}B" if value >= 1e3 else f"{value:.3g} B"


def _seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def _sent(cost: Mapping[str, Any]) -> str:
    """Format the bytes that a candidate's joins send over the network."""
    return f"; {size(cost['sent_bytes'])} between hosts and devices" if cost["sent_bytes"] else ""


def _kind(edge: Mapping[str, Any]) -> str:
    of = edge.get("filter")
    return "edge" if not of else "Bloom filter edge" if of == "bloom" else "filter edge"


def explain_text(data: dict[str, Any], verbose: bool = False, counters: Mapping[str, Any] | None = None) -> str:
    """Format the result of `explain_data`. `verbose` adds every pass; `counters` of the finished job add measured
    figures."""
    lines: list[str] = []
    if verbose:
        for step in data["passes"]:
            lines.append(f"-- after {step['pass']}" + (": unchanged" if not step["plan"] else ""))
            lines += step["plan"]
        lines.append("")
    for name, f in data["fragments"].items():
        where = ", ".join(f"{i['id']} on {i['device']}" for i in f["instances"])
        stage = f"stage {f['stage']} of {data['stages']}"
        lines.append(f"fragment {name}: {f['nca']}, {stage}, {counted(f['threads'], 'thread')}: {where}")
        lines += [f"  {note}" for note in (f["note"],) if note]
        lines += [f"  {line}" for line in _with_figures(f, {} if counters is None else measured(counters, name))]
        lines += [f"  {line}" for line in _shares(f, counters or {})]
        lines += [f"  {line}" for line in _of_stores(f, counters)]
    for e in data["edges"]:
        lines.append(
            f"{_kind(e)} {e['id']}: {', '.join(e['from'])} → {', '.join(e['to'])}; "
            f"{e['partitioning']}; {e['layout']} over {e['transport']}"
            + (f"; ~{size(e['crossing'])} over links" if e.get("crossing") else "")
            + ("" if counters is None else _travelled(e, counters))
        )
    found = None if counters is None else links(data, counters)
    lines += _networks(data, found)
    if found is not None:
        lines += _links(found)
    cost = data["cost"]
    estimate = (
        "no statistics: fewest fragments" if cost["seconds"] is None else f"estimated {_seconds(cost['seconds'])}"
    )
    if cost["money"]:
        estimate += f", cost {cost['money']:.3g}"
    if data["seconds"] is not None:
        estimate += f", the whole job {_seconds(data['seconds'])}"
    lines.append(
        f"chosen: {counted(cost['fragments'], 'fragment')}, {counted(cost['matches'], 'match')}; {estimate}"
        + _sent(cost)
    )
    if data.get("first_run"):
        lines.append(f"first run: {data['first_run']}")
    for lost in data["lost"]:
        lines.append(f"lost: {lost['why']}" + _sent(lost["cost"]))
        lines += [f"  {line}" for line in lost["graph"]]
    for r in data["refused"]:
        lines.append(f"refused {r['operator']}: {r['answer']}")
    return "\n".join(lines) + "\n"
