"""S3 Select's accelerator with other constants, which sweeps are over: how many hashes, groups and sampled rows.

python -m bench._tuning     # an instance, started in place of the accelerator's own
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

from jumpgate.nca.interface import InstancePlan
from jumpgate.nca.worker import serve
from jumpgate.ncas.s3_select import worker
from jumpgate.ncas.s3_select.asking import Counted
from jumpgate.ncas.s3_select.lifecycle import SelectLifecycle

#: module of the accelerator → constant → value
Constants = Mapping[str, Mapping[str, float]]
PACKAGE = "jumpgate.ncas.s3_select"


@contextlib.contextmanager
def applied(constants: Constants) -> Iterator[None]:
    """Plan by these constants in the block, and configure instances with them."""
    plain = SelectLifecycle.configuration

    def configuration(self: SelectLifecycle, instance: InstancePlan) -> dict[str, Any]:
        return {**plain(self, instance), "constants": constants}

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(SelectLifecycle, "module", __name__))
        stack.enter_context(mock.patch.object(SelectLifecycle, "configuration", configuration))
        _set(constants, stack)
        yield


def _set(constants: Constants, stack: contextlib.ExitStack) -> None:
    for name, values in constants.items():
        module = importlib.import_module(f"{PACKAGE}.{name}" if name else PACKAGE)
        for constant, value in values.items():
            stack.enter_context(mock.patch.object(module, constant, value))


def compute(configuration: Mapping[str, Any], inputs: Any, counted: Counted) -> worker.Batches:
    with contextlib.ExitStack() as stack:
        _set(configuration["constants"], stack)
        yield from worker.compute(configuration, inputs, counted)


if __name__ == "__main__":
    COUNTED = Counted()
    serve(lambda configuration, inputs: compute(configuration, inputs, COUNTED), {"asked": COUNTED})
