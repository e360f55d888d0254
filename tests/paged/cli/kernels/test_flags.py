"""Values of the flags of `paged kernels` are read, or refused by what was expected."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable

import pytest

from paged.cli.kernels.flags import arch, device_name, orders, seeds
from paged.cli.kernels.main import COMMANDS
from paged.kernel.nvrtc import ARCHS


@pytest.mark.parametrize(
    ("read", "text", "wanted"),
    [
        (seeds, "natural,1,2", (None, 1, 2)),
        (orders, "1,2", (1, 2)),
        (orders, "none", ()),
        (device_name, "cpu", "cpu"),
        (device_name, "cuda:1", "cuda:1"),
        *((arch, each, each) for each in ARCHS),
    ],
)
def test_a_value_is_read(read: Callable[[str], object], text: str, wanted: object) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (seeds, "none", "expected natural, or numbers"),
        (orders, "natural", "expected none, or numbers"),
        (device_name, "tpu", "expected cpu, cuda or cuda:N, got 'tpu'"),
        (device_name, "cuda:", "expected cpu, cuda or cuda:N"),
        (arch, "sm_70", "expected one of sm_80, .*, got 'sm_70'"),
    ],
)
def test_another_is_refused(read: Callable[[str], object], text: str, message: str) -> None:
    with pytest.raises(ArgumentTypeError, match=message):
        read(text)


def test_the_help_of_compile_names_the_ends_of_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    from paged.cli.main import main

    with pytest.raises(SystemExit):
        main(["kernels", "compile", "--help"])
    assert f"{ARCHS[0]} to {ARCHS[-1]}" in capsys.readouterr().out


def test_every_command_has_its_flags_here() -> None:
    assert {command.place.partition(":")[0] for command in COMMANDS} == {"paged.cli.kernels.flags"}
