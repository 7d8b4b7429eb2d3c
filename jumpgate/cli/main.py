"""Entry point of the `jumpgate` command: finds the subcommand, and turns every error into one sentence."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

import jumpgate
from jumpgate.cli import output
from jumpgate.errors import InvalidDataflow, JumpgateError
from jumpgate.extras import not_installed

#: subcommand → (module with a click command `command`, help in the list)
COMMANDS = {
    "demo": ("demo", "TPC-DS query 3 from files of all formats, beside DuckDB."),
    "sql": ("sql", "Run a SQL query over files and print or save its result."),
    "run": ("run", "Run a dataflow and print or save its result."),
    "explain": ("explain", "Show how a dataflow would be run, and why."),
    "serve": ("serve", "Run the gRPC service that clients submit dataflows to."),
    "jobs": ("jobs", "List, show and cancel the jobs of a running service."),
    "top": ("top", "Show the jobs and hosts of a running service as they change."),
    "devices": ("devices", "Show the devices of a running service and what jobs have of them."),
    "hosts": ("hosts", "List, check, start and stop the hosts of jumpgate.toml."),
    "network": ("network", "Show or measure the links between hosts and devices."),
    "certs": ("certs", "Make certificates for encryption between machines."),
    "simulate": ("simulate", "Show how long a dataflow would take over many hosts, and where the time would go."),
    "report": ("report", "Write a job's timeline as a self-contained HTML page."),
    "switch": ("switch", "Run the software switch; compile P4 programs for it."),
    "nca": ("nca", "List, show, check and create accelerators."),
    "index": ("index", "Make, list and drop index tables of CSV and JSON Lines objects."),
    "data": ("data", "Generate test data."),
    "calibrate": ("calibrate", "Measure how fast this machine is, for plans and offload = auto."),
    "study": ("study", "Run all queries of TPC-DS or TPC-H in every mode, and write a report."),
    "transactions": ("transactions", "Plan transactions on hot rows in a switch."),
    "spark-jar": ("spark_jar", "Print where the plugin for Apache Spark is."),
    "presto-plugin": ("presto_plugin", "Write the connector for a Presto server."),
    "trino-plugin": ("trino_plugin", "Write the connector for a Trino server."),
    "doctor": ("doctor", "Check this machine: compiler, cores, memory, cache, ports."),
}
EXIT_ERROR = 1
EXIT_INTERRUPTED = 130


class LazyGroup(click.Group):
    """Loads a subcommand's module only when it is called: `jumpgate --help` imports none of them."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"jumpgate.cli.{COMMANDS[name][0]}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(jumpgate.__version__, prog_name="jumpgate")
def cli() -> None:
    """Run dataflows on network-connected accelerators."""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and exits: 0 done, 1 an error, 2 wrong usage, 130 interrupted."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        status: Any = cli.main(words, prog_name="jumpgate", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except ImportError as error:
        missing = not_installed(error)
        if missing is None:
            raise
        status = _failed(missing, words)
    except JumpgateError as error:
        status = _failed(error, words)
    sys.exit(status if isinstance(status, int) else 0)


def _failed(error: JumpgateError, words: list[str]) -> int:
    """Shows an error and returns the exit status; raises it instead where JUMPGATE_DEBUG asks for tracebacks."""
    if os.environ.get("JUMPGATE_DEBUG"):
        raise error
    if "--json" in words:
        output.print_json({"error": error.to_dict()})
    else:
        for problem in error.problems if isinstance(error, InvalidDataflow) else (error.message,):
            print(f"error: {problem}", file=sys.stderr)
    return EXIT_ERROR
