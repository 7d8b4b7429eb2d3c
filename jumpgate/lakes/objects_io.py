"""Objects for pyiceberg, which reads metadata, manifests and files of deletes: as this process may read any object."""

from __future__ import annotations

from typing import Any

from pyiceberg.io import InputFile
from pyiceberg.io.pyarrow import PyArrowFileIO

from jumpgate.errors import FileUnreadable
from jumpgate.stores import objects, reading
from jumpgate.stores.names import canonical, is_remote


class ObjectsIO(PyArrowFileIO):
    """Reads objects by jumpgate.stores, and files as ever."""

    def new_input(self, location: str) -> Any:
        return _Object(canonical(location)) if is_remote(location) else super().new_input(location)


class _Object(InputFile):
    def __len__(self) -> int:
        return objects.state(self.location).size

    def exists(self) -> bool:
        try:
            objects.ask(self.location)
        except FileUnreadable as error:
            if error.fields.get("missing"):
                return False
            raise
        return True

    def open(self, seekable: bool = True) -> Any:
        return reading.opened(self.location)
