"""Jumpgate: middleware that lets any analytics engine use any network-connected accelerator.

`jumpgate.connect()` is SQL over files (jumpgate.client.sql); everything else is in the subpackages.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

__version__ = "0.2.0"

#: gRPC's handlers would start its threads again in a forked child, which ends some of those that then close their
#: descriptors (subprocess with preexec_fn, as PySpark starts its JVM). Nothing in Jumpgate calls gRPC after a fork.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
#: its errors are ours to tell
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def connect(address: str | None = None, *, offload: str = "auto", **options: Any) -> Connection:
    """SQL over files, as much of it as possible on accelerators: see jumpgate.client.sql.connection.Connection.

    address: of a service (host:port); None starts one inside this process when a query needs it. offload: auto, always
    or never. options: those of jumpgate.client.session.Session. Raises Unreachable, ConfigError.
    """
    from jumpgate.client import sql

    return sql.connect(address, offload=offload, **options)
