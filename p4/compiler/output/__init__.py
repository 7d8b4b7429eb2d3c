"""The outputs of a program: C++ for the software switch, and P4Info."""
