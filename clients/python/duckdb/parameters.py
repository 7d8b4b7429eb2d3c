"""Parameters of texts: DuckDB hands out plans of texts without such, so their values become part of the text's tree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from jumpgate.client.duckdb.reasons import Stays

Values = Mapping[str, Any] | Sequence[Any]
#: types of values that their text gives again
_TYPES = frozenset(
    ("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP")
)


def with_values(connection: duckdb.DuckDBPyConnection, text: str, values: Values) -> str:
    """A text of the same plan without parameters. Raises Stays, also where DuckDB plans the two texts differently."""
    try:
        tree = _tree(connection, text)
        named = values.items() if isinstance(values, Mapping) else ((str(i), v) for i, v in enumerate(values, 1))
        literals = {name: _literal(connection, value) for name, value in named}
        for statement in tree["statements"]:
            statement["named_param_map"] = []
        call = "SELECT json_deserialize_sql($1::JSON)"
        found = str(_value(connection, call, [json.dumps(_replaced(tree, literals))]))
        if _explained(connection, text, values) != _explained(connection, found):
            raise Stays("its parameters mean something else as constants")
    except duckdb.Error as error:
        raise Stays(f"its parameters are not taken as constants: {error}") from None
    return found


def _tree(connection: duckdb.DuckDBPyConnection, text: str) -> Any:
    tree = json.loads(_value(connection, "SELECT json_serialize_sql($1)", [text]))
    if tree.get("error") is not False:
        raise Stays(f"its parameters are not taken as constants: {tree.get('error_message')}")
    return tree


def _literal(connection: duckdb.DuckDBPyConnection, value: Any) -> Any:
    """The tree of a constant of the type that DuckDB gives the value; a text may become a value of another type."""
    if value is None:
        raise Stays("a text with NULL as a parameter is not offloaded")
    type = str(_value(connection, "SELECT typeof($1)", [value]))
    if type not in _TYPES and not type.startswith("DECIMAL("):
        raise Stays(f"a text with a parameter of type {type} is not offloaded")
    written = str(_value(connection, "SELECT CAST($1 AS VARCHAR)", [value])).replace("'", "''")
    shown = f"'{written}'" if type == "VARCHAR" else f"CAST('{written}' AS {type})"
    return _tree(connection, f"SELECT {shown}")["statements"][0]["node"]["select_list"][0]


def _replaced(tree: Any, literals: Mapping[str, Any]) -> Any:
    if isinstance(tree, list):
        return [_replaced(item, literals) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.get("class") == "PARAMETER":
        if tree["identifier"] not in literals:
            raise Stays(f"parameter {tree['identifier']} has no value")
        return {**literals[tree["identifier"]], "alias": tree["alias"]}
    return {name: _replaced(item, literals) for name, item in tree.items()}


def _explained(connection: duckdb.DuckDBPyConnection, text: str, values: Values = ()) -> Any:
    return connection.execute(f"EXPLAIN (FORMAT json)\n{text}", values).fetchall()


def _value(connection: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any]) -> Any:
    ((found,),) = connection.execute(query, values).fetchall()
    return found
