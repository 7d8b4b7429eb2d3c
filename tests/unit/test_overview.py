"""The live page: what it shows, that it is self-contained, and that it trusts no text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from jumpgate.observe.overview import DeviceRow, JobRow, Overview, html
from tests.unit.test_observe import Page

JOB = JobRow("20260101-120000-a1b2c3", "running", "reports", "SELECT 1", 2.5, 40, ("a", "tor1"), 3_000_000)


def sample() -> Overview:
    return Overview(
        "10.0.0.1:7411", "1.2.3", "", "",
        (JOB, replace(JOB, id="j2", state="queued (1 of 1)", client="", held_bytes=0)),
        (DeviceRow("a", "host", True, 1, 4, 3, 8_000_000_000, 3_000_000, {}),
         DeviceRow("tor1", "switch", False, 0, 1, 0, 0, 0, {"pool": "tors"})),
        50_000_000, 7_000_000, 3, 1,
    )  # fmt: skip


def test_the_page_shows_jobs_clients_and_devices() -> None:
    page = Page(html(sample()))
    for shown in ("ready", "SELECT 1", "queued (1 of 1)", "reports", "1 running", "the service's own user", "1 of 2",
                  "a, tor1", "3 of 4", "pool tors", "3 of 4", "50.0 MB", "7.0 MB"):  # fmt: skip
        assert shown in page.words, shown
    assert page.links == ["/jobs/20260101-120000-a1b2c3", "/jobs/j2"]
    assert "no host answers" in Page(html(replace(sample(), unready="no host answers"))).words


def test_the_page_loads_nothing_from_elsewhere() -> None:
    text = html(sample())
    assert not {"script", "link", "iframe", "img", "object"} & set(Page(text).tags)
    assert not re.search(r"@import|url\((?!#)|https?:", text)
    assert "width=device-width" in text and "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "'\"><img src=x onerror=y>", "{{ 7 * 7 }}"])
def test_no_text_becomes_markup(hostile: str) -> None:
    job = JobRow(hostile, hostile, hostile, hostile, 1.0, 1, (hostile,), 0, hostile)
    device = DeviceRow(hostile, hostile, True, 1, 1, 1, 1, 1, {"pool": hostile})
    text = html(Overview(hostile, hostile, hostile, hostile, (job,), (device,), 1, 1, 1, 1))
    page = Page(text)
    assert hostile in page.words and not {"script", "img"} & set(page.tags)


def test_long_texts_are_cut() -> None:
    text = html(replace(sample(), jobs=(replace(JOB, text="x" * 1000),)))
    assert "x" * 200 + "\N{HORIZONTAL ELLIPSIS}" in text and "x" * 201 not in text
