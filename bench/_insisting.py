"""The instance of s3_select without push-back: it asks the store, however slow that is."""

from __future__ import annotations

from jumpgate.nca.worker import serve
from jumpgate.ncas.s3_select import source, worker
from jumpgate.ncas.s3_select.asking import Counted

if __name__ == "__main__":
    source.is_calm = lambda *_: True
    counted = Counted()
    serve(lambda configuration, inputs: worker.compute(configuration, inputs, counted), {"asked": counted})
