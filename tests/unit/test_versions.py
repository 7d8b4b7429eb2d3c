"""What becomes of peers of another version: the table of the documentation, and what speaks it in other languages.

Services and agents are spoken to in other versions in integration/test_service and integration/test_agents, and ends of
edges in integration/test_ntf_edges.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jumpgate
from jumpgate.errors import ProtocolError
from jumpgate.ntf import frames
from jumpgate.trust import versions

ROOT = Path(__file__).resolve().parents[2]


def test_the_documentation_shows_the_table() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text()
    _, _, table = page.partition(
        "| contract | between | its version is told by | served | |\n| --- | --- | --- | --- | --- |\n"
    )
    assert table.partition("\n\n")[0].splitlines() == [contract.row() for contract in versions.CONTRACTS]


@pytest.mark.parametrize(
    ("contract", "served", "refused"),
    [
        (versions.CALLS, ("1", None), ("0", "2", "", "1.0")),
        (versions.AGENTS, (jumpgate.__version__,), ("0.0.1", "99.0", "", None)),
        (versions.TUPLES, ("1",), ("0", "2", None)),
    ],
    ids=lambda value: value.name if isinstance(value, versions.Contract) else "",
)
def test_who_is_served(
    contract: versions.Contract, served: tuple[str | None, ...], refused: tuple[str | None, ...]
) -> None:
    assert all(contract.serves(version) for version in served)
    assert not any(contract.serves(version) for version in refused)


def test_frames_are_read_as_the_table_says() -> None:
    raw = frames.control_frame(frames.Kind.END, bytes(20))
    for version in range(4):
        told = raw[:4] + bytes([version]) + raw[5:]
        if versions.TUPLES.serves(str(version)):
            assert frames.parse_header(told[: frames.HEADER_BYTES]).kind == frames.Kind.END
        else:
            with pytest.raises(ProtocolError, match=f"version {version} .*{versions.TUPLES.remedy}"):
                frames.parse_header(told[: frames.HEADER_BYTES])


def test_every_language_speaks_the_same_versions() -> None:
    jvm = ROOT / "clients" / "jvm" / "src" / "main" / "java" / "io" / "jumpgate"
    client = (jvm / "client" / "JumpgateClient.java").read_text()
    assert f'Metadata.Key.of("{versions.HEADER}"' in client
    assert re.findall(r'String VERSION = "(\w+)"', client) == [versions.VERSION]
    frame = (jvm / "ntf" / "FrameHeader.java").read_text()
    assert re.findall(r"int VERSION = (\d+)", frame) == [str(frames.VERSION)]
