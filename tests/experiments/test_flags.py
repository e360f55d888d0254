"""Options become flags, and flags options."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

import pytest

from experiments.flags import Flag, command_of, names, parse_flags, whole
from paged.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    num_cats: Annotated[int, Flag(whole(9), "N", "cats")] = 3
    kinds: Annotated[tuple[str, ...], Flag(names, "A,B", "kinds")] = ("black",)
    is_loud: Annotated[bool, Flag(str, "", "meow")] = False
    out: Annotated[str, Flag(str, "DIR", "folder")] = "here"


def parse(*arguments: str) -> Options:
    return parse_flags(Options, arguments, prog="cats", description="counts cats")


def test_each_field_is_a_flag() -> None:
    assert parse() == Options()
    given = ("--num-cats", "9", "--kinds", "red, grey,red", "--is-loud")
    assert parse(*given) == Options(num_cats=9, kinds=("red", "grey"), is_loud=True)


def test_the_command_gives_the_same_options_again() -> None:
    options = Options(num_cats=7, kinds=("red", "light grey"), is_loud=True, out="there")
    words = shlex.split(command_of(options, module="cats", without=("out",)))
    assert words[:3] == ["python", "-m", "cats"]
    assert parse(*words[3:]) == Options(num_cats=7, kinds=("red", "light grey"), is_loud=True)


@pytest.mark.parametrize("text", ["0", "10", "-1", "2.5", "", "9" * 5_000])
def test_a_whole_number_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--num-cats: expected a whole number from 1 to 9"):
        parse("--num-cats", text)


def test_an_abbreviated_flag_is_unknown() -> None:
    with pytest.raises(ConfigError, match="unrecognized arguments: --num"):
        parse("--num", "3")
