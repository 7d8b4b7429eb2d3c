"""The page that anyone can open: a job's timeline, plan and counters as one HTML file without scripts or links."""

from __future__ import annotations

import functools
import json

import jinja2

from jumpgate import words
from jumpgate.observe import chart
from jumpgate.observe.timeline import Timeline, from_record


def html(timeline: Timeline) -> str:
    """Return the report of a job. All text is escaped: column names and messages may hold anything."""
    return template("report").render(
        t=timeline,
        views=chart.timeline_views(timeline),
        graph=chart.graph_chart(timeline),
        bar_height=chart.BAR_HEIGHT,
    )


def of_record(record_json: str) -> str:
    """Return the report of a job's record (jumpgate/orchestrator/record.py)."""
    return html(from_record(json.loads(record_json)))


@functools.cache
def template(name: str) -> jinja2.Template:
    """Return a page's template, which escapes all text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("jumpgate.templates", "html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(duration=words.duration, size=words.size, rows=words.rows, px=lambda x: f"{x:.1f}")
    return environment.get_template(f"{name}.html.j2")
