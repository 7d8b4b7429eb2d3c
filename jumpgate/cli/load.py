"""Dataflows from files: a Python file that defines `dataflow`, or the request's protobuf JSON."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

from jumpgate.dataflow import proto
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.errors import ConfigError, FileUnreadable, JumpgateError

#: the name that a Python file gives its dataflow, or a function without parameters that returns it
NAME = "dataflow"


def load(file: Path) -> tuple[Dataflow, Dialect]:
    """The dataflow that `file` holds. Raises FileUnreadable, InvalidDataflow, ConfigError (an error in the file)."""
    if not file.is_file():
        raise FileUnreadable(f"there is no file {file}", file=file)
    if file.suffix == ".json":
        try:
            text = file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise FileUnreadable(f"cannot read {file}: {error}", file=file) from error
        root, dialect = proto.from_json(text)
        return Dataflow(root), dialect
    if file.suffix != ".py":
        raise ConfigError(f"{file} is neither a .py file nor a .json file", file=file)
    return _from_python(file), DEFAULT


def load_dataflows(file: Path) -> list[tuple[str, Dataflow]]:
    """Names and dataflows of `dataflows` in a Python file. Raises ConfigError (an error in the file)."""
    found = _names_of(file).get(f"{NAME}s")
    if not isinstance(found, dict) or not all(isinstance(flow, Dataflow) for flow in found.values()):
        raise ConfigError(f"{file} defines no '{NAME}s': assign it a dictionary of names and dataflows", file=file)
    return [(str(name), flow) for name, flow in found.items()]


def _from_python(file: Path) -> Dataflow:
    found = _names_of(file).get(NAME)
    if not isinstance(found, Dataflow):
        what = "defines no" if found is None else f"defines a {type(found).__name__}, not a dataflow, as"
        raise ConfigError(
            f"{file} {what} '{NAME}': assign it what read(…) and its methods give, or a function that returns that",
            file=file,
        )
    return found


def _names_of(file: Path) -> dict[str, Any]:
    """Return what a Python file defines; a function called `dataflow` is replaced by its result."""
    sys.path.insert(0, str(file.parent.absolute()))
    try:
        found = runpy.run_path(str(file), run_name="__jumpgate__")
        if callable(found.get(NAME)):
            found[NAME] = found[NAME]()
        return found
    except JumpgateError:
        raise
    except Exception as error:
        if os.environ.get("JUMPGATE_DEBUG"):
            raise
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        line = frames[-1].lineno if frames else getattr(error, "lineno", None)
        where = f"{file}:{line}" if line else str(file)
        raise ConfigError(f"{where}: {type(error).__name__}: {error}", file=file, line=line) from error
    finally:
        sys.path.pop(0)
