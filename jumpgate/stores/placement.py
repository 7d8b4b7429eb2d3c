"""Find the hosts that have the bytes of files, so that each host begins a scan with what is on its own disks.

Only HDFS tells. Blocks that were moved since cost time alone: any host can read any of them.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from jumpgate.errors import JumpgateError
from jumpgate.stores import credentials, hdfs

#: files that are asked for at once, those of one scan whose blocks are asked for, and those whose blocks are kept
ASKED_AT_ONCE, FILES_MAX, KEPT_MAX = 8, 1_000, 20_000

#: for each block of a file, in their order, the names of the hosts that have it
Blocks = tuple[frozenset[str], ...]
#: by the file, its version, and who asked (credentials.key)
_kept: OrderedDict[tuple[str, int, str], Blocks] = OrderedDict()
_lock = threading.Lock()


def look(versions: Mapping[str, int]) -> None:
    """Ask where the files of a scan are, unless that is known of these versions of them."""
    who = credentials.key()
    wanted = [file for file, version in versions.items() if is_told(file) and (file, version, who) not in _kept]
    if not wanted:
        return
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        found = dict(zip(wanted[:FILES_MAX], pool.map(credentials.carried(_blocks), wanted[:FILES_MAX]), strict=True))
    with _lock:
        _kept.update({(file, versions[file], who): blocks for file, blocks in found.items()})
        while len(_kept) > KEPT_MAX:
            _kept.popitem(last=False)


def _blocks(file: str) -> Blocks:
    try:
        return tuple(frozenset(map(short, hosts)) for hosts in hdfs.blocks(file))
    except JumpgateError:  # reading the file reports it; HttpFS may not tell
        return ()


def is_told(file: str) -> bool:
    """Return whether the store of a file tells where that is."""
    return file.startswith("hdfs://")


def owners(
    files: Iterable[str], versions: Mapping[str, int], readers: Sequence[Collection[str]]
) -> dict[str, list[int]]:
    """Return for each file which of the readers, by their number, is to begin with each of its blocks; -1: any. Files
    of which no reader's host has a block are left out. readers: the names of the host of each."""
    names = [frozenset(map(short, of)) for of in readers]
    found: dict[str, list[int]] = {}
    load: Counter[int] = Counter()
    for file in files:
        of_file = []
        for hosts in _kept.get((file, versions.get(file, -1), credentials.key()), ()):
            near = [number for number, own in enumerate(names) if own & hosts]
            chosen = min(near, key=lambda number: load[number], default=-1)
            load[chosen] += 1
            of_file.append(chosen)
        if any(chosen >= 0 for chosen in of_file):
            found[file] = of_file
    return found


def short(name: str) -> str:
    """Return the name of a host without its domain; of an address, the address.

    >>> short("Worker1.example.com"), short("10.0.0.7"), short("fd00::7")
    ('worker1', '10.0.0.7', 'fd00::7')
    """
    head = name.partition(".")[0]
    return name.lower() if head.isdigit() or ":" in name else head.lower()
