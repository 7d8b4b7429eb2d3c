"""Tells others on a host where its agents are."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator

import jumpgate
from jumpgate.codegen import cache
from jumpgate.ntf.addresses import host_of, joined


@contextlib.contextmanager
def registered(listen: str, port: int, token_file: str | None, tls: str | None) -> Iterator[None]:
    """A file in the cache says, as long as this runs, where the agent is (jumpgate/hosts/far_end.py reads it)."""
    facts = {
        "pid": os.getpid(),
        "address": joined(host_of(listen), port),
        "version": jumpgate.__version__,
        "token_file": token_file and os.path.abspath(token_file),
        "tls": tls and os.path.abspath(tls),
    }
    file = cache.folder("agents") / f"{os.getpid()}.json"
    with cache.explained():
        staged = file.with_suffix(".new")
        staged.write_text(json.dumps(facts))
        staged.rename(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
