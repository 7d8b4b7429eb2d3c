"""Makes the data of TPC-DS and TPC-H with DuckDB's generators, as files DIRECTORY/FORMAT/TABLE.FORMAT."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from jumpgate import extras
from jumpgate.dataflow import formats as declared
from jumpgate.errors import ConfigError, FileUnreadable, JumpgateError
from jumpgate.tpcds.suite import TPCDS, Suite

if TYPE_CHECKING:
    import duckdb

#: the generator does not terminate below this scale
SCALE_MIN = 0.01
#: beside TPC-DS data: scale, generator and the schema of each table
SCHEMA_FILE = "tpcds.json"
#: called with the next step, the number of finished steps, and their total
Progress = Callable[[str, int, int], None]


def path(directory: Path, table: str, format: str) -> Path:
    """Return the path of a table's file."""
    return directory / format / f"{table}.{format}"


def generate(
    directory: Path,
    scale: float,
    formats: Iterable[str] | None = None,
    tables: Iterable[str] | None = None,
    force: bool = False,
    progress: Progress = lambda what, done, total: None,
    suite: Suite = TPCDS,
) -> list[Path]:
    """Writes what is missing of `tables` (all) in `formats` (all) and returns the files it wrote.

    A file appears under its name only when it is complete. Raises ConfigError: DuckDB is not installed, the scale is
    too small, or `directory` holds another one (and not `force`); FileUnreadable: it cannot be written.
    """
    if scale < SCALE_MIN:
        raise ConfigError(f"{suite.title} has no scale {scale:g}; the smallest is {SCALE_MIN:g}")
    directory = directory.absolute()
    names = suite.tables if tables is None else tuple(tables)
    kinds = tuple(declared.formats() if formats is None else formats)
    wanted = [path(directory, table, kind) for table in names for kind in kinds]
    known = _described_scale(directory, suite)
    if known is not None and known != scale and not force:
        raise ConfigError(
            f"{directory} holds {suite.title} at scale {known:g}, not {scale:g}: choose another --output, or pass "
            "--force to overwrite it",
            directory=directory,
        )
    missing = [file for file in wanted if force or not file.exists()]
    if not missing:
        return []
    connect(suite=suite).close()  # whoever lacks DuckDB is told so before anything is written
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".generating-") as work:
            _describe(directory, scale, Path(work), suite)
            _write(missing, scale, Path(work), progress, suite)
    except OSError as error:
        message = f"cannot write {suite.title} data to {directory}: {error.strerror}"
        raise FileUnreadable(message, file=directory) from error
    return missing


def connect(database: str = ":memory:", suite: Suite = TPCDS) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection that knows the suite's generator. Raises NotInstalled when DuckDB or it is missing."""
    with extras.explained():
        import duckdb

        module = importlib.import_module(f"duckdb_extension_{suite.extension}")
    connection = duckdb.connect(database)
    package = Path(str(module.__file__)).parent
    extension = next(package.glob("extensions/*/*.duckdb_extension"))
    connection.execute(f"LOAD {quoted(extension)}")
    connection.execute("SET enable_progress_bar = false")  # it would go to stdout, which is the command's
    return connection


def quoted(text: object) -> str:
    """`text` as a SQL string literal."""
    return "'" + str(text).replace("'", "''") + "'"


def _write(files: list[Path], scale: float, work: Path, progress: Progress, suite: Suite) -> None:
    import duckdb

    total = len(files) + 1
    progress(f"generating scale {scale:g}", 0, total)
    try:
        with connect(str(work / f"{suite.name}.duckdb"), suite) as connection:
            connection.execute(suite.generator.format(repr(float(scale))))
            for done, file in enumerate(files, 1):
                progress(f"{file.parent.name}/{file.name}", done, total)
                staged = work / file.name
                _export(connection, file.stem, staged)
                file.parent.mkdir(exist_ok=True)
                os.replace(staged, file)
    except duckdb.Error as error:
        raise JumpgateError(f"DuckDB could not generate {suite.title} data: {error}") from error
    progress("done", total, total)


def _export(connection: duckdb.DuckDBPyConnection, table: str, file: Path) -> None:
    format = declared.formats()[file.suffix[1:]]
    if format.duckdb_copy:
        connection.execute(f"COPY {table} TO {quoted(file)} ({format.duckdb_copy})")
    else:
        format.write(connection.execute(f"SELECT * FROM {table}").to_arrow_reader(1 << 17), file)


def _schema_file(suite: Suite) -> str:
    return f"{suite.name}.json"


def _described_scale(directory: Path, suite: Suite) -> float | None:
    try:
        return float(json.loads((directory / _schema_file(suite)).read_text())["scale"])
    except (OSError, ValueError, KeyError):
        return None


def _describe(directory: Path, scale: float, work: Path, suite: Suite) -> None:
    tables = {table: {field.name: str(field.type) for field in suite.schema(table)} for table in suite.tables}
    staged = work / _schema_file(suite)
    text = json.dumps({"generator": f"DuckDB {suite.extension}", "scale": scale, "tables": tables}, indent=1)
    staged.write_text(text + "\n")
    shutil.move(staged, directory / _schema_file(suite))
