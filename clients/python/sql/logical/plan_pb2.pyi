from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Nulls(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RESPECT: _ClassVar[Nulls]
    IGNORE: _ClassVar[Nulls]
RESPECT: Nulls
IGNORE: Nulls

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Relation(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("name", "relation")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    relation: Relation
    def __init__(self, name: _Optional[str] = ..., relation: _Optional[_Union[Relation, _Mapping]] = ...) -> None: ...

class TableName(_message.Message):
    __slots__ = ("bare", "partial", "full")
    BARE_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FIELD_NUMBER: _ClassVar[int]
    FULL_FIELD_NUMBER: _ClassVar[int]
    bare: Bare
    partial: Partial
    full: Full
    def __init__(self, bare: _Optional[_Union[Bare, _Mapping]] = ..., partial: _Optional[_Union[Partial, _Mapping]] = ..., full: _Optional[_Union[Full, _Mapping]] = ...) -> None: ...

class Bare(_message.Message):
    __slots__ = ("table",)
    TABLE_FIELD_NUMBER: _ClassVar[int]
    table: str
    def __init__(self, table: _Optional[str] = ...) -> None: ...

class Partial(_message.Message):
    __slots__ = ("schema", "table")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    schema: str
    table: str
    def __init__(self, schema: _Optional[str] = ..., table: _Optional[str] = ...) -> None: ...

class Full(_message.Message):
    __slots__ = ("catalog", "schema", "table")
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    catalog: str
    schema: str
    table: str
    def __init__(self, catalog: _Optional[str] = ..., schema: _Optional[str] = ..., table: _Optional[str] = ...) -> None: ...

class Type(_message.Message):
    __slots__ = ("null", "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64", "utf8", "binary", "fixed_binary", "date32", "duration", "timestamp", "time32", "time64", "decimal128", "list", "large_list", "struct", "large_binary", "large_utf8", "map", "binary_view", "utf8_view")
    NULL_FIELD_NUMBER: _ClassVar[int]
    BOOL_FIELD_NUMBER: _ClassVar[int]
    UINT8_FIELD_NUMBER: _ClassVar[int]
    INT8_FIELD_NUMBER: _ClassVar[int]
    UINT16_FIELD_NUMBER: _ClassVar[int]
    INT16_FIELD_NUMBER: _ClassVar[int]
    UINT32_FIELD_NUMBER: _ClassVar[int]
    INT32_FIELD_NUMBER: _ClassVar[int]
    UINT64_FIELD_NUMBER: _ClassVar[int]
    INT64_FIELD_NUMBER: _ClassVar[int]
    FLOAT32_FIELD_NUMBER: _ClassVar[int]
    FLOAT64_FIELD_NUMBER: _ClassVar[int]
    UTF8_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    FIXED_BINARY_FIELD_NUMBER: _ClassVar[int]
    DATE32_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TIME32_FIELD_NUMBER: _ClassVar[int]
    TIME64_FIELD_NUMBER: _ClassVar[int]
    DECIMAL128_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    LARGE_LIST_FIELD_NUMBER: _ClassVar[int]
    STRUCT_FIELD_NUMBER: _ClassVar[int]
    LARGE_BINARY_FIELD_NUMBER: _ClassVar[int]
    LARGE_UTF8_FIELD_NUMBER: _ClassVar[int]
    MAP_FIELD_NUMBER: _ClassVar[int]
    BINARY_VIEW_FIELD_NUMBER: _ClassVar[int]
    UTF8_VIEW_FIELD_NUMBER: _ClassVar[int]
    null: Empty
    bool: Empty
    uint8: Empty
    int8: Empty
    uint16: Empty
    int16: Empty
    uint32: Empty
    int32: Empty
    uint64: Empty
    int64: Empty
    float32: Empty
    float64: Empty
    utf8: Empty
    binary: Empty
    fixed_binary: int
    date32: Empty
    duration: int
    timestamp: Timestamp
    time32: int
    time64: int
    decimal128: Decimal128
    list: List
    large_list: List
    struct: Struct
    large_binary: Empty
    large_utf8: Empty
    map: Map
    binary_view: Empty
    utf8_view: Empty
    def __init__(self, null: _Optional[_Union[Empty, _Mapping]] = ..., bool: _Optional[_Union[Empty, _Mapping]] = ..., uint8: _Optional[_Union[Empty, _Mapping]] = ..., int8: _Optional[_Union[Empty, _Mapping]] = ..., uint16: _Optional[_Union[Empty, _Mapping]] = ..., int16: _Optional[_Union[Empty, _Mapping]] = ..., uint32: _Optional[_Union[Empty, _Mapping]] = ..., int32: _Optional[_Union[Empty, _Mapping]] = ..., uint64: _Optional[_Union[Empty, _Mapping]] = ..., int64: _Optional[_Union[Empty, _Mapping]] = ..., float32: _Optional[_Union[Empty, _Mapping]] = ..., float64: _Optional[_Union[Empty, _Mapping]] = ..., utf8: _Optional[_Union[Empty, _Mapping]] = ..., binary: _Optional[_Union[Empty, _Mapping]] = ..., fixed_binary: _Optional[int] = ..., date32: _Optional[_Union[Empty, _Mapping]] = ..., duration: _Optional[int] = ..., timestamp: _Optional[_Union[Timestamp, _Mapping]] = ..., time32: _Optional[int] = ..., time64: _Optional[int] = ..., decimal128: _Optional[_Union[Decimal128, _Mapping]] = ..., list: _Optional[_Union[List, _Mapping]] = ..., large_list: _Optional[_Union[List, _Mapping]] = ..., struct: _Optional[_Union[Struct, _Mapping]] = ..., large_binary: _Optional[_Union[Empty, _Mapping]] = ..., large_utf8: _Optional[_Union[Empty, _Mapping]] = ..., map: _Optional[_Union[Map, _Mapping]] = ..., binary_view: _Optional[_Union[Empty, _Mapping]] = ..., utf8_view: _Optional[_Union[Empty, _Mapping]] = ...) -> None: ...

class Timestamp(_message.Message):
    __slots__ = ("unit", "zone")
    UNIT_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    unit: int
    zone: str
    def __init__(self, unit: _Optional[int] = ..., zone: _Optional[str] = ...) -> None: ...

class List(_message.Message):
    __slots__ = ("element",)
    ELEMENT_FIELD_NUMBER: _ClassVar[int]
    element: Field
    def __init__(self, element: _Optional[_Union[Field, _Mapping]] = ...) -> None: ...

class Struct(_message.Message):
    __slots__ = ("fields",)
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.RepeatedCompositeFieldContainer[Field]
    def __init__(self, fields: _Optional[_Iterable[_Union[Field, _Mapping]]] = ...) -> None: ...

class Map(_message.Message):
    __slots__ = ("entries", "sorted")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    SORTED_FIELD_NUMBER: _ClassVar[int]
    entries: Field
    sorted: bool
    def __init__(self, entries: _Optional[_Union[Field, _Mapping]] = ..., sorted: _Optional[bool] = ...) -> None: ...

class Decimal128(_message.Message):
    __slots__ = ("precision", "scale")
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    precision: int
    scale: int
    def __init__(self, precision: _Optional[int] = ..., scale: _Optional[int] = ...) -> None: ...

class Field(_message.Message):
    __slots__ = ("name", "type", "nullable", "children", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: Type
    nullable: bool
    children: _containers.RepeatedCompositeFieldContainer[Field]
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[Type, _Mapping]] = ..., nullable: _Optional[bool] = ..., children: _Optional[_Iterable[_Union[Field, _Mapping]]] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Schema(_message.Message):
    __slots__ = ("fields", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.RepeatedCompositeFieldContainer[Field]
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, fields: _Optional[_Iterable[_Union[Field, _Mapping]]] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Scalar(_message.Message):
    __slots__ = ("bool", "utf8", "large_utf8", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "date32", "time32", "decimal128", "utf8_view", "year_months", "day_time", "timestamp", "binary", "time64", "month_day_nano", "null", "fixed_binary", "duration_s", "duration_ms", "duration_us", "duration_ns")
    BOOL_FIELD_NUMBER: _ClassVar[int]
    UTF8_FIELD_NUMBER: _ClassVar[int]
    LARGE_UTF8_FIELD_NUMBER: _ClassVar[int]
    INT8_FIELD_NUMBER: _ClassVar[int]
    INT16_FIELD_NUMBER: _ClassVar[int]
    INT32_FIELD_NUMBER: _ClassVar[int]
    INT64_FIELD_NUMBER: _ClassVar[int]
    UINT8_FIELD_NUMBER: _ClassVar[int]
    UINT16_FIELD_NUMBER: _ClassVar[int]
    UINT32_FIELD_NUMBER: _ClassVar[int]
    UINT64_FIELD_NUMBER: _ClassVar[int]
    FLOAT32_FIELD_NUMBER: _ClassVar[int]
    FLOAT64_FIELD_NUMBER: _ClassVar[int]
    DATE32_FIELD_NUMBER: _ClassVar[int]
    TIME32_FIELD_NUMBER: _ClassVar[int]
    DECIMAL128_FIELD_NUMBER: _ClassVar[int]
    UTF8_VIEW_FIELD_NUMBER: _ClassVar[int]
    YEAR_MONTHS_FIELD_NUMBER: _ClassVar[int]
    DAY_TIME_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    TIME64_FIELD_NUMBER: _ClassVar[int]
    MONTH_DAY_NANO_FIELD_NUMBER: _ClassVar[int]
    NULL_FIELD_NUMBER: _ClassVar[int]
    FIXED_BINARY_FIELD_NUMBER: _ClassVar[int]
    DURATION_S_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    DURATION_US_FIELD_NUMBER: _ClassVar[int]
    DURATION_NS_FIELD_NUMBER: _ClassVar[int]
    bool: bool
    utf8: str
    large_utf8: str
    int8: int
    int16: int
    int32: int
    int64: int
    uint8: int
    uint16: int
    uint32: int
    uint64: int
    float32: float
    float64: float
    date32: int
    time32: Time32Value
    decimal128: DecimalValue
    utf8_view: str
    year_months: int
    day_time: DayTime
    timestamp: TimestampValue
    binary: bytes
    time64: Time64Value
    month_day_nano: MonthDayNano
    null: Type
    fixed_binary: FixedBinaryValue
    duration_s: int
    duration_ms: int
    duration_us: int
    duration_ns: int
    def __init__(self, bool: _Optional[bool] = ..., utf8: _Optional[str] = ..., large_utf8: _Optional[str] = ..., int8: _Optional[int] = ..., int16: _Optional[int] = ..., int32: _Optional[int] = ..., int64: _Optional[int] = ..., uint8: _Optional[int] = ..., uint16: _Optional[int] = ..., uint32: _Optional[int] = ..., uint64: _Optional[int] = ..., float32: _Optional[float] = ..., float64: _Optional[float] = ..., date32: _Optional[int] = ..., time32: _Optional[_Union[Time32Value, _Mapping]] = ..., decimal128: _Optional[_Union[DecimalValue, _Mapping]] = ..., utf8_view: _Optional[str] = ..., year_months: _Optional[int] = ..., day_time: _Optional[_Union[DayTime, _Mapping]] = ..., timestamp: _Optional[_Union[TimestampValue, _Mapping]] = ..., binary: _Optional[bytes] = ..., time64: _Optional[_Union[Time64Value, _Mapping]] = ..., month_day_nano: _Optional[_Union[MonthDayNano, _Mapping]] = ..., null: _Optional[_Union[Type, _Mapping]] = ..., fixed_binary: _Optional[_Union[FixedBinaryValue, _Mapping]] = ..., duration_s: _Optional[int] = ..., duration_ms: _Optional[int] = ..., duration_us: _Optional[int] = ..., duration_ns: _Optional[int] = ...) -> None: ...

class DecimalValue(_message.Message):
    __slots__ = ("value", "precision", "scale")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    precision: int
    scale: int
    def __init__(self, value: _Optional[bytes] = ..., precision: _Optional[int] = ..., scale: _Optional[int] = ...) -> None: ...

class Time32Value(_message.Message):
    __slots__ = ("seconds", "milliseconds")
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    seconds: int
    milliseconds: int
    def __init__(self, seconds: _Optional[int] = ..., milliseconds: _Optional[int] = ...) -> None: ...

class Time64Value(_message.Message):
    __slots__ = ("microseconds", "nanoseconds")
    MICROSECONDS_FIELD_NUMBER: _ClassVar[int]
    NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    microseconds: int
    nanoseconds: int
    def __init__(self, microseconds: _Optional[int] = ..., nanoseconds: _Optional[int] = ...) -> None: ...

class FixedBinaryValue(_message.Message):
    __slots__ = ("values", "length")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    values: bytes
    length: int
    def __init__(self, values: _Optional[bytes] = ..., length: _Optional[int] = ...) -> None: ...

class DayTime(_message.Message):
    __slots__ = ("days", "milliseconds")
    DAYS_FIELD_NUMBER: _ClassVar[int]
    MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    days: int
    milliseconds: int
    def __init__(self, days: _Optional[int] = ..., milliseconds: _Optional[int] = ...) -> None: ...

class MonthDayNano(_message.Message):
    __slots__ = ("months", "days", "nanoseconds")
    MONTHS_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    months: int
    days: int
    nanoseconds: int
    def __init__(self, months: _Optional[int] = ..., days: _Optional[int] = ..., nanoseconds: _Optional[int] = ...) -> None: ...

class TimestampValue(_message.Message):
    __slots__ = ("microseconds", "nanoseconds", "seconds", "milliseconds", "zone")
    MICROSECONDS_FIELD_NUMBER: _ClassVar[int]
    NANOSECONDS_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    microseconds: int
    nanoseconds: int
    seconds: int
    milliseconds: int
    zone: str
    def __init__(self, microseconds: _Optional[int] = ..., nanoseconds: _Optional[int] = ..., seconds: _Optional[int] = ..., milliseconds: _Optional[int] = ..., zone: _Optional[str] = ...) -> None: ...

class Expr(_message.Message):
    __slots__ = ("column", "alias", "literal", "binary", "is_null", "is_not_null", "between", "case", "cast", "negative", "in_list", "try_cast", "window", "aggregate", "call", "grouping_sets", "cube", "rollup", "is_true", "is_false", "is_unknown", "is_not_true", "is_not_false", "is_not_unknown", "like", "ilike", "similar_to", "subquery")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    LITERAL_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    IS_NULL_FIELD_NUMBER: _ClassVar[int]
    IS_NOT_NULL_FIELD_NUMBER: _ClassVar[int]
    NOT_FIELD_NUMBER: _ClassVar[int]
    BETWEEN_FIELD_NUMBER: _ClassVar[int]
    CASE_FIELD_NUMBER: _ClassVar[int]
    CAST_FIELD_NUMBER: _ClassVar[int]
    NEGATIVE_FIELD_NUMBER: _ClassVar[int]
    IN_LIST_FIELD_NUMBER: _ClassVar[int]
    TRY_CAST_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    AGGREGATE_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    GROUPING_SETS_FIELD_NUMBER: _ClassVar[int]
    CUBE_FIELD_NUMBER: _ClassVar[int]
    ROLLUP_FIELD_NUMBER: _ClassVar[int]
    IS_TRUE_FIELD_NUMBER: _ClassVar[int]
    IS_FALSE_FIELD_NUMBER: _ClassVar[int]
    IS_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    IS_NOT_TRUE_FIELD_NUMBER: _ClassVar[int]
    IS_NOT_FALSE_FIELD_NUMBER: _ClassVar[int]
    IS_NOT_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    LIKE_FIELD_NUMBER: _ClassVar[int]
    ILIKE_FIELD_NUMBER: _ClassVar[int]
    SIMILAR_TO_FIELD_NUMBER: _ClassVar[int]
    SUBQUERY_FIELD_NUMBER: _ClassVar[int]
    column: Column
    alias: Alias
    literal: Scalar
    binary: Binary
    is_null: Unary
    is_not_null: Unary
    between: Between
    case: Case
    cast: Cast
    negative: Unary
    in_list: InList
    try_cast: Cast
    window: WindowCall
    aggregate: AggregateCall
    call: Call
    grouping_sets: GroupingSets
    cube: Exprs
    rollup: Exprs
    is_true: Unary
    is_false: Unary
    is_unknown: Unary
    is_not_true: Unary
    is_not_false: Unary
    is_not_unknown: Unary
    like: Like
    ilike: Like
    similar_to: Like
    subquery: Subquery
    def __init__(self, column: _Optional[_Union[Column, _Mapping]] = ..., alias: _Optional[_Union[Alias, _Mapping]] = ..., literal: _Optional[_Union[Scalar, _Mapping]] = ..., binary: _Optional[_Union[Binary, _Mapping]] = ..., is_null: _Optional[_Union[Unary, _Mapping]] = ..., is_not_null: _Optional[_Union[Unary, _Mapping]] = ..., between: _Optional[_Union[Between, _Mapping]] = ..., case: _Optional[_Union[Case, _Mapping]] = ..., cast: _Optional[_Union[Cast, _Mapping]] = ..., negative: _Optional[_Union[Unary, _Mapping]] = ..., in_list: _Optional[_Union[InList, _Mapping]] = ..., try_cast: _Optional[_Union[Cast, _Mapping]] = ..., window: _Optional[_Union[WindowCall, _Mapping]] = ..., aggregate: _Optional[_Union[AggregateCall, _Mapping]] = ..., call: _Optional[_Union[Call, _Mapping]] = ..., grouping_sets: _Optional[_Union[GroupingSets, _Mapping]] = ..., cube: _Optional[_Union[Exprs, _Mapping]] = ..., rollup: _Optional[_Union[Exprs, _Mapping]] = ..., is_true: _Optional[_Union[Unary, _Mapping]] = ..., is_false: _Optional[_Union[Unary, _Mapping]] = ..., is_unknown: _Optional[_Union[Unary, _Mapping]] = ..., is_not_true: _Optional[_Union[Unary, _Mapping]] = ..., is_not_false: _Optional[_Union[Unary, _Mapping]] = ..., is_not_unknown: _Optional[_Union[Unary, _Mapping]] = ..., like: _Optional[_Union[Like, _Mapping]] = ..., ilike: _Optional[_Union[Like, _Mapping]] = ..., similar_to: _Optional[_Union[Like, _Mapping]] = ..., subquery: _Optional[_Union[Subquery, _Mapping]] = ..., **kwargs) -> None: ...

class Unary(_message.Message):
    __slots__ = ("input",)
    INPUT_FIELD_NUMBER: _ClassVar[int]
    input: Expr
    def __init__(self, input: _Optional[_Union[Expr, _Mapping]] = ...) -> None: ...

class Exprs(_message.Message):
    __slots__ = ("exprs",)
    EXPRS_FIELD_NUMBER: _ClassVar[int]
    exprs: _containers.RepeatedCompositeFieldContainer[Expr]
    def __init__(self, exprs: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ...) -> None: ...

class Alias(_message.Message):
    __slots__ = ("input", "name", "relation", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    INPUT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    input: Expr
    name: str
    relation: _containers.RepeatedCompositeFieldContainer[TableName]
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, input: _Optional[_Union[Expr, _Mapping]] = ..., name: _Optional[str] = ..., relation: _Optional[_Iterable[_Union[TableName, _Mapping]]] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Binary(_message.Message):
    __slots__ = ("operands", "operator")
    OPERANDS_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    operands: _containers.RepeatedCompositeFieldContainer[Expr]
    operator: str
    def __init__(self, operands: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., operator: _Optional[str] = ...) -> None: ...

class Between(_message.Message):
    __slots__ = ("input", "negated", "low", "high")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    NEGATED_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    input: Expr
    negated: bool
    low: Expr
    high: Expr
    def __init__(self, input: _Optional[_Union[Expr, _Mapping]] = ..., negated: _Optional[bool] = ..., low: _Optional[_Union[Expr, _Mapping]] = ..., high: _Optional[_Union[Expr, _Mapping]] = ...) -> None: ...

class Case(_message.Message):
    __slots__ = ("base", "whens", "otherwise")
    BASE_FIELD_NUMBER: _ClassVar[int]
    WHENS_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_FIELD_NUMBER: _ClassVar[int]
    base: Expr
    whens: _containers.RepeatedCompositeFieldContainer[When]
    otherwise: Expr
    def __init__(self, base: _Optional[_Union[Expr, _Mapping]] = ..., whens: _Optional[_Iterable[_Union[When, _Mapping]]] = ..., otherwise: _Optional[_Union[Expr, _Mapping]] = ...) -> None: ...

class When(_message.Message):
    __slots__ = ("when", "then")
    WHEN_FIELD_NUMBER: _ClassVar[int]
    THEN_FIELD_NUMBER: _ClassVar[int]
    when: Expr
    then: Expr
    def __init__(self, when: _Optional[_Union[Expr, _Mapping]] = ..., then: _Optional[_Union[Expr, _Mapping]] = ...) -> None: ...

class Cast(_message.Message):
    __slots__ = ("input", "type", "metadata", "nullable")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    INPUT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    NULLABLE_FIELD_NUMBER: _ClassVar[int]
    input: Expr
    type: Type
    metadata: _containers.ScalarMap[str, str]
    nullable: bool
    def __init__(self, input: _Optional[_Union[Expr, _Mapping]] = ..., type: _Optional[_Union[Type, _Mapping]] = ..., metadata: _Optional[_Mapping[str, str]] = ..., nullable: _Optional[bool] = ...) -> None: ...

class InList(_message.Message):
    __slots__ = ("input", "list", "negated")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    NEGATED_FIELD_NUMBER: _ClassVar[int]
    input: Expr
    list: _containers.RepeatedCompositeFieldContainer[Expr]
    negated: bool
    def __init__(self, input: _Optional[_Union[Expr, _Mapping]] = ..., list: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., negated: _Optional[bool] = ...) -> None: ...

class Like(_message.Message):
    __slots__ = ("negated", "input", "pattern", "escape")
    NEGATED_FIELD_NUMBER: _ClassVar[int]
    INPUT_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    ESCAPE_FIELD_NUMBER: _ClassVar[int]
    negated: bool
    input: Expr
    pattern: Expr
    escape: str
    def __init__(self, negated: _Optional[bool] = ..., input: _Optional[_Union[Expr, _Mapping]] = ..., pattern: _Optional[_Union[Expr, _Mapping]] = ..., escape: _Optional[str] = ...) -> None: ...

class Call(_message.Message):
    __slots__ = ("name", "args", "definition")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    name: str
    args: _containers.RepeatedCompositeFieldContainer[Expr]
    definition: bytes
    def __init__(self, name: _Optional[str] = ..., args: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., definition: _Optional[bytes] = ...) -> None: ...

class AggregateCall(_message.Message):
    __slots__ = ("name", "args", "filter", "order_by", "distinct", "definition", "nulls")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    name: str
    args: _containers.RepeatedCompositeFieldContainer[Expr]
    filter: Expr
    order_by: _containers.RepeatedCompositeFieldContainer[SortKey]
    distinct: bool
    definition: bytes
    nulls: Nulls
    def __init__(self, name: _Optional[str] = ..., args: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., filter: _Optional[_Union[Expr, _Mapping]] = ..., order_by: _Optional[_Iterable[_Union[SortKey, _Mapping]]] = ..., distinct: _Optional[bool] = ..., definition: _Optional[bytes] = ..., nulls: _Optional[_Union[Nulls, str]] = ...) -> None: ...

class WindowCall(_message.Message):
    __slots__ = ("aggregate", "window", "args", "partition_by", "order_by", "frame", "definition", "nulls", "distinct", "filter")
    AGGREGATE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    ARGS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_BY_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    aggregate: str
    window: str
    args: _containers.RepeatedCompositeFieldContainer[Expr]
    partition_by: _containers.RepeatedCompositeFieldContainer[Expr]
    order_by: _containers.RepeatedCompositeFieldContainer[SortKey]
    frame: Frame
    definition: bytes
    nulls: Nulls
    distinct: bool
    filter: Expr
    def __init__(self, aggregate: _Optional[str] = ..., window: _Optional[str] = ..., args: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., partition_by: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., order_by: _Optional[_Iterable[_Union[SortKey, _Mapping]]] = ..., frame: _Optional[_Union[Frame, _Mapping]] = ..., definition: _Optional[bytes] = ..., nulls: _Optional[_Union[Nulls, str]] = ..., distinct: _Optional[bool] = ..., filter: _Optional[_Union[Expr, _Mapping]] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("unit", "start", "end")
    class Unit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ROWS: _ClassVar[Frame.Unit]
        RANGE: _ClassVar[Frame.Unit]
        GROUPS: _ClassVar[Frame.Unit]
    ROWS: Frame.Unit
    RANGE: Frame.Unit
    GROUPS: Frame.Unit
    UNIT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    unit: Frame.Unit
    start: Bound
    end: Bound
    def __init__(self, unit: _Optional[_Union[Frame.Unit, str]] = ..., start: _Optional[_Union[Bound, _Mapping]] = ..., end: _Optional[_Union[Bound, _Mapping]] = ...) -> None: ...

class Bound(_message.Message):
    __slots__ = ("kind", "offset")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CURRENT_ROW: _ClassVar[Bound.Kind]
        PRECEDING: _ClassVar[Bound.Kind]
        FOLLOWING: _ClassVar[Bound.Kind]
    CURRENT_ROW: Bound.Kind
    PRECEDING: Bound.Kind
    FOLLOWING: Bound.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    kind: Bound.Kind
    offset: Scalar
    def __init__(self, kind: _Optional[_Union[Bound.Kind, str]] = ..., offset: _Optional[_Union[Scalar, _Mapping]] = ...) -> None: ...

class SortKey(_message.Message):
    __slots__ = ("expr", "ascending", "nulls_first")
    EXPR_FIELD_NUMBER: _ClassVar[int]
    ASCENDING_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIRST_FIELD_NUMBER: _ClassVar[int]
    expr: Expr
    ascending: bool
    nulls_first: bool
    def __init__(self, expr: _Optional[_Union[Expr, _Mapping]] = ..., ascending: _Optional[bool] = ..., nulls_first: _Optional[bool] = ...) -> None: ...

class GroupingSets(_message.Message):
    __slots__ = ("sets",)
    SETS_FIELD_NUMBER: _ClassVar[int]
    sets: _containers.RepeatedCompositeFieldContainer[Exprs]
    def __init__(self, sets: _Optional[_Iterable[_Union[Exprs, _Mapping]]] = ...) -> None: ...

class Subquery(_message.Message):
    __slots__ = ("plan",)
    PLAN_FIELD_NUMBER: _ClassVar[int]
    plan: SubqueryPlan
    def __init__(self, plan: _Optional[_Union[SubqueryPlan, _Mapping]] = ...) -> None: ...

class SubqueryPlan(_message.Message):
    __slots__ = ("plan", "outer_columns")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    OUTER_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    plan: Plan
    outer_columns: _containers.RepeatedCompositeFieldContainer[Expr]
    def __init__(self, plan: _Optional[_Union[Plan, _Mapping]] = ..., outer_columns: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("scan", "projection", "filter", "limit", "aggregate", "join", "sort", "empty_relation", "window", "cross_join", "values", "union", "subquery_alias", "distinct", "view", "distinct_on", "unnest", "repartition")
    SCAN_FIELD_NUMBER: _ClassVar[int]
    PROJECTION_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    AGGREGATE_FIELD_NUMBER: _ClassVar[int]
    JOIN_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    EMPTY_RELATION_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    CROSS_JOIN_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    UNION_FIELD_NUMBER: _ClassVar[int]
    SUBQUERY_ALIAS_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_ON_FIELD_NUMBER: _ClassVar[int]
    UNNEST_FIELD_NUMBER: _ClassVar[int]
    REPARTITION_FIELD_NUMBER: _ClassVar[int]
    scan: Scan
    projection: Projection
    filter: Filter
    limit: Limit
    aggregate: Aggregate
    join: Join
    sort: Sort
    empty_relation: EmptyRelation
    window: Window
    cross_join: CrossJoin
    values: Values
    union: Union
    subquery_alias: SubqueryAlias
    distinct: Distinct
    view: Over
    distinct_on: OverFourth
    unnest: OverFirst
    repartition: OverFirst
    def __init__(self, scan: _Optional[_Union[Scan, _Mapping]] = ..., projection: _Optional[_Union[Projection, _Mapping]] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ..., limit: _Optional[_Union[Limit, _Mapping]] = ..., aggregate: _Optional[_Union[Aggregate, _Mapping]] = ..., join: _Optional[_Union[Join, _Mapping]] = ..., sort: _Optional[_Union[Sort, _Mapping]] = ..., empty_relation: _Optional[_Union[EmptyRelation, _Mapping]] = ..., window: _Optional[_Union[Window, _Mapping]] = ..., cross_join: _Optional[_Union[CrossJoin, _Mapping]] = ..., values: _Optional[_Union[Values, _Mapping]] = ..., union: _Optional[_Union[Union, _Mapping]] = ..., subquery_alias: _Optional[_Union[SubqueryAlias, _Mapping]] = ..., distinct: _Optional[_Union[Distinct, _Mapping]] = ..., view: _Optional[_Union[Over, _Mapping]] = ..., distinct_on: _Optional[_Union[OverFourth, _Mapping]] = ..., unnest: _Optional[_Union[OverFirst, _Mapping]] = ..., repartition: _Optional[_Union[OverFirst, _Mapping]] = ...) -> None: ...

class OverFirst(_message.Message):
    __slots__ = ("input",)
    INPUT_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ...) -> None: ...

class Over(_message.Message):
    __slots__ = ("input",)
    INPUT_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ...) -> None: ...

class OverFourth(_message.Message):
    __slots__ = ("input",)
    INPUT_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ...) -> None: ...

class Names(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class Scan(_message.Message):
    __slots__ = ("paths", "file_extension", "projection", "schema", "filters", "parquet", "table", "arrow")
    PATHS_FIELD_NUMBER: _ClassVar[int]
    FILE_EXTENSION_FIELD_NUMBER: _ClassVar[int]
    PROJECTION_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    FILTERS_FIELD_NUMBER: _ClassVar[int]
    PARQUET_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    ARROW_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    file_extension: str
    projection: Names
    schema: Schema
    filters: _containers.RepeatedCompositeFieldContainer[Expr]
    parquet: Parquet
    table: TableName
    arrow: Empty
    def __init__(self, paths: _Optional[_Iterable[str]] = ..., file_extension: _Optional[str] = ..., projection: _Optional[_Union[Names, _Mapping]] = ..., schema: _Optional[_Union[Schema, _Mapping]] = ..., filters: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., parquet: _Optional[_Union[Parquet, _Mapping]] = ..., table: _Optional[_Union[TableName, _Mapping]] = ..., arrow: _Optional[_Union[Empty, _Mapping]] = ...) -> None: ...

class Parquet(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Projection(_message.Message):
    __slots__ = ("input", "exprs")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    EXPRS_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    exprs: _containers.RepeatedCompositeFieldContainer[Expr]
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ..., exprs: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("input", "predicate")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    predicate: Expr
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ..., predicate: _Optional[_Union[Expr, _Mapping]] = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ("input", "skip", "fetch")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    SKIP_FIELD_NUMBER: _ClassVar[int]
    FETCH_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    skip: int
    fetch: int
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ..., skip: _Optional[int] = ..., fetch: _Optional[int] = ...) -> None: ...

class Aggregate(_message.Message):
    __slots__ = ("input", "keys", "measures")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    MEASURES_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    keys: _containers.RepeatedCompositeFieldContainer[Expr]
    measures: _containers.RepeatedCompositeFieldContainer[Expr]
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ..., keys: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., measures: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ...) -> None: ...

class Join(_message.Message):
    __slots__ = ("left", "right", "type", "constraint", "left_keys", "right_keys", "nulls_are_equal", "filter", "null_aware")
    class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        INNER: _ClassVar[Join.Type]
        LEFT: _ClassVar[Join.Type]
        RIGHT: _ClassVar[Join.Type]
        FULL: _ClassVar[Join.Type]
        LEFT_SEMI: _ClassVar[Join.Type]
        LEFT_ANTI: _ClassVar[Join.Type]
        RIGHT_SEMI: _ClassVar[Join.Type]
        RIGHT_ANTI: _ClassVar[Join.Type]
        LEFT_MARK: _ClassVar[Join.Type]
        RIGHT_MARK: _ClassVar[Join.Type]
    INNER: Join.Type
    LEFT: Join.Type
    RIGHT: Join.Type
    FULL: Join.Type
    LEFT_SEMI: Join.Type
    LEFT_ANTI: Join.Type
    RIGHT_SEMI: Join.Type
    RIGHT_ANTI: Join.Type
    LEFT_MARK: Join.Type
    RIGHT_MARK: Join.Type
    LEFT_FIELD_NUMBER: _ClassVar[int]
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINT_FIELD_NUMBER: _ClassVar[int]
    LEFT_KEYS_FIELD_NUMBER: _ClassVar[int]
    RIGHT_KEYS_FIELD_NUMBER: _ClassVar[int]
    NULLS_ARE_EQUAL_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    NULL_AWARE_FIELD_NUMBER: _ClassVar[int]
    left: Plan
    right: Plan
    type: Join.Type
    constraint: int
    left_keys: _containers.RepeatedCompositeFieldContainer[Expr]
    right_keys: _containers.RepeatedCompositeFieldContainer[Expr]
    nulls_are_equal: bool
    filter: Expr
    null_aware: bool
    def __init__(self, left: _Optional[_Union[Plan, _Mapping]] = ..., right: _Optional[_Union[Plan, _Mapping]] = ..., type: _Optional[_Union[Join.Type, str]] = ..., constraint: _Optional[int] = ..., left_keys: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., right_keys: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ..., nulls_are_equal: _Optional[bool] = ..., filter: _Optional[_Union[Expr, _Mapping]] = ..., null_aware: _Optional[bool] = ...) -> None: ...

class Sort(_message.Message):
    __slots__ = ("input", "keys", "fetch")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    FETCH_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    keys: _containers.RepeatedCompositeFieldContainer[SortKey]
    fetch: int
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ..., keys: _Optional[_Iterable[_Union[SortKey, _Mapping]]] = ..., fetch: _Optional[int] = ...) -> None: ...

class EmptyRelation(_message.Message):
    __slots__ = ("produces_one_row",)
    PRODUCES_ONE_ROW_FIELD_NUMBER: _ClassVar[int]
    produces_one_row: bool
    def __init__(self, produces_one_row: _Optional[bool] = ...) -> None: ...

class Window(_message.Message):
    __slots__ = ("input", "exprs")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    EXPRS_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    exprs: _containers.RepeatedCompositeFieldContainer[Expr]
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ..., exprs: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ...) -> None: ...

class CrossJoin(_message.Message):
    __slots__ = ("left", "right")
    LEFT_FIELD_NUMBER: _ClassVar[int]
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    left: Plan
    right: Plan
    def __init__(self, left: _Optional[_Union[Plan, _Mapping]] = ..., right: _Optional[_Union[Plan, _Mapping]] = ...) -> None: ...

class Values(_message.Message):
    __slots__ = ("columns", "exprs")
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    EXPRS_FIELD_NUMBER: _ClassVar[int]
    columns: int
    exprs: _containers.RepeatedCompositeFieldContainer[Expr]
    def __init__(self, columns: _Optional[int] = ..., exprs: _Optional[_Iterable[_Union[Expr, _Mapping]]] = ...) -> None: ...

class Union(_message.Message):
    __slots__ = ("inputs",)
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[Plan]
    def __init__(self, inputs: _Optional[_Iterable[_Union[Plan, _Mapping]]] = ...) -> None: ...

class SubqueryAlias(_message.Message):
    __slots__ = ("input", "alias")
    INPUT_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    alias: TableName
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ..., alias: _Optional[_Union[TableName, _Mapping]] = ...) -> None: ...

class Distinct(_message.Message):
    __slots__ = ("input",)
    INPUT_FIELD_NUMBER: _ClassVar[int]
    input: Plan
    def __init__(self, input: _Optional[_Union[Plan, _Mapping]] = ...) -> None: ...
