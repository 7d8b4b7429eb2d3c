"""The runtime's tables of upper and lower case are DataFusion's."""

from __future__ import annotations

from jumpgate.ncas.runtime.unicode_case import HEADER, render


def test_the_header_is_up_to_date() -> None:
    assert render() == HEADER.read_text(), "run python -m jumpgate.ncas.runtime.unicode_case"
