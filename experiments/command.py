"""What the command lines of all experiments do alike: flags, errors and exit statuses.

Light to import: Ctrl-C is answered politely while the heavy modules still load.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from paged.errors import ConfigError, IntegrityError, PagedError
from paged.extras import missing_package

BAD_INPUT, INTERRUPTED = 2, 130


class Parser(argparse.ArgumentParser):
    """A parser of whole flag names that leaves reporting errors to run_command."""

    def __init__(self, *, prog: str, description: str | None) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise ConfigError with the message."""
        raise ConfigError(f"{message}; see --help")


def parse_path(text: str) -> Path:
    """Parse the path of a file or folder, for the type of a flag."""
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"expected a path, got {text!r:.80}")
    return Path(text)


def default_folder(experiment: str, *, is_quick: bool) -> Path:
    """Name the folder of results where the command line names none."""
    return Path("results", f"{experiment}-quick" if is_quick else experiment)


def run_command(command: Callable[[], None]) -> int:
    """Run a command and return the exit status; what went wrong takes one line on stderr.

    Bad input, a disk that fails and a package of `paged[model]` that is missing give BAD_INPUT,
    Ctrl-C gives INTERRUPTED.
    """
    try:
        command()
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return INTERRUPTED
    except IntegrityError:
        raise
    except (PagedError, OSError) as error:
        return _refuse(str(error))
    except ModuleNotFoundError as error:
        return _refuse(missing_package(error))
    return 0


def start(main: Callable[[], int]) -> NoReturn:
    """Run main as a process of its own; a polite kill cleans up as Ctrl-C does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())


def _refuse(reason: str) -> int:
    print(f"error: {_one_line(reason)}", file=sys.stderr)
    return BAD_INPUT


def _one_line(text: str) -> str:
    """Put a message on one line, with escapes for what cannot be printed."""
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
