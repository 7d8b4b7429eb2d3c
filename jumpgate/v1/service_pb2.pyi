from jumpgate.v1 import dataflow_pb2 as _dataflow_pb2
from jumpgate.v1 import ntf_pb2 as _ntf_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Options(_message.Message):
    __slots__ = ("parallelism", "threads", "timeout_ms", "stall_timeout_ms", "memory_limit_bytes", "prefer", "without", "objective", "seconds_max", "cost_max", "wait_for_programs")
    PARALLELISM_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    STALL_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    PREFER_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    SECONDS_MAX_FIELD_NUMBER: _ClassVar[int]
    COST_MAX_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_PROGRAMS_FIELD_NUMBER: _ClassVar[int]
    parallelism: int
    threads: int
    timeout_ms: int
    stall_timeout_ms: int
    memory_limit_bytes: int
    prefer: _containers.RepeatedScalarFieldContainer[str]
    without: _containers.RepeatedScalarFieldContainer[str]
    objective: str
    seconds_max: float
    cost_max: float
    wait_for_programs: bool
    def __init__(self, parallelism: _Optional[int] = ..., threads: _Optional[int] = ..., timeout_ms: _Optional[int] = ..., stall_timeout_ms: _Optional[int] = ..., memory_limit_bytes: _Optional[int] = ..., prefer: _Optional[_Iterable[str]] = ..., without: _Optional[_Iterable[str]] = ..., objective: _Optional[str] = ..., seconds_max: _Optional[float] = ..., cost_max: _Optional[float] = ..., wait_for_programs: _Optional[bool] = ...) -> None: ...

class StoreCredentials(_message.Message):
    __slots__ = ("url", "access_key", "secret_key", "session_token", "token", "expires_s")
    URL_FIELD_NUMBER: _ClassVar[int]
    ACCESS_KEY_FIELD_NUMBER: _ClassVar[int]
    SECRET_KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_S_FIELD_NUMBER: _ClassVar[int]
    url: str
    access_key: str
    secret_key: str
    session_token: str
    token: str
    expires_s: float
    def __init__(self, url: _Optional[str] = ..., access_key: _Optional[str] = ..., secret_key: _Optional[str] = ..., session_token: _Optional[str] = ..., token: _Optional[str] = ..., expires_s: _Optional[float] = ...) -> None: ...

class SubmitRequest(_message.Message):
    __slots__ = ("dataflow", "substrait", "options", "text", "credentials")
    DATAFLOW_FIELD_NUMBER: _ClassVar[int]
    SUBSTRAIT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    dataflow: _dataflow_pb2.Dataflow
    substrait: SubstraitRequest
    options: Options
    text: str
    credentials: _containers.RepeatedCompositeFieldContainer[StoreCredentials]
    def __init__(self, dataflow: _Optional[_Union[_dataflow_pb2.Dataflow, _Mapping]] = ..., substrait: _Optional[_Union[SubstraitRequest, _Mapping]] = ..., options: _Optional[_Union[Options, _Mapping]] = ..., text: _Optional[str] = ..., credentials: _Optional[_Iterable[_Union[StoreCredentials, _Mapping]]] = ...) -> None: ...

class SubstraitRequest(_message.Message):
    __slots__ = ("plan", "tables", "send", "dialect")
    class TablesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _dataflow_pb2.Dataflow
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_dataflow_pb2.Dataflow, _Mapping]] = ...) -> None: ...
    PLAN_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    SEND_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    plan: bytes
    tables: _containers.MessageMap[str, _dataflow_pb2.Dataflow]
    send: _dataflow_pb2.Send
    dialect: _dataflow_pb2.Dialect
    def __init__(self, plan: _Optional[bytes] = ..., tables: _Optional[_Mapping[str, _dataflow_pb2.Dataflow]] = ..., send: _Optional[_Union[_dataflow_pb2.Send, _Mapping]] = ..., dialect: _Optional[_Union[_dataflow_pb2.Dialect, _Mapping]] = ...) -> None: ...

class SubmitResponse(_message.Message):
    __slots__ = ("job_id", "instances", "stages", "edge", "producers", "format", "token", "explain_json", "certificate", "key")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    EDGE_FIELD_NUMBER: _ClassVar[int]
    PRODUCERS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_JSON_FIELD_NUMBER: _ClassVar[int]
    CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    instances: _containers.RepeatedScalarFieldContainer[str]
    stages: int
    edge: str
    producers: int
    format: _ntf_pb2.NetworkTupleFormat
    token: str
    explain_json: str
    certificate: str
    key: str
    def __init__(self, job_id: _Optional[str] = ..., instances: _Optional[_Iterable[str]] = ..., stages: _Optional[int] = ..., edge: _Optional[str] = ..., producers: _Optional[int] = ..., format: _Optional[_Union[_ntf_pb2.NetworkTupleFormat, _Mapping]] = ..., token: _Optional[str] = ..., explain_json: _Optional[str] = ..., certificate: _Optional[str] = ..., key: _Optional[str] = ...) -> None: ...

class ExecuteRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ("submit", "explain", "pull")
    SUBMIT_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    PULL_FIELD_NUMBER: _ClassVar[int]
    submit: SubmitRequest
    explain: bool
    pull: bool
    def __init__(self, submit: _Optional[_Union[SubmitRequest, _Mapping]] = ..., explain: _Optional[bool] = ..., pull: _Optional[bool] = ...) -> None: ...

class PullRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class PullResponse(_message.Message):
    __slots__ = ("rows", "bytes", "payload")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    rows: int
    bytes: int
    payload: bytes
    def __init__(self, rows: _Optional[int] = ..., bytes: _Optional[int] = ..., payload: _Optional[bytes] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("job_id", "state", "stage", "time_ns", "detail_json", "submitted")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    TIME_NS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_JSON_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    state: str
    stage: int
    time_ns: int
    detail_json: str
    submitted: SubmitResponse
    def __init__(self, job_id: _Optional[str] = ..., state: _Optional[str] = ..., stage: _Optional[int] = ..., time_ns: _Optional[int] = ..., detail_json: _Optional[str] = ..., submitted: _Optional[_Union[SubmitResponse, _Mapping]] = ...) -> None: ...

class OpenGroupRequest(_message.Message):
    __slots__ = ("receivers",)
    RECEIVERS_FIELD_NUMBER: _ClassVar[int]
    receivers: int
    def __init__(self, receivers: _Optional[int] = ...) -> None: ...

class OpenGroupResponse(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class ReceiveRequest(_message.Message):
    __slots__ = ("join", "hand_out", "enough")
    JOIN_FIELD_NUMBER: _ClassVar[int]
    HAND_OUT_FIELD_NUMBER: _ClassVar[int]
    ENOUGH_FIELD_NUMBER: _ClassVar[int]
    join: JoinGroup
    hand_out: str
    enough: Enough
    def __init__(self, join: _Optional[_Union[JoinGroup, _Mapping]] = ..., hand_out: _Optional[str] = ..., enough: _Optional[_Union[Enough, _Mapping]] = ...) -> None: ...

class JoinGroup(_message.Message):
    __slots__ = ("request", "group", "receiver")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RECEIVER_FIELD_NUMBER: _ClassVar[int]
    request: SubmitRequest
    group: str
    receiver: int
    def __init__(self, request: _Optional[_Union[SubmitRequest, _Mapping]] = ..., group: _Optional[str] = ..., receiver: _Optional[int] = ...) -> None: ...

class Enough(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReceiveResponse(_message.Message):
    __slots__ = ("part", "keep", "again")
    PART_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    AGAIN_FIELD_NUMBER: _ClassVar[int]
    part: Part
    keep: str
    again: str
    def __init__(self, part: _Optional[_Union[Part, _Mapping]] = ..., keep: _Optional[str] = ..., again: _Optional[str] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("job", "partition")
    JOB_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    job: SubmitResponse
    partition: int
    def __init__(self, job: _Optional[_Union[SubmitResponse, _Mapping]] = ..., partition: _Optional[int] = ...) -> None: ...

class CancelRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class CancelResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ("job_id", "page")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    page: bool
    def __init__(self, job_id: _Optional[str] = ..., page: _Optional[bool] = ...) -> None: ...

class JobDescription(_message.Message):
    __slots__ = ("job_id", "state", "record_json", "page")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RECORD_JSON_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    state: str
    record_json: str
    page: str
    def __init__(self, job_id: _Optional[str] = ..., state: _Optional[str] = ..., record_json: _Optional[str] = ..., page: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[JobDescription]
    def __init__(self, jobs: _Optional[_Iterable[_Union[JobDescription, _Mapping]]] = ...) -> None: ...

class DevicesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DevicesResponse(_message.Message):
    __slots__ = ("devices",)
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[Device]
    def __init__(self, devices: _Optional[_Iterable[_Union[Device, _Mapping]]] = ...) -> None: ...

class Device(_message.Message):
    __slots__ = ("name", "kind", "is_up", "jobs", "cores", "threads", "memory_bytes", "held_bytes", "facts")
    class FactsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    IS_UP_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    HELD_BYTES_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    is_up: bool
    jobs: int
    cores: int
    threads: int
    memory_bytes: int
    held_bytes: int
    facts: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., is_up: _Optional[bool] = ..., jobs: _Optional[int] = ..., cores: _Optional[int] = ..., threads: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., held_bytes: _Optional[int] = ..., facts: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("dataflow", "options", "verbose", "elsewhere", "estimate_only", "columns", "job_id", "credentials")
    DATAFLOW_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    VERBOSE_FIELD_NUMBER: _ClassVar[int]
    ELSEWHERE_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    dataflow: _dataflow_pb2.Dataflow
    options: Options
    verbose: bool
    elsewhere: Speeds
    estimate_only: bool
    columns: bool
    job_id: str
    credentials: _containers.RepeatedCompositeFieldContainer[StoreCredentials]
    def __init__(self, dataflow: _Optional[_Union[_dataflow_pb2.Dataflow, _Mapping]] = ..., options: _Optional[_Union[Options, _Mapping]] = ..., verbose: _Optional[bool] = ..., elsewhere: _Optional[_Union[Speeds, _Mapping]] = ..., estimate_only: _Optional[bool] = ..., columns: _Optional[bool] = ..., job_id: _Optional[str] = ..., credentials: _Optional[_Iterable[_Union[StoreCredentials, _Mapping]]] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("text", "json", "estimate")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    text: str
    json: str
    estimate: Estimate
    def __init__(self, text: _Optional[str] = ..., json: _Optional[str] = ..., estimate: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...

class PrepareRequest(_message.Message):
    __slots__ = ("dataflow", "options", "patience_seconds", "credentials")
    DATAFLOW_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    dataflow: _dataflow_pb2.Dataflow
    options: Options
    patience_seconds: float
    credentials: _containers.RepeatedCompositeFieldContainer[StoreCredentials]
    def __init__(self, dataflow: _Optional[_Union[_dataflow_pb2.Dataflow, _Mapping]] = ..., options: _Optional[_Union[Options, _Mapping]] = ..., patience_seconds: _Optional[float] = ..., credentials: _Optional[_Iterable[_Union[StoreCredentials, _Mapping]]] = ...) -> None: ...

class PrepareResponse(_message.Message):
    __slots__ = ("seconds",)
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    seconds: float
    def __init__(self, seconds: _Optional[float] = ...) -> None: ...

class LookRequest(_message.Message):
    __slots__ = ("paths", "format", "options", "file_schema", "credentials")
    class OptionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PATHS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    FILE_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    paths: _containers.RepeatedScalarFieldContainer[str]
    format: str
    options: _containers.ScalarMap[str, str]
    file_schema: _dataflow_pb2.Schema
    credentials: _containers.RepeatedCompositeFieldContainer[StoreCredentials]
    def __init__(self, paths: _Optional[_Iterable[str]] = ..., format: _Optional[str] = ..., options: _Optional[_Mapping[str, str]] = ..., file_schema: _Optional[_Union[_dataflow_pb2.Schema, _Mapping]] = ..., credentials: _Optional[_Iterable[_Union[StoreCredentials, _Mapping]]] = ...) -> None: ...

class LookResponse(_message.Message):
    __slots__ = ("read",)
    READ_FIELD_NUMBER: _ClassVar[int]
    read: _dataflow_pb2.Dataflow
    def __init__(self, read: _Optional[_Union[_dataflow_pb2.Dataflow, _Mapping]] = ...) -> None: ...

class Speeds(_message.Message):
    __slots__ = ("seconds", "cores")
    class SecondsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    seconds: _containers.ScalarMap[str, float]
    cores: int
    def __init__(self, seconds: _Optional[_Mapping[str, float]] = ..., cores: _Optional[int] = ...) -> None: ...

class Estimate(_message.Message):
    __slots__ = ("known", "seconds", "elsewhere_seconds", "rows", "bytes", "operators", "columns")
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    ELSEWHERE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    OPERATORS_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    known: bool
    seconds: float
    elsewhere_seconds: float
    rows: float
    bytes: float
    operators: _containers.RepeatedCompositeFieldContainer[OperatorEstimate]
    columns: _containers.RepeatedCompositeFieldContainer[ColumnEstimate]
    def __init__(self, known: _Optional[bool] = ..., seconds: _Optional[float] = ..., elsewhere_seconds: _Optional[float] = ..., rows: _Optional[float] = ..., bytes: _Optional[float] = ..., operators: _Optional[_Iterable[_Union[OperatorEstimate, _Mapping]]] = ..., columns: _Optional[_Iterable[_Union[ColumnEstimate, _Mapping]]] = ...) -> None: ...

class ColumnEstimate(_message.Message):
    __slots__ = ("bytes", "distinct", "low", "high", "null_fraction")
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    NULL_FRACTION_FIELD_NUMBER: _ClassVar[int]
    bytes: float
    distinct: float
    low: float
    high: float
    null_fraction: float
    def __init__(self, bytes: _Optional[float] = ..., distinct: _Optional[float] = ..., low: _Optional[float] = ..., high: _Optional[float] = ..., null_fraction: _Optional[float] = ...) -> None: ...

class OperatorEstimate(_message.Message):
    __slots__ = ("fragment", "number", "kind", "rows", "bytes", "doubt", "seconds", "elsewhere_seconds")
    FRAGMENT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DOUBT_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    ELSEWHERE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    fragment: str
    number: int
    kind: str
    rows: float
    bytes: float
    doubt: float
    seconds: float
    elsewhere_seconds: float
    def __init__(self, fragment: _Optional[str] = ..., number: _Optional[int] = ..., kind: _Optional[str] = ..., rows: _Optional[float] = ..., bytes: _Optional[float] = ..., doubt: _Optional[float] = ..., seconds: _Optional[float] = ..., elsewhere_seconds: _Optional[float] = ...) -> None: ...
