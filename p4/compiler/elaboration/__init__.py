"""Syntax tree to typed program: types, constants, everything inlined."""
