"""Frames of a stream: header, handshake, error, end. Pure functions of bytes; README.md specifies each field."""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass, field

from crc32c import crc32c

from jumpgate.errors import ProtocolError

MAGIC = b"JGTF"
VERSION = 1
HEADER_BYTES = 32
ROWS_MAX = 1 << 20
#: payload of a DATA frame, and of any other
DATA_BYTES_MAX, CONTROL_BYTES_MAX = 1 << 28, 1 << 20
#: a greeting has the names of the job, the edge and the ends beside it
DESCRIPTOR_BYTES_MAX = CONTROL_BYTES_MAX - (16 << 10)
TEXT_MAX = {"code": 64, "message": 4096}

_HEADER = struct.Struct("<4sBBHIIQI")  # magic, version, kind, flags, rows, length, sequence, reserved; then the CRC
_U32 = struct.Struct("<I")
_END = struct.Struct("<QQI")  # rows, frames, CRC


class Kind(enum.IntEnum):
    HELLO = 1
    ACCEPT = 2
    DATA = 3
    END = 4
    ERROR = 5


#: by their bytes, as every frame has one
_KINDS = {int(kind): kind for kind in Kind}


@dataclass(frozen=True)
class Header:
    """A frame's first 32 bytes. `sequence` counts the DATA frames before it; `crc` covers payload and header."""

    kind: Kind
    rows: int
    length: int
    sequence: int
    crc: int
    raw: bytes = field(repr=False)

    def check_crc(self, payload_crc: int) -> None:
        """Raise ProtocolError unless the payload, whose CRC is given, and this header are intact."""
        if crc32c(self.raw[:28], payload_crc) != self.crc:
            raise ProtocolError("a frame whose bytes do not match its checksum (CRC-32C)")


def header(kind: Kind, rows: int, length: int, sequence: int, payload_crc: int) -> bytes:
    raw = _HEADER.pack(MAGIC, VERSION, kind, 0, rows, length, sequence, 0)
    return raw + _U32.pack(crc32c(raw, payload_crc))


def control_frame(kind: Kind, payload: bytes = b"", sequence: int = 0) -> bytes:
    """Return a whole frame that carries no rows."""
    return header(kind, 0, len(payload), sequence, crc32c(payload)) + payload


def parse_header(raw: bytes) -> Header:
    """Check magic, version, kind and bounds. Raises ProtocolError."""
    magic, version, number, flags, rows, length, sequence, reserved = _HEADER.unpack_from(raw)
    if magic != MAGIC:
        raise ProtocolError("not a Jumpgate tuple stream: wrong magic number")
    if version != VERSION:
        raise ProtocolError(
            f"the peer speaks version {version} of the tuple stream, here is version {VERSION}; "
            "install the same release of Jumpgate on both ends"
        )
    if flags or reserved:
        raise ProtocolError("a frame header with unknown flags")
    kind = _KINDS.get(number)
    if kind is None:
        raise ProtocolError(f"a frame of unknown kind {number}")
    is_data = kind is Kind.DATA
    if not (1 <= rows <= ROWS_MAX if is_data else rows == 0):
        raise ProtocolError(f"a frame of {rows} rows; allowed are 1 to {ROWS_MAX}")
    most = DATA_BYTES_MAX if is_data else CONTROL_BYTES_MAX
    if length > most:
        raise ProtocolError(f"a frame of {length} bytes; at most {most} are allowed")
    return Header(kind, rows, length, sequence, _U32.unpack_from(raw, 28)[0], bytes(raw))


@dataclass(frozen=True)
class Hello:
    """A sender's introduction: its index among the producers, and the consumer (partition) that it connects to."""

    producer: int
    partition: int
    token: str = field(repr=False)
    job: str
    edge: str
    fingerprint: str
    text: str

    def encode(self) -> bytes:
        """Return the HELLO frame. Raises ProtocolError if the descriptor is too long for one."""
        texts = (self.token, self.job, self.edge, self.fingerprint, self.text)
        payload = struct.pack("<II", self.producer, self.partition) + b"".join(map(_text, texts))
        if len(payload) > CONTROL_BYTES_MAX:
            raise ProtocolError(f"a greeting of {len(payload)} bytes; at most {CONTROL_BYTES_MAX} are allowed")
        return control_frame(Kind.HELLO, payload)

    @staticmethod
    def decode(payload: bytes) -> Hello:
        try:
            producer, partition = struct.unpack_from("<II", payload)
            texts = _texts(payload[8:], 5)
        except (struct.error, ValueError):
            raise ProtocolError("a malformed greeting") from None
        return Hello(producer, partition, *texts)


def error_frame(code: str, message: str) -> bytes:
    texts = code[: TEXT_MAX["code"]], message.encode()[: TEXT_MAX["message"]].decode(errors="ignore")
    return control_frame(Kind.ERROR, b"".join(map(_text, texts)))


def decode_error(payload: bytes) -> tuple[str, str]:
    """Return (code, message) of an ERROR frame."""
    try:
        code, message = _texts(payload, 2)
    except (struct.error, ValueError):
        raise ProtocolError("a malformed error frame") from None
    return code, message


@dataclass
class StreamTotals:
    """Totals of one stream's DATA frames so far, on either side; the END frame holds the final ones."""

    rows: int = 0
    frames: int = 0
    crc: int = 0

    def add(self, rows: int, frame_crc: int) -> None:
        self.rows += rows
        self.frames += 1
        self.crc = crc32c(_U32.pack(frame_crc), self.crc)

    def end_frame(self) -> bytes:
        return control_frame(Kind.END, _END.pack(self.rows, self.frames, self.crc), self.frames)

    def check_sequence(self, header: Header) -> None:
        if header.sequence != self.frames:
            raise ProtocolError(f"frame {self.frames} was expected, frame {header.sequence} came")

    def check_end(self, payload: bytes) -> None:
        if payload == _END.pack(self.rows, self.frames, self.crc):
            return
        rows = _END.unpack(payload)[0] if len(payload) == _END.size else self.rows
        if rows != self.rows:
            raise ProtocolError(f"the sender counts {rows} rows, {self.rows} came")
        raise ProtocolError("the end frame's totals do not match the stream")


def _text(text: str) -> bytes:
    data = text.encode(errors="surrogatepass")
    return _U32.pack(len(data)) + data


def _texts(payload: bytes, count: int) -> list[str]:
    """Return exactly `count` length-prefixed texts. Raises ValueError or struct.error."""
    texts, at = [], 0
    for _ in range(count):
        (size,) = _U32.unpack_from(payload, at)
        at += 4 + size
        if at > len(payload):
            raise ValueError("a text that ends outside its frame")
        texts.append(payload[at - size : at].decode(errors="surrogatepass"))
    if at != len(payload):
        raise ValueError("bytes after the last text")
    return texts
