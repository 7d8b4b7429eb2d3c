"""The evaluation as numbers, with what the paper has published of them, and as one page without scripts or links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jumpgate import words
from jumpgate.study.paper.experiments import PARTS, PLACES, Measured, Throughput
from jumpgate.study.report import template

#: of the paper: how much of store_sales by item is left behind the switch, and bits a second with a datagram a call
PUBLISHED_LEFT, PUBLISHED_SWITCH_BITS_S = 0.0229, 0.288e9
#: colours of the parts of a query, as the template has classes
COLOURS = (*PARTS, "execute", "end")


@dataclass(frozen=True)
class Claim:
    """What the paper says, its value (None: not at hand), what was measured here, and whether that bears it out."""

    text: str
    published: str | None
    measured: str
    holds: bool


@dataclass(frozen=True)
class Bar:
    """A row of a picture; parts: (title, share of the width, number of the colour)."""

    label: str
    value: str
    parts: tuple[tuple[str, float, int], ...]


def claims(m: Measured) -> list[Claim]:
    """Those of the evaluation that the measurements can bear out, or not."""
    slow, left = m.placed[0], m.reductions[0].share
    switch = next(t for t in m.throughputs if "switch" in t.what).bytes_s * 8
    warm = [p for p in m.phases if p.run == "warm"]
    set_up = max(p.set_up / p.total for p in warm)
    return [
        Claim(
            "Aggregation in the switch leaves a fraction of store_sales by item",
            f"{PUBLISHED_LEFT:.2%}",
            f"{left:.2%}",
            left <= PUBLISHED_LEFT,
        ),
        Claim(
            "The switch adds up what arrives at a rate (published: with one small datagram a call)",
            _rate(PUBLISHED_SWITCH_BITS_S / 8),
            _rate(switch / 8),
            switch >= PUBLISHED_SWITCH_BITS_S,
        ),
        Claim(
            "A query whose programs are compiled spends less on its set-up than on the rest",
            None,
            f"{set_up:.0%} at most of {len(warm)} queries",
            set_up < 0.5,
        ),
        Claim(
            f"Hosts that add up near their data are faster than a client that does ({slow.link})",
            None,
            f"{slow.seconds['client'] / slow.seconds['hosts']:.2f}×",
            slow.seconds["hosts"] < slow.seconds["client"],
        ),
        Claim(
            f"The switch is faster than a client that adds up ({slow.link})",
            None,
            f"{slow.seconds['client'] / slow.seconds['switch']:.2f}×",
            slow.seconds["switch"] < slow.seconds["client"],
        ),
        Claim(
            f"The switch is faster than hosts that add up ({slow.link})",
            None,
            f"{slow.seconds['hosts'] / slow.seconds['switch']:.2f}×",
            slow.seconds["switch"] < slow.seconds["hosts"],
        ),
    ]


def data(m: Measured) -> dict[str, Any]:
    """All of it for programs."""
    return {
        **asdict(m),
        "left": {r.link: r.share for r in m.reductions},
        "claims": [asdict(claim) for claim in claims(m)],
    }


def html(m: Measured) -> str:
    """All text is escaped."""
    longest = max(p.total for p in m.phases)
    phases = [
        Bar(
            f"{p.query}, {p.run}",
            words.duration(p.total),
            tuple((f"{k}: {words.duration(s)}", s / longest, COLOURS.index(k)) for k, s in p.seconds.items()),
        )
        for p in m.phases
    ]
    slowest = max(s for p in m.placed for s in p.seconds.values())
    placed = [
        (p.link, [
            Bar(
                place,
                f"{words.duration(p.seconds[place])}, {words.size(p.moved[place])} moved",
                ((place, p.seconds[place] / slowest, colour),),
            )
            for colour, place in enumerate(PLACES)
        ])
        for p in m.placed
    ]  # fmt: skip
    reductions = [
        (r, [
            Bar("to the switch", words.size(r.sent), (("to the switch", 1.0, 0),)),
            Bar("from the switch", f"{words.size(r.left)}, {r.share:.2%}", (("from the switch", r.share, 1),)),
        ])
        for r in m.reductions
    ]  # fmt: skip
    return template("paper.html.j2").render(
        m=m, claims=claims(m), phases=phases, parts=COLOURS, placed=placed, reductions=reductions,
        speeds=_bars(m.throughputs, lambda t: t.bytes_s, _rate),
        rows=_bars(m.throughputs, lambda t: t.rows_s, lambda rows: f"{rows / 1e6:.2f} million rows/s"),
    )  # fmt: skip


def _rate(bytes_s: float) -> str:
    return f"{words.size(bytes_s)}/s ({bytes_s * 8 / 1e9:.3f} Gbit/s)"


def _bars(
    throughputs: Sequence[Throughput], value: Callable[[Throughput], float], text: Callable[[float], str]
) -> list[Bar]:
    most = max(map(value, throughputs))
    return [Bar(t.what, text(value(t)), ((t.what, value(t) / most, 0),)) for t in throughputs]
