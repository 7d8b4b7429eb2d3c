"""Compiles P4-16 programs for the Tofino Native Architecture: source → tokens → syntax tree → typed IR → checks →
C++ for the software switch, P4Info, and a resource report.

    program = compile_source(text, "aggregate.p4")
"""
