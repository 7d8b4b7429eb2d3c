"""Common parts of the text formats: options, whether files are packed or in other encodings, samples of their rows."""

from __future__ import annotations

import codecs

from jumpgate.dataflow.formats import Option


def encoding_name(name: str) -> str:
    """Return the readers' name of an encoding with that alias, or `name` itself."""
    try:
        known = codecs.lookup(name).name
    except LookupError:
        return name
    return {"utf-16-le": "utf-16le", "utf-16-be": "utf-16be", "iso8859-1": "latin-1", "utf-8-sig": "utf-8"}.get(
        known, known
    )


ENCODING = Option("encoding", "utf-8", ("utf-8", "utf-16", "utf-16le", "utf-16be", "latin-1"), canonical=encoding_name)
ON_ERROR = Option("on_error", "fail", ("fail", "skip"), drops=("skip",))
#: `exact`: a text that other readers may take for another value, or for other fields, is an error
VALUES = Option("values", "convert", ("convert", "exact"))
