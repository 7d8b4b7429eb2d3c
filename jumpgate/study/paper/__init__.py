"""The evaluation of Jumpgate's paper (SYSTOR 2021, figures 3 to 8), repeated on machines in network namespaces."""
