"""Files of clients with roots: in `ROOT//PATH`, links of PATH lead nowhere but below ROOT.

To everything else `//` is a `/`. Who opens such a file resolves PATH in one step, by openat2(2) with RESOLVE_BENEATH:
no link that is exchanged after a check leads out. The C++ side is converters/common/input_file.cpp.
"""

from __future__ import annotations

import ctypes
import errno
import os

_OPENAT2 = 437  #: on all architectures
_RESOLVE_BENEATH, _RESOLVE_NO_MAGICLINKS = 0x08, 0x02
#: the kernel asks to try again when folders are renamed meanwhile
_ATTEMPTS_MAX = 100


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def marked(root: str, path: str) -> str:
    """`path`, relative to `root`, as a file below it.

    >>> marked("/data", "a/b.csv")
    '/data//a/b.csv'
    """
    return f"{root.rstrip('/')}//{path}"


def split(path: str) -> tuple[str, str] | None:
    """The root and the path below it; None for files of others.

    >>> split("/data//a/b.csv"), split("/data/a.csv")
    (('/data', 'a/b.csv'), None)
    """
    at = path.find("//", 1)
    return (path[:at], path[at + 2 :]) if at > 0 else None


def opener(path: str, flags: int) -> int:
    """For `open(path, "rb", opener=opener)`. Raises OSError."""
    parts = split(path)
    if parts is None:
        return os.open(path, flags)
    root = os.open(parts[0], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        how = _How(flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
        for _ in range(_ATTEMPTS_MAX):
            name = os.fsencode(parts[1])
            file = int(_libc.syscall(_OPENAT2, root, name, ctypes.byref(how), ctypes.sizeof(how)))
            if file >= 0 or ctypes.get_errno() not in (errno.EAGAIN, errno.EINTR):
                break
        if file < 0:
            number = ctypes.get_errno()
            reason = f"a link leads out of {parts[0]}" if number == errno.EXDEV else os.strerror(number)
            raise OSError(number, reason, path)
        return file
    finally:
        os.close(root)


_libc = ctypes.CDLL(None, use_errno=True)
