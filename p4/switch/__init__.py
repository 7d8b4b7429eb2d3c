"""The software switch: runs compiled P4 programs over UDP ports or network interfaces, driven through P4Runtime."""
