"""The demand of operators on stores, with the link to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jumpgate.compiler.estimate import Estimator
from jumpgate.dataflow.operators import Operator
from jumpgate.nca.interface import Device
from jumpgate.nca.storage import Asked, LinkOf, StoreLink, by_ranges


def demands(
    operators: Iterable[Operator], asked: Asked | None, estimator: Estimator, link_of: LinkOf | None, device: Device
) -> Iterator[tuple[Asked, StoreLink]]:
    """Yield the demand of each read of objects whose sizes are known, and the link from `device`. asked: of all, where
    an accelerator says so."""
    for node in operators:
        files = estimator.files_of(node)
        link = link_of(files[0]) if link_of and files else None
        if link is None:
            continue
        link = link.beside if device.is_near(files[0]) else link
        bytes = estimator.stored(node)
        if asked is not None:
            yield asked, link
        elif bytes is not None:
            yield by_ranges(len(files), bytes), link
