"""Refuse what the hardware's units cannot compute, whatever the program's size."""
