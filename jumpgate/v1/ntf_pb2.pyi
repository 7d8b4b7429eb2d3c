from jumpgate.v1 import dataflow_pb2 as _dataflow_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NetworkTupleFormat(_message.Message):
    __slots__ = ("schema", "layout", "byte_order", "packed", "alignment", "text", "fingerprint")
    class Layout(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        LAYOUT_UNSPECIFIED: _ClassVar[NetworkTupleFormat.Layout]
        COLUMNAR: _ClassVar[NetworkTupleFormat.Layout]
        ROW: _ClassVar[NetworkTupleFormat.Layout]
    LAYOUT_UNSPECIFIED: NetworkTupleFormat.Layout
    COLUMNAR: NetworkTupleFormat.Layout
    ROW: NetworkTupleFormat.Layout
    class ByteOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        BYTE_ORDER_UNSPECIFIED: _ClassVar[NetworkTupleFormat.ByteOrder]
        LITTLE: _ClassVar[NetworkTupleFormat.ByteOrder]
        BIG: _ClassVar[NetworkTupleFormat.ByteOrder]
    BYTE_ORDER_UNSPECIFIED: NetworkTupleFormat.ByteOrder
    LITTLE: NetworkTupleFormat.ByteOrder
    BIG: NetworkTupleFormat.ByteOrder
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    BYTE_ORDER_FIELD_NUMBER: _ClassVar[int]
    PACKED_FIELD_NUMBER: _ClassVar[int]
    ALIGNMENT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    schema: _dataflow_pb2.Schema
    layout: NetworkTupleFormat.Layout
    byte_order: NetworkTupleFormat.ByteOrder
    packed: bool
    alignment: int
    text: str
    fingerprint: str
    def __init__(self, schema: _Optional[_Union[_dataflow_pb2.Schema, _Mapping]] = ..., layout: _Optional[_Union[NetworkTupleFormat.Layout, str]] = ..., byte_order: _Optional[_Union[NetworkTupleFormat.ByteOrder, str]] = ..., packed: _Optional[bool] = ..., alignment: _Optional[int] = ..., text: _Optional[str] = ..., fingerprint: _Optional[str] = ...) -> None: ...
