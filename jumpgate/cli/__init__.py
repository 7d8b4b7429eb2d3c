"""The `jumpgate` command: main.py names the subcommands; each has a module, which is loaded when it is used."""
