"""The evaluation as numbers, with what the paper has published of them, and as one page without scripts or links."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jumpgate import words
from jumpgate.study.paper.experiments import PARTS, PLACES, Measured, Phases, Throughput
from jumpgate.study.report import template

#: published figures: the fraction of store_sales by item that is left behind the switch, and bits a second with a
#: datagram a call
PUBLISHED_LEFT, PUBLISHED_SWITCH_BITS_S = 0.0229, 0.288e9
#: colours of the parts of a query, as the template has classes
COLOURS = (*PARTS, "execute", "end")
#: the number of the colour of published figures
PUBLISHED = 4
_PUBLISHED_SWITCH = Throughput("published, of the switch", PUBLISHED_SWITCH_BITS_S / 8, 0.0)


@dataclass(frozen=True)
class Claim:
    """A statement on what is measured, the paper's value (None: not given), the one here, and whether it holds."""

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
    """Return the claims about the chosen figures."""
    return [*_of_the_switch(m), *_of_phases(m), *_of_places(m)]


def _of_the_switch(m: Measured) -> Iterator[Claim]:
    if m.reductions:
        left = m.reductions[0].share
        text = "Aggregation in the switch leaves a fraction of store_sales by item"
        yield Claim(text, f"{PUBLISHED_LEFT:.2%}", f"{left:.2%}", left <= PUBLISHED_LEFT)
    for found in (t for t in m.throughputs if "switch" in t.what):
        text = "The switch adds up what arrives at a rate (published: with one small datagram a call)"
        published = PUBLISHED_SWITCH_BITS_S / 8
        yield Claim(text, _rate(published), _rate(found.bytes_s), found.bytes_s >= published)


def _of_phases(m: Measured) -> Iterator[Claim]:
    if warm := [p for p in m.phases if p.run == "warm"]:
        set_up = max(p.set_up / p.total for p in warm)
        text = "A query whose programs are compiled spends less on its set-up than on the rest"
        yield Claim(text, None, f"{set_up:.0%} at most of {len(warm)} queries", set_up < 0.5)


def _of_places(m: Measured) -> Iterator[Claim]:
    for slow in m.placed[:1]:
        for text, place, other in (
            ("Hosts that add up near their data are faster than a client that does", "hosts", "client"),
            ("The switch is faster than a client that adds up", "switch", "client"),
            ("The switch is faster than hosts that add up", "switch", "hosts"),
        ):
            times = slow.seconds[other] / slow.seconds[place]
            yield Claim(f"{text} ({slow.link})", None, f"{times:.2f}×", times > 1)


def data(m: Measured) -> dict[str, Any]:
    """Return all figures for programs."""
    return {
        **asdict(m),
        "left": {r.link: r.share for r in m.reductions},
        "claims": [asdict(claim) for claim in claims(m)],
    }


def html(m: Measured) -> str:
    """Return the page. All text is escaped."""
    phases = [(run, _phases([p for p in m.phases if p.run == run])) for run in dict.fromkeys(p.run for p in m.phases)]
    slowest = max((s for p in m.placed for s in p.seconds.values()), default=0.0)
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
            Bar("published", f"{PUBLISHED_LEFT:.2%}", (("published", PUBLISHED_LEFT, PUBLISHED),)),
        ])
        for r in m.reductions
    ]  # fmt: skip
    return template("paper.html.j2").render(
        m=m, claims=claims(m), phases=phases, parts=COLOURS, placed=placed, reductions=reductions,
        speeds=_bars([*m.throughputs, _PUBLISHED_SWITCH], lambda t: t.bytes_s, _rate),
        rows=_bars(m.throughputs, lambda t: t.rows_s, lambda rows: f"{rows / 1e6:.2f} million rows/s"),
    )  # fmt: skip


def _phases(found: Sequence[Phases]) -> list[Bar]:
    longest = max(p.total for p in found)
    return [
        Bar(
            p.query,
            f"{words.duration(p.total)}, set-up {p.set_up / p.total:.0%}",
            tuple((f"{k}: {words.duration(s)}", s / longest, COLOURS.index(k)) for k, s in p.seconds.items()),
        )
        for p in found
    ]


def _rate(bytes_s: float) -> str:
    return f"{words.size(bytes_s)}/s ({bytes_s * 8 / 1e9:.3f} Gbit/s)"


def _bars(
    throughputs: Sequence[Throughput], value: Callable[[Throughput], float], text: Callable[[float], str]
) -> list[Bar]:
    most = max(map(value, throughputs), default=0.0)
    return [Bar(t.what, text(value(t)), ((t.what, value(t) / most, PUBLISHED if t is _PUBLISHED_SWITCH else 0),))
            for t in throughputs]  # fmt: skip
