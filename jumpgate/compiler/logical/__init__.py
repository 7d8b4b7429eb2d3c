"""Passes that rewrite the dataflow, whatever runs it: they take and return a logical Plan."""
