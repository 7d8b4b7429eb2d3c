"""The driver validation suite's own tests."""

from __future__ import annotations

from types import ModuleType

import pytest
from adbc_drivers_validation.tests import connection, ingest, query, statement
from adbc_drivers_validation.tests.connection import TestConnection
from adbc_drivers_validation.tests.ingest import TestIngest
from adbc_drivers_validation.tests.query import TestQuery
from adbc_drivers_validation.tests.statement import TestStatement
from quirks import Jumpgate

_MODULES: dict[type, ModuleType] = {
    TestConnection: connection, TestIngest: ingest, TestQuery: query, TestStatement: statement,
}  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    assert metafunc.cls is not None
    _MODULES[metafunc.cls].generate_tests([Jumpgate()], metafunc)
