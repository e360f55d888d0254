"""Flags of drawing are the fields of its parameters; those that would do nothing are refused."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from paged.cli.drawing_options import add_drawing_options, sampling_params
from paged.errors import ConfigError
from paged.sampling_params import SamplingParams


def _params(text: str) -> SamplingParams:
    parser = ArgumentParser()
    add_drawing_options(parser)
    return sampling_params(parser.parse_args(text.split()))


def test_without_flags_it_is_greedy() -> None:
    assert _params("") == SamplingParams(temperature=0.0, max_tokens=256)


def test_flags_set_the_fields_of_their_names() -> None:
    given = "--temperature 0.5 --n 2 --top-p 0.9 --top-k 4 --min-p 0.1 --max-tokens 7"
    assert _params(f"{given} --stop a --stop b --ignore-eos") == SamplingParams(
        n=2,
        temperature=0.5,
        top_p=0.9,
        top_k=4,
        min_p=0.1,
        max_tokens=7,
        stop=("a", "b"),
        ignore_eos=True,
    )


@pytest.mark.parametrize("flag", ["--top-p 1", "--top-k 5", "--min-p 0.5", "--n 2"])
def test_what_a_greedy_choice_does_not_look_at_is_refused(flag: str) -> None:
    name = flag.partition(" ")[0]
    for temperature in ("", "--temperature 0", "--temperature 1e-9"):
        with pytest.raises(ConfigError, match=f"^{name} changes nothing at temperat"):
            _params(f"{flag} {temperature}")
    assert _params(f"{flag} --temperature 0.1").temperature == 0.1
