"""Network tuple formats: the byte layout of an edge, agreed before execution, and the streams that carry it.

`descriptor` needs no Arrow; `receive` and `send` are the Python ends of an edge. See README.md.
"""
