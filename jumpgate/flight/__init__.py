"""Arrow Flight SQL in front of the service: any tool that speaks it runs SQL over the tables of jumpgate.toml.

`door.Door` is the server. Each client's session (`sessions`) has a DuckDB database of its own (`database`), whose
connections offload what accelerators compute exactly as DuckDB does.
"""
