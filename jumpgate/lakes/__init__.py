"""Tables of Delta Lake and Iceberg as dataflows: a snapshot is its files of Parquet, with names and types of their
columns, and values that whole files share. `scan` makes operators of that; `delta` and `iceberg` find it."""
