"""File formats: each is one declared value that holds everything Jumpgate needs to know about it.

Jumpgate's own are in converters/, a package each; installed packages announce theirs under the entry point group
`jumpgate.formats` (docs/add-a-format.md).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jumpgate.dataflow import deleted
from jumpgate.dataflow.types import DataType, Schema
from jumpgate.errors import ConfigError, InvalidDataflow
from jumpgate.plugins import Problems, installed, load_value

GROUP = "jumpgate.formats"
#: built-in formats
BUILT_IN = {
    "json": "jumpgate.converters.json:JSON",
    "orc": "jumpgate.converters.orc:ORC",
    "parquet": "jumpgate.converters.parquet:PARQUET",
    "csv": "jumpgate.converters.csv:CSV",
}
#: compression suffixes of text files after the format's suffix: t.csv.gz (the reader refuses unsupported ones by name)
PACKED = (".gz", ".gzip", ".bz2", ".zst", ".zstd", ".xz", ".lz4")


def _as_written(text: str) -> str:
    return text


def _no_problem(text: str) -> str:
    return ""


@dataclass(frozen=True)
class Option:
    """An option of a read; its values are texts, `default` the implicit one.

    choices: all of its values, unless it has other ones; problem: returns the problem of a value ("it must be one ASCII
    character"), empty if none; canonical: returns the canonical form of a value ("LATIN1" → "latin-1"); drops: the
    values with which the reader drops rows depending on the columns that are read.
    """

    name: str
    default: str
    choices: tuple[str, ...] = ()
    problem: Callable[[str], str] = field(default=_no_problem, compare=False)
    canonical: Callable[[str], str] = field(default=_as_written, compare=False)
    drops: tuple[str, ...] = ()

    def wrong(self, value: str) -> str:
        """Return the problem of a value; empty if there is none."""
        if self.choices and value not in self.choices:
            return f"it can be {' or '.join(self.choices)}"
        return self.problem(value)


#: of formats that say no calendar: `fail` refuses files that may have days before 1582-10-15 by the Julian one
EARLY_DAYS = Option("early_days", "as_stored", ("as_stored", "fail"))
#: of columnar formats: what a column is that none of the files has
ABSENT = Option("absent", "fail", ("fail", "null"))
#: of Parquet files: the rows that a table has deleted from each
DELETED = Option("deleted", "", problem=deleted.problem)
#: of every format: the columns that names of folders hold (partitions.as_option)
PARTITIONS = Option("partitions", "")


@dataclass(frozen=True)
class Speeds:
    """Core seconds for a `byte` of the files and for a value of a column by its type, before calibration; `number`
    stands for integers, floats, dates and times. Defaults suit columnar formats."""

    byte: float = 0.0
    number: float = 8e-9
    decimal: float = 6e-9
    text: float = 30e-9


@dataclass(frozen=True)
class Sample:
    """Sampled values of a column for estimates: an Arrow column, or a sequence of Python values or of the file's texts;
    None for NULL. Samples of all columns of a file are of the same rows. `whole`: these are all values.

    bounds: the least and greatest of all the column's values, as numbers, days or microseconds, if the file stores
    them; otherwise those of the sample. spread: see ColumnStatistics.
    """

    values: Any = ()
    bounds: tuple[float | None, float | None] | None = None
    whole: bool = False
    spread: float | None = None


class Writer(Protocol):
    """Writes one file of a format, for tests, benchmarks and `jumpgate calibrate`."""

    def __call__(self, table: Any, path: Path, *, part_rows: int | None = None, variant: int = 0) -> None:
        """Writes an Arrow table, or what has `to_batches`, as one file; `part_rows`: of each part of it that can be
        skipped, where there are such; `variant`: one of the ways in which the format can be written."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Format:
    """A file format. Functions take absolute paths of readable files and the read's options as texts.

    They may raise any JumpgateError, OSError, or exception of their libraries: they run in a separate process
    (converters/prober.py), which turns a failure into an error that names the file.
    """

    name: str  #: as in read(format=…), the protobuf and the instances' configuration
    title: str  #: as people write it
    suffixes: tuple[str, ...]  #: of its files' names, with the dot, in lower case; the first is that of files it writes
    implied: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  #: suffix → the options that it implies
    packed: bool = False  #: its files may be packed (PACKED)
    options: tuple[Option, ...] = ()
    self_describing: bool  #: files know their columns' names and types; else these are guessed from some rows
    columnar: bool  #: a read takes the bytes of its columns alone from storage
    opaque: bool = True  #: files may have columns of types that Jumpgate does not have
    nested: bool = False  #: its reader makes structs, lists and maps, and fields of structs by themselves
    converted: bool = True  #: DuckDB has no reader with the same values: it gets what Jumpgate reads
    substrait: str = ""  #: name in Substrait: a member of ReadRel.LocalFiles.FileOrFiles.file_format
    speeds: Speeds = Speeds()
    duckdb_speeds: Speeds | None = None  #: the same of DuckDB, by Jumpgate's reader if `converted`

    #: returns the schema that files share. Raises SchemaMismatch if they cannot be one table
    infer_schema: Callable[[tuple[str, ...], Mapping[str, str]], Schema]
    #: returns the rows of one file, exactly or about
    rows: Callable[[str, Mapping[str, str]], float]
    #: samples one column of one file
    sample: Callable[[str, Mapping[str, str], str, DataType], Sample]
    #: the least and the largest of a column's values in one file, or None, without a look at them; None: no file says
    bounds: Callable[[str, Mapping[str, str], str, DataType], tuple[float | None, float | None]] | None = None

    #: begin and end of each piece of one file that has values of these columns alone; None: there are no such pieces
    segments: Callable[[str, Sequence[str]], list[list[int]]] | None = None

    #: modules that these functions import on first use
    libraries: tuple[str, ...] = ()

    #: the C++ source of its reader, one file against the runtime's headers; None: the runtime has it (converters/)
    reader: Path | None = None

    #: for tests and benchmarks: a file with given rows, in how many variants; the kinds of types that it cannot write
    write: Writer
    variants: int = 1
    lacks: tuple[str, ...] = ()
    #: options that reads of such files need
    written_options: Mapping[str, str] = field(default_factory=dict)
    #: what another engine reads the files as: DuckDB's table function, given files and columns as SQL, and options
    duckdb: Callable[[str, str, Mapping[str, str]], str] | None = None
    #: or, without that, the name of the format among Arrow's datasets
    dataset: str = ""
    #: the options of DuckDB's COPY that write it; without, `write` does
    duckdb_copy: str = ""

    @property
    def has_reader(self) -> bool:
        """Return whether there is a reader in C++; if not, an accelerator of the package must take its reads."""
        return self.reader is not None or self.name in BUILT_IN

    @property
    def all_options(self) -> tuple[Option, ...]:
        """The format's own options, and those of every format."""
        return (*self.options, PARTITIONS)

    def canonical(self, options: Mapping[str, str]) -> dict[str, str]:
        """The options with values in their canonical form."""
        known = {option.name: option.canonical for option in self.options}
        return {name: known.get(name, _as_written)(value) for name, value in options.items()}

    def has_same_rows(self, options: Mapping[str, str]) -> bool:
        """Return whether a read with these options has the same rows whatever its columns."""
        return not any(options.get(option.name, option.default) in option.drops for option in self.options)

    def problems(self, options: Mapping[str, str]) -> list[str]:
        """Return the problems of a read's options."""
        from jumpgate.dataflow.resolve import suggest

        known = {option.name: option for option in self.all_options}
        return [
            f"read: {self.name} has no option {name!r}{suggest(name, known)}" for name in options if name not in known
        ] + [
            f"read: option {name} is {options[name]!r}; {wrong}"
            for name, option in known.items()
            if name in options and (wrong := option.wrong(options[name]))
        ]


class Formats(Mapping[str, Format]):
    """Formats by name. One that cannot be loaded does not affect the others: `broken` has the typed error, which is
    raised when that name is requested."""

    def __init__(self, formats: Iterable[Format] = ()) -> None:
        self._formats: dict[str, Format] = {}
        self.by_suffix: dict[str, Format] = {}
        self.broken: Problems = {}
        for found in formats:
            self._add(found)

    def load(self, name: str, path: str) -> None:
        """Add the format at `path` ("package.module:object"), which must have that name."""
        try:
            found = load_value("format", name, path)
            if not isinstance(found, Format) or found.name != name:
                raise ConfigError(f"format '{name}': {path} is {found!r}, no Format of that name", format=name)
            self._add(found)
        except ConfigError as error:
            self.broken[path if name in self._formats else name] = error

    def _add(self, format: Format) -> None:
        """Add a format. Raises ConfigError if it conflicts with another format."""
        name = format.name
        if re.fullmatch(r"[a-z][a-z0-9_]*", name) is None:
            raise ConfigError(f"{name!r} cannot name a format: lower case letters, digits and _", format=name)
        if name in self._formats:
            raise ConfigError(f"two formats are called '{name}': uninstall one of their packages", format=name)
        for suffix in format.suffixes:
            if suffix in self.by_suffix:
                other = self.by_suffix[suffix].name
                raise ConfigError(f"files with suffix {suffix} are of the formats '{other}' and '{name}'", format=name)
        self._formats[name] = format
        self.by_suffix |= dict.fromkeys(format.suffixes, format)

    def __getitem__(self, name: str) -> Format:
        """Raises InvalidDataflow for an unknown name, and the error of one that could not be loaded."""
        if name in self._formats:
            return self._formats[name]
        if name in self.broken:
            raise self.broken[name]
        raise InvalidDataflow(
            f"read: unknown format {name!r}; Jumpgate reads {', '.join(self._formats)}", operator="read"
        )

    def __contains__(self, name: object) -> bool:
        return name in self._formats

    def __iter__(self) -> Iterator[str]:
        return iter(self._formats)

    def __len__(self) -> int:
        return len(self._formats)


@functools.cache
def formats() -> Formats:
    """Jumpgate's formats and those of installed packages; found once a process."""
    found = Formats()
    for name, path in BUILT_IN.items():
        found.load(name, path)
    for name, path in installed(GROUP):
        found.load(name, path)
    return found
