"""The version of the calls of a service, which clients show in each: those of another one are refused in words.

It is raised when a client of before would be misunderstood. Fields that are added to messages do not raise it.
"""

from __future__ import annotations

import jumpgate
from jumpgate.errors import ProtocolError

VERSION = 1
HEADER = "jumpgate-protocol"
#: what a client's call shows
METADATA = ((HEADER, str(VERSION)),)


def check(metadata: object, address: str) -> None:
    """Raises ProtocolError for a call of another version; one that shows none is taken for one of this."""
    for key, value in metadata or ():  # type: ignore[attr-defined]
        if key == HEADER and value != str(VERSION):
            raise ProtocolError(
                f"this client speaks version {value[:20]!r} of the service's calls, and the service at {address} "
                f"(Jumpgate {jumpgate.__version__}) version {VERSION}: install the same Jumpgate at both ends",
                address=address,
            )
