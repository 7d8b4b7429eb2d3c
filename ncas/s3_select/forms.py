"""Forms of objects: how a request tells a store what it reads and returns, and how a statement names a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from jumpgate.dataflow.operators import Read
from jumpgate.nca.interface import Unsupported
from jumpgate.stores import settings

#: options of text that are known; others, or other values, change what a record is
_KNOWN = {"delimiter", "quote", "header", "null"}
DEFAULTS = {"values": "convert", "ragged": "error", "on_error": "fail", "encoding": "utf-8"}
#: suffix of a packed object → S3's name of the packer
PACKERS = {".gz": "GZIP", ".gzip": "GZIP", ".bz2": "BZIP2"}
_UNKNOWN_PACKERS = (".zst", ".zstd", ".xz", ".lzma", ".lz4", ".zip")
_REQUEST = (
    '<?xml version="1.0" encoding="UTF-8"?>'
    '<SelectObjectContentRequest xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Expression>{}</Expression>'
    "<ExpressionType>SQL</ExpressionType><InputSerialization>{}</InputSerialization><OutputSerialization>{}"
    "</OutputSerialization></SelectObjectContentRequest>"
)
_JSON_LINES = "<JSON><RecordDelimiter>\n</RecordDelimiter></JSON>"


@dataclass(frozen=True)
class Form:
    """`names` are all of the file's columns, in order. is_raw: the store returns fields of text as they are, instead
    of values of types that it infers."""

    format: str = "parquet"
    names: tuple[str, ...] = ()
    is_raw: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_text(self) -> bool:
        return self.format != "parquet"

    @property
    def has_header(self) -> bool:
        return self.options.get("header", "true") == "true"

    @property
    def null(self) -> str:
        """Return the text that means NULL in CSV."""
        return self.options.get("null", "")

    @property
    def returns_csv(self) -> bool:
        return self.format == "csv" and self.is_raw

    def column(self, name: str) -> str:
        """Return a column of the object as SQL."""
        if self.format == "csv" and not self.has_header:
            return f"s._{self.names.index(name) + 1:d}"
        return f's."{name}"'

    def request(self, statement: str, file: str, is_computed: bool = False) -> bytes:
        """Return the body of a request about an object. is_computed: the store returns values, not fields."""
        is_csv = self.returns_csv and not is_computed
        output = "<CSV><RecordDelimiter>\n</RecordDelimiter></CSV>" if is_csv else _JSON_LINES
        return _REQUEST.format(escape(statement), self._input(file), output).encode()

    def _input(self, file: str) -> str:
        if not self.is_text:
            return "<Parquet/>"
        packer = next((name for suffix, name in PACKERS.items() if file.endswith(suffix)), "NONE")
        packed = f"<CompressionType>{packer}</CompressionType>"
        if self.format == "json":
            return f"{packed}<JSON><Type>LINES</Type></JSON>"
        header = {"true": "USE", "skip": "IGNORE", "false": "NONE"}[self.options.get("header", "true")]
        delimiter, quote = (escape(self.options.get(of, d)) for of, d in (("delimiter", ","), ("quote", '"')))
        return (
            f"{packed}<CSV><FileHeaderInfo>{header}</FileHeaderInfo><RecordDelimiter>\n</RecordDelimiter>"
            f"<FieldDelimiter>{delimiter}</FieldDelimiter><QuoteCharacter>{quote}</QuoteCharacter>"
            f"<QuoteEscapeCharacter>{quote}</QuoteEscapeCharacter>"
            "<AllowQuotedRecordDelimiter>TRUE</AllowQuotedRecordDelimiter></CSV>"
        )


def form_of(read: Read, is_raw: bool) -> Form:
    """Return the form of the objects of a read that `refused` takes."""
    if read.format == "parquet":
        return Form()
    return Form(read.format, tuple(read.file_schema.names), is_raw, dict(read.options))


def refused(read: Read) -> Unsupported | None:
    """Return why no store is asked about such objects."""
    if read.format not in settings.SELECT_FORMATS:
        return Unsupported(f"S3 Select reads Parquet, CSV and JSON, not {read.format}", "format")
    if read.format not in settings.store_of(read.files[0]).select_formats:
        way_out = f'Add "{read.format}" to its select_formats, where the objects are as docs/object-stores.md says.'
        return Unsupported(f"its [[store]] does not have {read.format} in select_formats", "format", way_out)
    if read.format == "parquet":
        return Unsupported("S3 Select reads Parquet without options", "option") if read.options else None
    return odd_text(read)


def odd_text(read: Read) -> Unsupported | None:
    """Return why records of text are not taken apart as the readers here do."""
    for name, value in read.options:
        if name not in _KNOWN and DEFAULTS.get(name) != value:
            return Unsupported(f"S3 Select does not read text with {name} = {value}", "option")
    if odd := next((file for file in read.files if file.endswith(_UNKNOWN_PACKERS)), None):
        return Unsupported(f"S3 Select does not unpack '{odd.rsplit('.', 1)[-1]}'", "option")
    return None
