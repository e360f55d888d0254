"""The command line."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from experiments.options import HEADLINE, Options, parse_options
from paged.errors import ConfigError


def test_no_flags_ask_for_the_paper():
    options = parse_options([])
    assert options == Options()
    assert options.allocators == HEADLINE
    assert options.is_builtin
    assert (options.block_size, options.watermark, options.arrivals) == (16, 0.01, "saturated")


def test_every_flag_arrives():
    line = (
        "--trace a.csv --arrivals poisson --rate 2.5 --model llama-3-8b --gpu h200 --kv-gib 3"
        " --kv-slots 100 --max-model-len 64 --max-num-seqs 7 --max-num-batched-tokens 512"
        " --allocators paged,static --block-size 32 --watermark 0.05 --page-kib 64 --seed 4"
        " --seeds 2 --quick --no-ablations --jobs 1 --out x --json --num-requests 9"
        " --step-time uniform"
    )
    options = parse_options(line.split())
    assert options == Options(
        trace=Path("a.csv"),
        arrivals="poisson",
        rate=2.5,
        model="llama-3-8b",
        gpu="h200",
        kv_gib=3.0,
        kv_slots=100,
        max_model_len=64,
        max_num_seqs=7,
        max_num_batched_tokens=512,
        allocators=("paged", "static"),
        block_size=32,
        watermark=0.05,
        page_kib=64,
        seed=4,
        seeds=2,
        quick=True,
        no_ablations=True,
        jobs=1,
        out=Path("x"),
        json=True,
        num_requests=9,
        step_time="uniform",
    )
    assert not options.is_builtin


def test_a_quick_run_leaves_the_results_of_a_full_one_alone():
    flags = [[], ["--quick"], ["--quick", "--out", "x"]]
    folders = [str(parse_options(each).folder) for each in flags]
    assert folders == ["results/fragmentation", "results/fragmentation-quick", "x"]


def test_help_names_every_flag(capsys):
    with pytest.raises(SystemExit, match="0"):
        parse_options(["--help"])
    text = capsys.readouterr().out
    assert all(f"--{one.name.replace('_', '-')} " in text for one in fields(Options))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--block-size 0", "--block-size: expected a whole number from 1 to 67108864, got '0'"),
        ("--block-size 16.5", "expected a whole number from 1 to 67108864, got '16.5'"),
        ("--seeds -1", "--seeds: expected a whole number from 1 to 1000"),
        ("--seed x", "--seed: expected a whole number from 0 to 4294967295, got 'x'"),
        ("--kv-gib nan", r"--kv-gib: expected a number from 1e-06 to 1.*06, got 'nan'"),
        ("--kv-gib inf", "--kv-gib: expected a number from"),
        ("--kv-gib 1e308", "--kv-gib: expected a number from"),
        ("--rate 1e-320", r"--rate: expected a number from 1e-06 to 1e\+09"),
        ("--kv-slots 1000000000000", "--kv-slots: expected a whole number from 1 to 67108864"),
        (f"--kv-slots {10**30}", "--kv-slots: expected a whole number"),
        (f"--kv-gib {10**30}", "--kv-gib: expected a number"),
        (f"--max-num-seqs {10**30}", "--max-num-seqs: expected a whole number from 1 to 65536"),
        (f"--num-requests {'9' * 5000}", "--num-requests: expected a whole number"),
        ("--trace a\0b", r"--trace: expected a path, got 'a.x00b'"),
        ("--kv-gib many", "--kv-gib: expected a number, got 'many'"),
        ("--watermark 1", "--watermark: expected a share of at least 0 and below 1, got '1'"),
        ("--allocators ,", "--allocators: expected names separated by commas, got none"),
        ("--frobnicate", "unrecognized arguments: --frobnicate; see --help"),
        ("--block", "expected one argument|unrecognized"),
        ("--rate 2", "--rate and --arrivals poisson go together, got arrivals saturated"),
        ("--arrivals poisson", "go together, got arrivals poisson and no rate"),
        ("--arrivals daily", "unknown --arrivals 'daily': expected one of saturated, trace"),
        ("--arrivals trace", "give a --trace FILE"),
        ("--trace a --workload alpaca-like", "one source of requests, got --workload and --trace"),
        ("--trace a --cdf b", "one source of requests, got --trace and --cdf"),
        ("--workload bert", "unknown --workload 'bert': expected one of sharegpt-like"),
        ("--step-time wild", "unknown --step-time 'wild': expected one of roofline, uniform"),
        ("--cdf-model m", "--cdf-model needs a --cdf FILE"),
    ],
)
def test_bad_flags_are_refused(line, message):
    with pytest.raises(ConfigError, match=message):
        parse_options(line.split())


def test_the_command_names_what_differs_and_can_be_parsed_again() -> None:
    assert Options().command == "python -m experiments.fragmentation"
    words = "--trace 'a b.csv' --kv-slots 4096 --allocators paged,virtual --quick --watermark 0.05"
    options = parse_options([*shlex.split(words), "--jobs", "1", "--out", "elsewhere", "--json"])
    assert options.command == (
        "python -m experiments.fragmentation --trace 'a b.csv' --kv-slots 4096"
        " --allocators paged,virtual --watermark 0.05 --quick"
    )
    again = parse_options(shlex.split(options.command)[3:])
    assert again.command == options.command
