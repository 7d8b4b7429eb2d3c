"""Reads statements from a terminal, with history, completion and colours, and runs each."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition, completion_is_selected
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout

import jumpgate
from jumpgate import extras
from jumpgate.cli.shell.commands import Quit
from jumpgate.cli.shell.completion import SqlCompleter, keywords
from jumpgate.cli.shell.highlight import SqlLexer
from jumpgate.cli.shell.runner import Runner
from jumpgate.cli.shell.statements import is_complete
from jumpgate.errors import InvalidDataflow, JumpgateError
from jumpgate.trust import state

PROMPT, MORE = "jumpgate> ", "      ..> "


def run(runner: Runner, **options: Any) -> None:
    """Run what is typed until Ctrl-D or `.quit`. options: PromptSession's, for tests."""
    session = prompt(runner, **options)
    print(f"Jumpgate {jumpgate.__version__}. A statement ends with ;  .help lists commands, Ctrl-D ends.")
    while True:
        try:
            with patch_stdout(raw=True):  # what is built meanwhile is said above the prompt
                text = session.prompt()
        except KeyboardInterrupt:
            continue  # drops what was typed
        except EOFError:
            return
        try:
            runner.run(text)
        except Quit:
            return
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
        except (JumpgateError, ImportError, OSError) as error:
            report(error)


def report(error: Exception) -> None:
    """Print an error on stderr, without its traceback unless JUMPGATE_DEBUG is set."""
    if isinstance(error, ImportError):
        error = extras.not_installed(error) or error
    if os.environ.get("JUMPGATE_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
    for problem in error.problems if isinstance(error, InvalidDataflow) else (str(error),):
        print(f"error: {problem}", file=sys.stderr)


def prompt(runner: Runner, **options: Any) -> PromptSession[str]:
    """The editor of a terminal."""
    return PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=_continuation,
        history=FileHistory(str(history_file())),
        auto_suggest=AutoSuggestFromHistory(),
        completer=SqlCompleter(runner.connection),
        complete_while_typing=True,
        lexer=SqlLexer(keywords()),
        key_bindings=_bindings(),
        enable_open_in_editor=True,
        **options,
    )


def history_file() -> Path:
    """The history in the user's state folder, which nobody else can read. Raises ConfigError."""
    file = state.folder() / "sql_history"
    os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    file.chmod(0o600)
    return file


def _continuation(width: int, line: int, wrapped: int) -> StyleAndTextTuples:
    return [("", MORE.rjust(width))]


def _bindings() -> KeyBindings:
    """Enter takes the completion that is chosen, runs a complete text, and begins a line of others."""
    bindings = KeyBindings()
    complete = Condition(lambda: is_complete(get_app().current_buffer.text))

    @bindings.add("enter", filter=completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("enter", filter=complete & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings
