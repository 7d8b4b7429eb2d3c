"""The error that a P4Runtime server answers a refused request with."""

from __future__ import annotations

import grpc

from jumpgate.errors import JumpgateError


class Refused(JumpgateError):
    """A request, or one update of it, that is refused with a gRPC status."""

    code = "p4runtime"
    status = grpc.StatusCode.UNKNOWN

    @classmethod
    def of(cls, status: grpc.StatusCode, message: str) -> Refused:
        refused = cls(message)
        refused.status = status
        return refused

    @property
    def number(self) -> int:
        """As google.rpc.Code counts."""
        return int(self.status.value[0])


def invalid(message: str) -> Refused:
    return Refused.of(grpc.StatusCode.INVALID_ARGUMENT, message)


def not_found(message: str) -> Refused:
    return Refused.of(grpc.StatusCode.NOT_FOUND, message)


def unimplemented(message: str) -> Refused:
    return Refused.of(grpc.StatusCode.UNIMPLEMENTED, message)


def number(data: bytes, bits: int, what: str) -> int:
    """The value of a P4Runtime byte string (specification 1.3, §8.3): big endian, leading zeros are fine, empty or too
    large values are not. Raises Refused."""
    if not data:
        raise invalid(f"{what} is an empty byte string")
    value = int.from_bytes(data, "big")
    if value >> bits:
        raise Refused.of(grpc.StatusCode.OUT_OF_RANGE, f"{what} is {value}, which does not fit into {bits} bits")
    return value


def canonical(value: int) -> bytes:
    """The shortest byte string of a value; zero is one byte."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")
