"""DataFusion's words as a person would say them: without names of its parts, debugging text and advice to file bugs."""

from __future__ import annotations

import re

#: what it puts before what it has to say, once or several times
_PREFIX = re.compile(
    r"^(?:DataFusion|SQL|Arrow|Schema|Execution|Internal|External|Parser|Compute|Cast|Invalid argument) error: "
    r"|^(?:Parquet|Json|Csv) error: "
    r"|^Error during planning: |^This feature is not implemented: |^Resources exhausted: |^Arithmetic overflow: "
    r"|^Optimizer rule '[^']*' failed\s+caused by\s+|^\w+\s+caused by\s+"
    r"|^Function '\w+' user-defined coercion failed with: "
    r"|^ObjectStore\(|^\w+Error\((?=\")"
)
#: from there on it speaks to its developers
_NOISE = re.compile(
    r"\s*(?:\n?This (?:issue|error) was likely caused by|\.?\s+No function matches the given name"
    r"|\s*You might need to add explicit|\n\s*backtrace:|\n\s*Candidate functions).*",
    re.DOTALL,
)
_DEBUG = re.compile(r"[:,]?\s*\(?\b[A-Z]\w*\s?(?:\(\w+\s)?\{.*", re.DOTALL)

_TYPES = {
    "Utf8View": "VARCHAR", "LargeUtf8": "VARCHAR", "Utf8": "VARCHAR", "Int64": "BIGINT", "Int32": "INTEGER",
    "Int16": "SMALLINT", "Int8": "TINYINT", "UInt64": "BIGINT UNSIGNED", "UInt32": "INTEGER UNSIGNED",
    "UInt16": "SMALLINT UNSIGNED", "UInt8": "TINYINT UNSIGNED", "Float64": "DOUBLE", "Float32": "REAL",
    "Boolean": "BOOLEAN", "Date32": "DATE", "Date64": "DATE", "BinaryView": "VARBINARY", "Binary": "VARBINARY",
    "Interval(MonthDayNano)": "INTERVAL", "IntervalMonthDayNano": "INTERVAL",
}  # fmt: skip
_TYPE = re.compile(
    r"\b(?:Interval\(MonthDayNano\)|(?:" + "|".join(sorted(_TYPES, key=len, reverse=True)) + r")\b(?!\())"
)
_DECIMAL = re.compile(r"\bDecimal(?:32|64|128|256)\((\d+), ?(-?\d+)\)")
_TIMESTAMP = re.compile(r"\bTimestamp\((?:s|ms|µs|ns|Second|Millisecond|Microsecond|Nanosecond)(?:, [^)]*)?\)")
_TEXT_LITERAL = re.compile(r'\b(?:Utf8View|LargeUtf8|Utf8)\("((?:[^"\\]|\\.)*)"\)')
_DECIMAL_LITERAL = re.compile(r"\bDecimal(?:32|64|128|256)\((-?[\d.]+|NULL),\d+,-?\d+\)")
_LITERAL = re.compile(r"\b(?:U?Int(?:8|16|32|64)|Float(?:32|64)|Boolean)\(([^()]*)\)")

_READ_ONLY = (
    "tables cannot be written or defined here: a query only reads; tables are registered with Connection.register"
)
_SETTINGS = "settings and transactions are not for queries: a connection's are arguments of jumpgate.connect"
#: what it says → the same, shorter and to the point. Tried in order on what is left without prefixes
_SENTENCES = tuple(
    (re.compile(pattern, re.DOTALL), sentence)
    for pattern, sentence in (
        (r'Projections require unique expression names but the expression "(?:.*? AS )?([^"]*)" at position \d+ and .*',
         r'two columns of one SELECT are called "\1": give one of them another name with AS'),
        (r"Schema contains qualified field name (\S+) and unqualified field name (\S+) which would be ambiguous.*",
         r'two columns of one SELECT are called "\2": give one of them another name with AS'),
        (r"Schema contains duplicate (?:un)?qualified field name (\S+)",
         r"two columns are called \1: give the tables, or the columns, different names with AS"),
        (r"Ambiguous reference to unqualified field (\S+)",
         r"several tables have a column '\1': write the table's name before it, as in table.\1"),
        (r"Invalid function '(rank|dense_rank|percent_rank|cume_dist|row_number|ntile|lag|lead)'.*",
         r"\1 is a window function: it needs OVER (ORDER BY …)"),
        (r"Invalid function '([^']*)'\.?(?:\s*Did you mean '([^']*)'\?)?",
         r"there is no function '\1'; did you mean '\2'?"),
        (r"table function '([^']*)' not found", r"there is no table function '\1'"),
        (r"Function '([^']*)' expects (\d+) arguments but received (\d+)", r"\1 takes \2 arguments, not \3"),
        (r"Function '([^']*)' expects (\w+) but received (\w+)", r"\1 takes \2, not \3; CAST makes one of the other"),
        (r"Failed to coerce arguments to satisfy a call to '([^']*)' function: coercion from (.*?) to the signature .*",
         r"\1 does not take (\2); CAST may help"),
        (r"Failed to unify argument types of (\w+): \[(.*)\]", r"the arguments of \1 have no type in common: \2"),
        (r"Cannot coerce arithmetic expression (.*) to valid types", r"\1 is not defined; CAST may help"),
        (r"Cannot get result type for temporal operation (.*?): .*", r"\1 is not defined"),
        (r"Cannot infer common argument type for (?:\w+ )*?operation (.*)", r"\1 is not defined; CAST may help"),
        (r"Cannot create filter with non-boolean predicate '(.*)' returning (.*)",
         r"a condition must be BOOLEAN, but \1 is \2"),
        (r"Cannot cast string '(.*)' to value of (.*) type", r"'\1' is not of type \2"),
        (r"Can't cast value (.*) to type (.*)", r"\1 does not fit into \2"),
        (r"Invalid input syntax for type interval: \"(.*)\"", r"'\1' is not an INTERVAL; write INTERVAL '3 days'"),
        (r"Unsupported SQL type (.*)", r"there is no type \1"),
        (r"Decimal\(precision = (\d+), scale = (-?\d+)\) should satisfy .*",
         r"DECIMAL(\1, \2) is not a type: it has at most 76 digits, and no more behind the point than in all"),
        (r"Column in (SELECT|HAVING|ORDER BY) must be in GROUP BY or an aggregate function: .*column \"([^\"]*)\".*",
         r"\2 in \1 is neither in GROUP BY nor inside an aggregate"),
        (r"HAVING clause references: (.*) must appear in the GROUP BY clause or be used in an aggregate function",
         r"\1 in HAVING is neither in GROUP BY nor inside an aggregate"),
        (r"Aggregate functions are not allowed in the WHERE clause\. Consider using HAVING instead",
         r"WHERE cannot hold aggregates; HAVING can"),
        (r"Aggregate function calls cannot be nested: '(.*?)' is nested inside '(.*)'",
         r"\2: an aggregate cannot be inside of another; aggregate in a subquery first"),
        (r"Order by column out of bounds, specified: (\d+), max: (\d+)", r"ORDER BY \1: the query has \2 columns"),
        (r"Cannot find column with position (\d+) in SELECT clause\. Valid columns: 1 to (\d+)",
         r"GROUP BY \1: the query has \2 columns"),
        (r"(UNION|INTERSECT|EXCEPT) queries have different number of columns",
         r"the queries beside \1 have different numbers of columns"),
        (r'WITH query name "(.*)" specified more than once', r"WITH defines '\1' twice"),
        (r"Too many columns! The subquery should only return one column: (.*)",
         r"the subquery may have one column only, but it has \1"),
        (r"Placeholder '(\$?[^']*)' was not provided a value for execution\.?",
         r"the parameter \1 has no value: give one with the query"),
        (r"Cannot access field at argument \d+: type (.*) is not Struct, Map, or Null", r"\1 has no fields"),
        (r"Dot access not supported for non-string expr.*", r"fields are taken with brackets, as in x['field']"),
        (r"Physical plan does not support logical expression WindowFunction.*",
         r"WHERE cannot hold window functions; QUALIFY can, or a query around this one"),
        (r"Physical plan does not support logical expression (?:Outer\w*|ScalarSubquery|InSubquery|Exists).*",
         r"this subquery uses a column of the query around it in a way that cannot be computed; a join often can"),
        (r"Substring without for/from is not valid.*", r"substr takes where to start, as in substr(text, 2)"),
        (r"Unsupported (?:ast node(?: in sqltorel:)?|JOIN operator|binary operator:) ?(\w+).*", r"\1 is not supported"),
        (r"Unsupported SQL unary operator (\w+)", r"\1 is not supported"),
        (r"Operator DIV is not yet supported", r"// is not supported; write CAST(floor(a / b) AS BIGINT)"),
        (r"FETCH clause is not supported yet", r"FETCH FIRST is not supported; write LIMIT"),
        (r"TOP", r"TOP is not supported; write LIMIT"),
        (r"Expected LIMIT to be an integer or null, but got (.*)", r"LIMIT takes an integer, not a \1"),
        (r"Unsupported (LIMIT|OFFSET) expression: .*",
         r"\1 takes a number; for one that is computed, number the rows with row_number() and compare"),
        (r"There is only support Literal types for field at idx: \d+ in Window Function",
         r"the count of ntile, and the offset and default of lag and lead, are constants"),
        (r"Expected a signed integer literal for the second argument of nth_value",
         r"the place of nth_value is a number"),
        (r"LIMIT must be >= 0, '(.*)' was provided", r"LIMIT \1 is negative"),
        (r"Unsupported compound identifier '(.*?)'.*", r"'\1' has too many parts: a table's name has one"),
        (r"RecursionLimitExceeded.*", r"the query nests more than 50 levels deep; WITH can name its inner parts"),
        (r"(?:DDL|DML) not supported: .*|Cannot (?:insert|update|delete).*", _READ_ONLY),
        (r"Statement not supported: .*|Unsupported SQL statement: .*", _SETTINGS),
        (r"SHOW .* is not supported unless information_schema is enabled",
         r"SHOW TABLES and SHOW COLUMNS FROM table are known; other SHOW is not"),
        (r"The context currently only supports a single SQL statement", r"only one query can be asked at a time"),
        (r"No SQL statements were provided in the query string", r"the text holds no query"),
        (r"Decimal (?:precision|scale) (-?\d+) exceeds the \w+ supported.*", r"a number has at most 76 digits"),
    )
)  # fmt: skip


def plain(said: str) -> str:
    """Return `said` as one plain sentence without a full stop; empty if it says nothing to a user.

    >>> plain("Error during planning: Cannot coerce arithmetic expression Utf8 + Int64 to valid types")
    'VARCHAR + BIGINT is not defined; CAST may help'
    """
    internal = "Internal error" in said
    text = _NOISE.sub("", said).strip()
    while (match := _PREFIX.match(text)) is not None:
        text = text[match.end() :].strip()
    for pattern, sentence in _SENTENCES:
        if match := pattern.fullmatch(text):
            text = match.expand(sentence).replace("; did you mean ''?", "")
            break
    else:
        text = _DEBUG.sub("", text)
    text = _in_sql(text).strip().removesuffix(".")
    if internal and text:
        return f"DataFusion cannot do this ({text}); another way to write it may work"
    return text


def _in_sql(text: str) -> str:
    """With the types and literals of SQL."""
    text = _TEXT_LITERAL.sub(r"'\1'", text)
    text = _DECIMAL_LITERAL.sub(r"\1", text)
    text = _LITERAL.sub(r"\1", text)
    text = _DECIMAL.sub(r"DECIMAL(\1, \2)", text)
    text = _TIMESTAMP.sub("TIMESTAMP", text)
    return _TYPE.sub(lambda match: _TYPES[match.group()], text).replace("count(1) AS count(*)", "count(*)")
