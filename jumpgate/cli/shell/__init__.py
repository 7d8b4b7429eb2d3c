"""The shell of `jumpgate sql`: scripts, and statements typed at a terminal.

`statements` splits a text, `runner` runs its parts, `commands` has the dot commands, `values` writes values as DuckDB
does, `display` and `writing` show and save results. `loop` reads from a terminal, with `completion` and `highlight`.
"""
