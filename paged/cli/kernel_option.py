"""`--kernel OP=VARIANT`: the kernels that a command's operations are served by."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from paged.errors import ConfigError, KernelSourceError


def add_kernel_option(parser: ArgumentParser) -> None:
    """Declare `--kernel`, once for each operation. A choice that cannot serve is refused."""
    parser.add_argument(
        "--kernel",
        dest="kernels",
        action="append",
        type=choice,
        default=[],
        metavar="OP=VARIANT",
        help="serve OP by a kernel that 'paged kernels list' names, by OP=FILE.cu or FILE.cu "
        "alone, by 'host' or by 'reference'; may be repeated (default: each operation's own)",
    )


def choice(text: str) -> tuple[str, str]:
    """Read `attention=v2`, `attention=path/to/mine.cu` or a file alone, which says its operation.

    A file becomes an absolute path. Raises: ArgumentTypeError.
    """
    from paged.cli.kernels.target import load_file
    from paged.kernel.choice import parse_choice
    from paged.kernel.registry import resolve_variant

    try:
        if text.endswith(".cu") and "=" not in text:
            text = f"{load_file(Path(text)).op.name}={text}"
        op, variant = parse_choice(text)
        return op, resolve_variant(op, variant)
    except KernelSourceError as error:
        raise ArgumentTypeError(str(error)) from error


def chosen_kernels(arguments: Namespace) -> dict[str, str]:
    """Return the variant of each operation that the command line names one for.

    Raises: ConfigError where it names two.
    """
    chosen: dict[str, str] = {}
    for op, variant in arguments.kernels:
        if chosen.setdefault(op, variant) != variant:
            raise ConfigError(f"--kernel names two kernels of {op}: {chosen[op]} and {variant}")
    return chosen
