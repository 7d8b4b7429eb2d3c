"""The links to stores for estimates: as jumpgate.toml says, else as requests have shown, else as assumed."""

from __future__ import annotations

from jumpgate.nca.storage import StoreLink
from jumpgate.stores import latency, settings
from jumpgate.stores.names import is_priced, is_remote


def of(name: str) -> StoreLink | None:
    """Return the link to the store of an object; None for a file."""
    if not is_remote(name):
        return None
    store, assumed, priced = settings.store_of(name), StoreLink(), is_priced(name)
    latency_s, bytes_per_s = latency.link(name)
    return StoreLink(
        latency_s=latency_s,
        bytes_per_s=bytes_per_s,
        scanned_bytes_per_s=store.scanned_bytes_per_s or assumed.scanned_bytes_per_s,
        scanned_price=store.price_scanned / 1e9 * priced,
        returned_price=store.price_returned / 1e9 * priced,
        request_price=store.price_requests / 1e3 * priced,
    )
