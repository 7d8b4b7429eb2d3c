"""The versions that the two ends of a connection speak: `CONTRACTS`, which docs/deployment.md shows.

A version is raised when an end of before would be misunderstood. Fields that are added to messages do not raise it.
"""

from __future__ import annotations

from typing import NamedTuple

import jumpgate
from jumpgate.errors import ProtocolError
from jumpgate.ntf import frames


class Contract(NamedTuple):
    """An agreement of two ends. shown: where a peer tells its version. spoken: the versions that are served; others are
    refused with the code `protocol`. silent: a peer that tells none is served, too. remedy: the way out."""

    name: str
    ends: str
    shown: str
    spoken: frozenset[str]
    silent: bool
    remedy: str

    def serves(self, version: str | None) -> bool:
        """Return whether a peer that tells this version (None: tells none) is served."""
        return self.silent if version is None else version in self.spoken

    def row(self) -> str:
        """Return the contract's line in the table of the documentation."""
        others = "others are refused" if self.silent else "others, and none, are refused"
        spoken = ", ".join(f"`{version}`" for version in sorted(self.spoken))
        if self.spoken == {jumpgate.__version__}:
            spoken = "its own release"
        served = f"{spoken}, and none" if self.silent else spoken
        return f"| {self.name} | {self.ends} | {self.shown} | {served} | {others}: {self.remedy} |"


HEADER = "jumpgate-protocol"

CALLS = Contract(
    "calls", "clients in Python and on the JVM, service", f"`{HEADER}` in each call", frozenset({"1"}), True,
    "install the same Jumpgate at both ends",
)  # fmt: skip
AGENTS = Contract(
    "hosts", "service, agents", "the answer to `prove`", frozenset({jumpgate.__version__}), False,
    "install one version on both",
)  # fmt: skip
TUPLES = Contract(
    "tuples", "instances, clients", "each frame's header", frozenset({str(frames.VERSION)}), False,
    "install the same release of Jumpgate on both ends",
)  # fmt: skip
CONTRACTS = (CALLS, AGENTS, TUPLES)

VERSION = max(CALLS.spoken, key=int)
#: what a client's call shows
METADATA = ((HEADER, VERSION),)


def check(metadata: object, address: str) -> None:
    """Raises ProtocolError for a call of a version that is not served."""
    for key, value in metadata or ():  # type: ignore[attr-defined]
        if key == HEADER and not CALLS.serves(value):
            raise ProtocolError(
                f"this client speaks version {value[:20]!r} of the service's calls, and the service at {address} "
                f"(Jumpgate {jumpgate.__version__}) version {', '.join(sorted(CALLS.spoken))}: {CALLS.remedy}"
            )
