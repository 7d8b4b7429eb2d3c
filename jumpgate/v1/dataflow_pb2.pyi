from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Dataflow(_message.Message):
    __slots__ = ("operators", "expressions", "dialect")
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    operators: _containers.RepeatedCompositeFieldContainer[Operator]
    expressions: _containers.RepeatedCompositeFieldContainer[Expression]
    dialect: Dialect
    def __init__(self, operators: _Optional[_Iterable[_Union[Operator, _Mapping]]] = ..., expressions: _Optional[_Iterable[_Union[Expression, _Mapping]]] = ..., dialect: _Optional[_Union[Dialect, _Mapping]] = ...) -> None: ...

class Dialect(_message.Message):
    __slots__ = ("on_overflow", "division_by_zero", "to_integer", "nan")
    ON_OVERFLOW_FIELD_NUMBER: _ClassVar[int]
    DIVISION_BY_ZERO_FIELD_NUMBER: _ClassVar[int]
    TO_INTEGER_FIELD_NUMBER: _ClassVar[int]
    NAN_FIELD_NUMBER: _ClassVar[int]
    on_overflow: str
    division_by_zero: str
    to_integer: str
    nan: str
    def __init__(self, on_overflow: _Optional[str] = ..., division_by_zero: _Optional[str] = ..., to_integer: _Optional[str] = ..., nan: _Optional[str] = ...) -> None: ...

class Type(_message.Message):
    __slots__ = ("kind", "precision", "scale", "required", "description", "zone", "unit", "parts")
    KIND_FIELD_NUMBER: _ClassVar[int]
    PRECISION_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    precision: int
    scale: int
    required: bool
    description: str
    zone: str
    unit: str
    parts: _containers.RepeatedCompositeFieldContainer[Field]
    def __init__(self, kind: _Optional[str] = ..., precision: _Optional[int] = ..., scale: _Optional[int] = ..., required: _Optional[bool] = ..., description: _Optional[str] = ..., zone: _Optional[str] = ..., unit: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[Field, _Mapping]]] = ...) -> None: ...

class Field(_message.Message):
    __slots__ = ("name", "type")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: Type
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[Type, _Mapping]] = ...) -> None: ...

class Schema(_message.Message):
    __slots__ = ("fields",)
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    fields: _containers.RepeatedCompositeFieldContainer[Field]
    def __init__(self, fields: _Optional[_Iterable[_Union[Field, _Mapping]]] = ...) -> None: ...

class Expression(_message.Message):
    __slots__ = ("type", "column", "literal", "call", "cast", "case", "member")
    class Column(_message.Message):
        __slots__ = ("index", "name")
        INDEX_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        index: int
        name: str
        def __init__(self, index: _Optional[int] = ..., name: _Optional[str] = ...) -> None: ...
    class Call(_message.Message):
        __slots__ = ("function", "arguments")
        FUNCTION_FIELD_NUMBER: _ClassVar[int]
        ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
        function: str
        arguments: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, function: _Optional[str] = ..., arguments: _Optional[_Iterable[int]] = ...) -> None: ...
    class Cast(_message.Message):
        __slots__ = ("input", "null_on_failure")
        INPUT_FIELD_NUMBER: _ClassVar[int]
        NULL_ON_FAILURE_FIELD_NUMBER: _ClassVar[int]
        input: int
        null_on_failure: bool
        def __init__(self, input: _Optional[int] = ..., null_on_failure: _Optional[bool] = ...) -> None: ...
    class Case(_message.Message):
        __slots__ = ("branches", "otherwise")
        BRANCHES_FIELD_NUMBER: _ClassVar[int]
        OTHERWISE_FIELD_NUMBER: _ClassVar[int]
        branches: _containers.RepeatedScalarFieldContainer[int]
        otherwise: int
        def __init__(self, branches: _Optional[_Iterable[int]] = ..., otherwise: _Optional[int] = ...) -> None: ...
    class Member(_message.Message):
        __slots__ = ("input", "index")
        INPUT_FIELD_NUMBER: _ClassVar[int]
        INDEX_FIELD_NUMBER: _ClassVar[int]
        input: int
        index: int
        def __init__(self, input: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...
    class In(_message.Message):
        __slots__ = ("input", "options")
        INPUT_FIELD_NUMBER: _ClassVar[int]
        OPTIONS_FIELD_NUMBER: _ClassVar[int]
        input: int
        options: _containers.RepeatedCompositeFieldContainer[Literal]
        def __init__(self, input: _Optional[int] = ..., options: _Optional[_Iterable[_Union[Literal, _Mapping]]] = ...) -> None: ...
    TYPE_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    LITERAL_FIELD_NUMBER: _ClassVar[int]
    CALL_FIELD_NUMBER: _ClassVar[int]
    CAST_FIELD_NUMBER: _ClassVar[int]
    CASE_FIELD_NUMBER: _ClassVar[int]
    IN_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    type: Type
    column: Expression.Column
    literal: Literal
    call: Expression.Call
    cast: Expression.Cast
    case: Expression.Case
    member: Expression.Member
    def __init__(self, type: _Optional[_Union[Type, _Mapping]] = ..., column: _Optional[_Union[Expression.Column, _Mapping]] = ..., literal: _Optional[_Union[Literal, _Mapping]] = ..., call: _Optional[_Union[Expression.Call, _Mapping]] = ..., cast: _Optional[_Union[Expression.Cast, _Mapping]] = ..., case: _Optional[_Union[Expression.Case, _Mapping]] = ..., member: _Optional[_Union[Expression.Member, _Mapping]] = ..., **kwargs) -> None: ...

class Literal(_message.Message):
    __slots__ = ("boolean", "integer", "floating", "decimal", "days", "microseconds", "text", "data")
    BOOLEAN_FIELD_NUMBER: _ClassVar[int]
    INTEGER_FIELD_NUMBER: _ClassVar[int]
    FLOATING_FIELD_NUMBER: _ClassVar[int]
    DECIMAL_FIELD_NUMBER: _ClassVar[int]
    DAYS_FIELD_NUMBER: _ClassVar[int]
    MICROSECONDS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    boolean: bool
    integer: int
    floating: float
    decimal: str
    days: int
    microseconds: int
    text: str
    data: bytes
    def __init__(self, boolean: _Optional[bool] = ..., integer: _Optional[int] = ..., floating: _Optional[float] = ..., decimal: _Optional[str] = ..., days: _Optional[int] = ..., microseconds: _Optional[int] = ..., text: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class Operator(_message.Message):
    __slots__ = ("inputs", "read", "filter", "project", "join", "aggregate", "sort", "limit", "distinct", "union_all", "shuffle", "send", "window", "skyline", "unnest")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    JOIN_FIELD_NUMBER: _ClassVar[int]
    AGGREGATE_FIELD_NUMBER: _ClassVar[int]
    SORT_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FIELD_NUMBER: _ClassVar[int]
    UNION_ALL_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_FIELD_NUMBER: _ClassVar[int]
    SEND_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    SKYLINE_FIELD_NUMBER: _ClassVar[int]
    UNNEST_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedScalarFieldContainer[int]
    read: Read
    filter: Filter
    project: Project
    join: Join
    aggregate: Aggregate
    sort: Sort
    limit: Limit
    distinct: Distinct
    union_all: UnionAll
    shuffle: Shuffle
    send: Send
    window: Window
    skyline: Skyline
    unnest: Unnest
    def __init__(self, inputs: _Optional[_Iterable[int]] = ..., read: _Optional[_Union[Read, _Mapping]] = ..., filter: _Optional[_Union[Filter, _Mapping]] = ..., project: _Optional[_Union[Project, _Mapping]] = ..., join: _Optional[_Union[Join, _Mapping]] = ..., aggregate: _Optional[_Union[Aggregate, _Mapping]] = ..., sort: _Optional[_Union[Sort, _Mapping]] = ..., limit: _Optional[_Union[Limit, _Mapping]] = ..., distinct: _Optional[_Union[Distinct, _Mapping]] = ..., union_all: _Optional[_Union[UnionAll, _Mapping]] = ..., shuffle: _Optional[_Union[Shuffle, _Mapping]] = ..., send: _Optional[_Union[Send, _Mapping]] = ..., window: _Optional[_Union[Window, _Mapping]] = ..., skyline: _Optional[_Union[Skyline, _Mapping]] = ..., unnest: _Optional[_Union[Unnest, _Mapping]] = ...) -> None: ...

class Read(_message.Message):
    __slots__ = ("files", "format", "file_schema", "columns", "options", "predicate")
    class OptionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    FILES_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    FILE_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedScalarFieldContainer[str]
    format: str
    file_schema: Schema
    columns: _containers.RepeatedScalarFieldContainer[int]
    options: _containers.ScalarMap[str, str]
    predicate: int
    def __init__(self, files: _Optional[_Iterable[str]] = ..., format: _Optional[str] = ..., file_schema: _Optional[_Union[Schema, _Mapping]] = ..., columns: _Optional[_Iterable[int]] = ..., options: _Optional[_Mapping[str, str]] = ..., predicate: _Optional[int] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("predicate",)
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    predicate: int
    def __init__(self, predicate: _Optional[int] = ...) -> None: ...

class Project(_message.Message):
    __slots__ = ("expressions", "names")
    EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    expressions: _containers.RepeatedScalarFieldContainer[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, expressions: _Optional[_Iterable[int]] = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class Join(_message.Message):
    __slots__ = ("type", "left_keys", "right_keys", "residual")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LEFT_KEYS_FIELD_NUMBER: _ClassVar[int]
    RIGHT_KEYS_FIELD_NUMBER: _ClassVar[int]
    RESIDUAL_FIELD_NUMBER: _ClassVar[int]
    type: str
    left_keys: _containers.RepeatedScalarFieldContainer[int]
    right_keys: _containers.RepeatedScalarFieldContainer[int]
    residual: int
    def __init__(self, type: _Optional[str] = ..., left_keys: _Optional[_Iterable[int]] = ..., right_keys: _Optional[_Iterable[int]] = ..., residual: _Optional[int] = ...) -> None: ...

class Aggregate(_message.Message):
    __slots__ = ("keys", "key_names", "measures", "phase")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    KEY_NAMES_FIELD_NUMBER: _ClassVar[int]
    MEASURES_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[int]
    key_names: _containers.RepeatedScalarFieldContainer[str]
    measures: _containers.RepeatedCompositeFieldContainer[Measure]
    phase: str
    def __init__(self, keys: _Optional[_Iterable[int]] = ..., key_names: _Optional[_Iterable[str]] = ..., measures: _Optional[_Iterable[_Union[Measure, _Mapping]]] = ..., phase: _Optional[str] = ...) -> None: ...

class Measure(_message.Message):
    __slots__ = ("function", "argument", "type", "name", "more_arguments", "order")
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MORE_ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    function: str
    argument: int
    type: Type
    name: str
    more_arguments: _containers.RepeatedScalarFieldContainer[int]
    order: _containers.RepeatedCompositeFieldContainer[SortKey]
    def __init__(self, function: _Optional[str] = ..., argument: _Optional[int] = ..., type: _Optional[_Union[Type, _Mapping]] = ..., name: _Optional[str] = ..., more_arguments: _Optional[_Iterable[int]] = ..., order: _Optional[_Iterable[_Union[SortKey, _Mapping]]] = ...) -> None: ...

class SortKey(_message.Message):
    __slots__ = ("expression", "descending", "nulls_first")
    EXPRESSION_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    NULLS_FIRST_FIELD_NUMBER: _ClassVar[int]
    expression: int
    descending: bool
    nulls_first: bool
    def __init__(self, expression: _Optional[int] = ..., descending: _Optional[bool] = ..., nulls_first: _Optional[bool] = ...) -> None: ...

class Sort(_message.Message):
    __slots__ = ("keys", "limit", "offset")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[SortKey]
    limit: int
    offset: int
    def __init__(self, keys: _Optional[_Iterable[_Union[SortKey, _Mapping]]] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class Skyline(_message.Message):
    __slots__ = ("keys",)
    KEYS_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[SortKey]
    def __init__(self, keys: _Optional[_Iterable[_Union[SortKey, _Mapping]]] = ...) -> None: ...

class Unnest(_message.Message):
    __slots__ = ("list", "name", "outer")
    LIST_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OUTER_FIELD_NUMBER: _ClassVar[int]
    list: int
    name: str
    outer: bool
    def __init__(self, list: _Optional[int] = ..., name: _Optional[str] = ..., outer: _Optional[bool] = ...) -> None: ...

class Frame(_message.Message):
    __slots__ = ("unit", "start", "end")
    UNIT_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    unit: str
    start: int
    end: int
    def __init__(self, unit: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class WindowFunction(_message.Message):
    __slots__ = ("function", "arguments", "type", "name")
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    function: str
    arguments: _containers.RepeatedScalarFieldContainer[int]
    type: Type
    name: str
    def __init__(self, function: _Optional[str] = ..., arguments: _Optional[_Iterable[int]] = ..., type: _Optional[_Union[Type, _Mapping]] = ..., name: _Optional[str] = ...) -> None: ...

class Window(_message.Message):
    __slots__ = ("partition_by", "order_by", "functions", "frame")
    PARTITION_BY_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    FUNCTIONS_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    partition_by: _containers.RepeatedScalarFieldContainer[int]
    order_by: _containers.RepeatedCompositeFieldContainer[SortKey]
    functions: _containers.RepeatedCompositeFieldContainer[WindowFunction]
    frame: Frame
    def __init__(self, partition_by: _Optional[_Iterable[int]] = ..., order_by: _Optional[_Iterable[_Union[SortKey, _Mapping]]] = ..., functions: _Optional[_Iterable[_Union[WindowFunction, _Mapping]]] = ..., frame: _Optional[_Union[Frame, _Mapping]] = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ("count", "offset")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    count: int
    offset: int
    def __init__(self, count: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class Distinct(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class UnionAll(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Partitioning(_message.Message):
    __slots__ = ("kind", "keys", "count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    keys: _containers.RepeatedScalarFieldContainer[int]
    count: int
    def __init__(self, kind: _Optional[str] = ..., keys: _Optional[_Iterable[int]] = ..., count: _Optional[int] = ...) -> None: ...

class Shuffle(_message.Message):
    __slots__ = ("partitioning",)
    PARTITIONING_FIELD_NUMBER: _ClassVar[int]
    partitioning: Partitioning
    def __init__(self, partitioning: _Optional[_Union[Partitioning, _Mapping]] = ...) -> None: ...

class Send(_message.Message):
    __slots__ = ("endpoints", "partitioning", "layout")
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONING_FIELD_NUMBER: _ClassVar[int]
    LAYOUT_FIELD_NUMBER: _ClassVar[int]
    endpoints: _containers.RepeatedScalarFieldContainer[str]
    partitioning: Partitioning
    layout: str
    def __init__(self, endpoints: _Optional[_Iterable[str]] = ..., partitioning: _Optional[_Union[Partitioning, _Mapping]] = ..., layout: _Optional[str] = ...) -> None: ...
