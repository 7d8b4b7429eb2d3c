"""Errors are typed: a sentence for people, a code and fields for programs. `python examples/errors.py`."""

import tempfile
from pathlib import Path

import jumpgate
from jumpgate.errors import DataError, JumpgateError

with tempfile.TemporaryDirectory() as folder, jumpgate.connect() as connection:
    file = Path(folder, "t.csv")
    file.write_text("a,b\n1,x\ntwo,y\n")
    connection.register("t", file, schema={"a": "int64", "b": "string"})
    for text in ("SELECT sum(a) FROM t", "SELECT c FROM t", "SELECT FROM WHERE"):
        try:
            connection.sql(text).to_arrow()
        except DataError as error:  # the file is at fault
            print(error.code, error.fields.get("line"), "|", error.message.partition("\n")[0])
        except JumpgateError as error:  # the query is
            print(error.code, "|", error.message.partition("\n")[0])
