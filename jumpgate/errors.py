"""Every error Jumpgate raises on purpose: one root, leaves that carry fields and build their sentence."""

from __future__ import annotations

from typing import Any


class JumpgateError(Exception):
    """Root of all errors. `fields` (operator, nca, host, instance, stage, column, file, offset, line …) say where."""

    #: stable machine-readable name, used on the wire (gRPC, control protocol, JSON output)
    code = "error"
    #: True where trying again, or elsewhere, may succeed
    is_unreachable = False

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.fields = {k: v for k, v in fields.items() if v is not None}

    def to_dict(self) -> dict[str, object]:
        """Code, message and fields, as they travel between processes (`from_dict`)."""
        return {"code": self.code, "message": self.message, "fields": {k: str(v) for k, v in self.fields.items()}}


class InvalidDataflow(JumpgateError):
    """The request itself is wrong: unknown column, type mismatch, malformed plan. `problems` lists all of them."""

    code = "invalid_dataflow"

    def __init__(self, message: str, problems: tuple[str, ...] = (), **fields: object) -> None:
        super().__init__(message, **fields)
        self.problems = problems or (message,)

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "problems": list(self.problems)}


class CannotPlace(JumpgateError):
    """No accelerator accepts an operator; the message lists what each one answered."""

    code = "cannot_place"


class DataError(JumpgateError):
    """Input data is missing, unreadable, malformed or does not have the declared schema."""

    code = "data"


class FileUnreadable(DataError):
    """A file is missing, may not be read or written, or is not a regular file. Fields: file."""

    code = "io"


class FileChanged(DataError):
    """A file was written to, replaced or cut after the query that reads it was planned: running it again plans anew."""

    code = "file_changed"
    is_unreachable = True


class MalformedData(DataError):
    """A file's content is not what its format says, or a cell is not of its column's type.

    Fields: file, offset (bytes), line, column where known.
    """

    code = "malformed"


class SchemaMismatch(DataError):
    """A file does not have the columns, or the types, that its table has. Fields: file, column where known."""

    code = "schema"


class ComputeError(JumpgateError):
    """A value cannot be computed exactly: overflow, division by zero, invalid cast."""

    code = "compute"


class Overflow(ComputeError):
    """A number does not fit its type."""

    code = "overflow"


class DivisionByZero(ComputeError):
    """A division by zero where the request's dialect makes that an error."""

    code = "division_by_zero"


class InvalidCast(ComputeError):
    """A value cannot be converted to the type that was asked for."""

    code = "invalid_cast"


class MemoryLimit(JumpgateError):
    """A job's tables outgrew `memory_limit_bytes` of an instance, or what its host can give."""

    code = "memory"


class CapacityExceeded(JumpgateError):
    """A device has no room for what a job needs, though the plan expected it to. Fields: device."""

    code = "capacity"


class BuildError(JumpgateError):
    """The runtime library or a generated program did not compile (no g++, disk full, our mistake)."""

    code = "build"


class ProtocolError(JumpgateError):
    """Two ends disagree: NTF fingerprint, token, frame checksum, version."""

    code = "protocol"


class Unauthenticated(JumpgateError):
    """A service or device does not know who asks: the token is missing, or is not one of its own. Fields: address."""

    code = "unauthenticated"


class Forbidden(JumpgateError):
    """A client may not do what it asks for, or asks for more than it may have. Fields: client, file where known."""

    code = "forbidden"


class InstanceFailed(JumpgateError):
    """An instance died or stalled. Fields: instance, host, stage, signal or exit status."""

    code = "instance_failed"
    is_unreachable = True


class Unreachable(JumpgateError):
    """A service, agent or device does not answer. Fields: address, host or device."""

    code = "unreachable"
    is_unreachable = True


class Draining(Unreachable):
    """A service ends once its jobs have, and takes no new ones: another one, or the same after its restart, does."""

    code = "draining"


class Cancelled(JumpgateError):
    """Somebody ended the job: its client, an operator, or the end of the session."""

    code = "cancelled"


class TimedOut(JumpgateError):
    """A job took longer than its `timeout_ms`, or a peer longer than the protocol allows."""

    code = "timed_out"
    is_unreachable = True


class NotFound(JumpgateError):
    """Nothing has the name that was given: a table, job, accelerator or device."""

    code = "not_found"


class ConfigError(JumpgateError):
    """jumpgate.toml, an option or an installed package is wrong."""

    code = "config"


class NotInstalled(ConfigError):
    """An optional dependency is missing. Fields: module, extra (of `pip install 'jumpgate-nca[EXTRA]'`)."""

    code = "not_installed"


class InternalError(JumpgateError):
    """A mistake of ours that reached the surface."""

    code = "internal"


def kinds(cls: type[JumpgateError] = JumpgateError) -> list[type[JumpgateError]]:
    """A class of errors and all below it, each before those below."""
    return [cls] + [leaf for sub in cls.__subclasses__() for leaf in kinds(sub)]


def from_dict(data: dict[str, Any]) -> JumpgateError:
    """The typed error that `to_dict` (or the C++ control protocol) described; one with an unknown code becomes an
    InternalError whose message names it."""
    code, message = str(data.get("code")), str(data.get("message", "unknown error"))
    cls = {cls.code: cls for cls in kinds()}.get(code)
    error = cls(message) if cls else InternalError(f"{message} (error {code!r}, which is not known here)")
    error.fields = dict(data.get("fields", {}))
    if isinstance(error, InvalidDataflow) and data.get("problems"):
        error.problems = tuple(map(str, data["problems"]))
    return error
