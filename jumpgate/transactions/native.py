"""Builds the C++ of workers, once for its content, and declares its C interface."""

from __future__ import annotations

import ctypes as c
import functools
from pathlib import Path

from jumpgate.ncas import runtime
from jumpgate.p4.switch import library

SOURCE = Path(__file__).parent / "worker" / "worker.cpp"
#: is called with 1 once a transaction is logged and 2 once it is answered; breaks it off unless it returns 0
REACH = c.CFUNCTYPE(c.c_int, c.c_int)
#: what `ask` and `execute` return without an answer
LOST = -1


@functools.cache
def load() -> c.CDLL:
    folder = Path(runtime.__file__).parent
    checksum = folder / "src" / "ntf" / "crc32c.cpp"
    path = library.build_shared(
        "the workers of transactions", "transactions", [SOURCE, checksum], ["-I", str(folder / "include")]
    )
    made = c.CDLL(str(path))
    handle, data, u32 = c.c_void_p, c.c_char_p, c.c_uint32
    for name, result, *arguments in (
        ("log_open", handle, c.c_int, c.c_int64),
        ("log_close", None, handle),
        ("log_append", c.c_uint64, handle, data, u32),
        ("log_sync", c.c_int, handle, c.c_uint64),
        ("log_syncs", c.c_uint64, handle),
        ("log_clear", None, handle),
        ("sender_open", handle, c.c_int, u32, c.c_int64),
        ("sender_close", None, handle),
        ("ask", c.c_int, handle, handle),
        ("execute", c.c_int, handle, handle, handle, REACH),
    ):
        function = getattr(made, f"jgtx_{name}")
        function.restype, function.argtypes = result, arguments
    return made
