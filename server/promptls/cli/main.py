"""Entry point: parses the arguments, runs one command and maps errors to exit statuses.

Exit status: 0 success, 1 failure (stderr has the reason), 2 usage error, 128 + number of the signal that ended it.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from logging.handlers import RotatingFileHandler

from promptls import __version__
from promptls.api.open_workspace import InvalidFolder
from promptls.cli import index_commands, install, lint, prompt_commands, search_commands, server_commands
from promptls.cli.output import (
    FAILURE,
    SUCCESS,
    USAGE_ERROR,
    CommandError,
    UsageError,
    configure_streams,
    discard_output,
    print_error,
)
from promptls.util import entry_points

MAX_LOG_BYTES = 2_000_000
"""Size at which the log file is rotated, in bytes; one older file is kept."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    configure_streams()
    options, unknown = argument_parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        if hasattr(options, "begin"):
            options.begin(options)  # before the settings are imported for the log
        _configure_logging(options.verbose)
        status = int(options.run(options))
        if not sys.stdout.closed:
            sys.stdout.flush()  # an error of it is reported below; the interpreter could not at exit
        return status
    except (UsageError, InvalidFolder) as error:
        print_error(str(error))
        return USAGE_ERROR
    except CommandError as error:
        print_error(str(error))
        return FAILURE
    except ImportError as error:
        logging.getLogger(__name__).exception("cannot import a package")
        print_error(f"cannot import a required package ({error}). Run `promptls doctor` for a diagnosis.")
        return FAILURE
    except BrokenPipeError:
        discard_output()
        return SUCCESS
    except OSError as error:
        discard_output()
        logging.getLogger(__name__).exception("the command failed")
        file = f": {error.filename}" if error.filename else ""
        from promptls.settings import log_file

        print_error(f"{error.strerror or error}{file}. See the log: {log_file()}.")
        return FAILURE


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="promptls",
        description="Language server and command line that build prompts with context from your workspace.",
        epilog="Exit status: 0 success, 1 failure, 2 usage error.",
    )
    parser.add_argument("--version", action="version", version=f"promptls {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="write the log to stderr, too")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    server_commands.add_serve_parser(commands)
    server_commands.add_mcp_parser(commands)
    install.add_parser(commands)
    prompt_commands.add_prompt_parser(commands)
    prompt_commands.add_verify_parser(commands)
    search_commands.add_parsers(commands)
    prompt_commands.add_memory_parser(commands)
    prompt_commands.add_recipes_parser(commands)
    lint.add_parser(commands)
    index_commands.add_parsers(commands)
    index_commands.add_doctor_parser(commands)
    for add_parser in entry_points.commands():
        add_parser(commands)
    for command in commands.choices.values():
        command.set_defaults(parser=command)  # prints the usage of the command for an unknown argument
    return parser


def _configure_logging(verbose: bool) -> None:
    from promptls.settings import log_file, make_own_folder

    logging.raiseExceptions = False  # a log that cannot be written is not worth a traceback on stderr
    handlers: list[logging.Handler] = []
    try:
        make_own_folder(log_file().parent)
        handlers.append(
            RotatingFileHandler(log_file(), maxBytes=MAX_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
        )
    except OSError:
        pass  # promptls also works without a log file
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s",
        handlers=handlers or [logging.NullHandler()],
    )
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
