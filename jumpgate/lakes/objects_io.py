"""Objects for pyiceberg, which reads metadata, manifests and files of deletes: as this process may read any object."""

from __future__ import annotations

from typing import Any

from pyiceberg.io import InputFile
from pyiceberg.io.pyarrow import PyArrowFileIO

from jumpgate.errors import FileUnreadable
from jumpgate.stores import credentials, objects, reading
from jumpgate.stores.credentials import Credentials
from jumpgate.stores.names import canonical, is_remote


class ObjectsIO(PyArrowFileIO):
    """Reads objects by jumpgate.stores, also on pyiceberg's threads with the credentials of who made this, and files as
    ever."""

    def __init__(self, properties: Any = {}) -> None:  # noqa: B006
        super().__init__(properties)
        self._brought = credentials.current()

    def new_input(self, location: str) -> Any:
        return _Object(canonical(location), self._brought) if is_remote(location) else super().new_input(location)


class _Object(InputFile):
    def __init__(self, location: str, brought: Credentials | None) -> None:
        super().__init__(location)
        self._brought = brought

    def __len__(self) -> int:
        with credentials.used(self._brought):
            return objects.state(self.location).size

    def exists(self) -> bool:
        try:
            with credentials.used(self._brought):
                objects.ask(self.location)
        except FileUnreadable as error:
            if error.fields.get("missing"):
                return False
            raise
        return True

    def open(self, seekable: bool = True) -> Any:
        with credentials.used(self._brought):
            return reading.opened(self.location)
