"""Why the plan is what it is, as data (JSON) and as text."""

from __future__ import annotations

from typing import Any

from jumpgate.compiler.describe import partitioning, tree
from jumpgate.compiler.plan import Candidate, Mapped, Plan
from jumpgate.compiler.tree import unique


def explain_data(plan: Plan, trace: list[dict[str, Any]]) -> dict[str, Any]:
    """Chosen NCAs, instances, edges, stages, losing candidates, refusals; `trace` holds the plan after each pass."""
    best = plan.chosen
    assert best is not None
    notes = {b.site.nca: b.match.note for b in unique(best.root) if isinstance(b, Mapped) and not b.site.fusion}
    fragments: dict[str, dict[str, Any]] = {}
    for i in plan.instances:
        entry = fragments.setdefault(
            i.fragment,
            {
                "nca": i.nca,
                "stage": i.stage,
                "input_stages": dict(zip(i.inputs, i.input_stages, strict=True)),
                "threads": i.threads,
                "note": notes.get(i.nca, ""),
                "instances": [],
                "plan": tree(i.root),
            },
        )
        entry["instances"].append({"id": i.id, "device": i.device.name})
    return {
        "stages": plan.stages,
        "ncas": sorted({box.match.nca for box in unique(best.root) if isinstance(box, Mapped)}),
        "fragments": fragments,
        "edges": [
            {
                "id": e.id,
                "from": list(e.producers),
                "to": list(e.consumers or e.endpoints) or ["client"],
                "partitioning": partitioning(e.partitioning),
                "layout": e.ntf.layout,
                "transport": e.transport.name,
                "fingerprint": e.ntf.fingerprint(),
            }
            for e in plan.edges
        ],
        "cost": _cost(best),
        "lost": [{"graph": tree(c.root), "cost": _cost(c), "why": _why(best, c)} for c in plan.candidates[1:]],
        "refused": [{"operator": operator, "answer": answer} for operator, answer in plan.refused],
        "passes": trace,
    }


def _cost(candidate: Candidate) -> dict[str, Any]:
    return {
        "seconds": candidate.seconds,
        "money": candidate.money,
        "fragments": candidate.fragments,
        "matches": candidate.matches,
        "overloaded": candidate.overloaded,
    }


def _why(best: Candidate, other: Candidate) -> str:
    """In one clause, by what `other` lost."""
    if other.preferred < best.preferred:
        return "uses less of what is preferred"
    if other.overloaded > best.overloaded:
        return "is estimated to need more memory than a device has"
    if best.seconds is not None and other.seconds is not None and other.seconds > best.seconds:
        return f"is estimated at {_seconds(other.seconds)}, the chosen one at {_seconds(best.seconds)}"
    if other.money > best.money:
        return f"costs {other.money:g}, the chosen one {best.money:g}"
    if other.fragments > best.fragments:
        return f"has {other.fragments} nodes, the chosen one {best.fragments}"
    return f"takes {other.matches} matches, the chosen one {best.matches}"


def _seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def explain_text(data: dict[str, Any], verbose: bool = False) -> str:
    """What `explain_data` gave, to be read; `verbose` adds every pass."""
    lines: list[str] = []
    if verbose:
        for step in data["passes"]:
            lines.append(f"-- after {step['pass']}" + (": unchanged" if not step["plan"] else ""))
            lines += step["plan"]
        lines.append("")
    for name, f in data["fragments"].items():
        where = ", ".join(f"{i['id']} on {i['device']}" for i in f["instances"])
        stage = f"stage {f['stage']} of {data['stages']}"
        lines.append(f"fragment {name}: {f['nca']}, {stage}, {f['threads']} threads: {where}")
        lines += [f"  {line}" for line in (*filter(None, [f["note"]]), *f["plan"])]
    for e in data["edges"]:
        lines.append(
            f"edge {e['id']}: {', '.join(e['from'])} → {', '.join(e['to'])}; {e['partitioning']}; "
            f"{e['layout']} over {e['transport']}"
        )
    cost = data["cost"]
    estimate = "no statistics: fewest nodes" if cost["seconds"] is None else f"estimated {_seconds(cost['seconds'])}"
    lines.append(f"chosen: {cost['fragments']} nodes, {cost['matches']} matches; {estimate}")
    for lost in data["lost"]:
        lines.append(f"lost: {lost['why']}")
        lines += [f"  {line}" for line in lost["graph"]]
    for r in data["refused"]:
        lines.append(f"refused {r['operator']}: {r['answer']}")
    return "\n".join(lines) + "\n"
