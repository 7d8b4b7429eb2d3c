"""How often a service looks for cycles of objects that nobody reaches any more.

A job over a thousand hosts has tens of thousands of objects at a time, none of them garbage. By Python's own measure
they are all visited again and again while they are made, which took a quarter of what it costs to start the job.
"""

from __future__ import annotations

import gc

#: new objects before the young are looked at; young looks before older ones, and those before all
YOUNG, OLDER, ALL = 10_000, 10, 10


def collect_seldom() -> None:
    """For a process that is a service, once it has loaded what it needs: that stays, and is not looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, OLDER, ALL)
