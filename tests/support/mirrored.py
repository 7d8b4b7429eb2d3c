"""Objects of a store that serves a folder, for pyiceberg, which writes them: as files of that folder."""

from __future__ import annotations

from typing import Any

from pyiceberg.io.pyarrow import PyArrowFileIO


class Mirrored(PyArrowFileIO):
    """The catalogue's property `base` begins the names of objects, `folder` those of the files."""

    def new_input(self, location: str) -> Any:
        return self._named(super().new_input(self._file(location)), location)

    def new_output(self, location: str) -> Any:
        return self._named(super().new_output(self._file(location)), location)

    def _file(self, location: str) -> str:
        return location.replace(self.properties["base"], self.properties["folder"])

    @staticmethod
    def _named(file: Any, location: str) -> Any:
        file._location = location
        return file
