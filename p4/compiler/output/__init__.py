"""What is made of a program: C++ for the software switch, and P4Info."""
