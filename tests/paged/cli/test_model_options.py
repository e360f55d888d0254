"""Flags of a model are the fields of its configuration, with the same defaults."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from paged.cli.model_options import (
    add_model_options,
    graph_sizes,
    model_config,
    swap_space_bytes,
)
from paged.engine.llm_config import LLMConfig
from paged.errors import ConfigError


def _config(*arguments: str, **options: Any) -> LLMConfig:
    parser = ArgumentParser()
    add_model_options(parser)
    return model_config(parser.parse_args(arguments), **options)


def test_without_flags_it_is_the_default() -> None:
    assert _config() == LLMConfig()
    assert _config(max_num_seqs=3) == LLMConfig(max_num_seqs=3)


FLAGS: list[tuple[str, str, Any]] = [
    ("--model tiny", "model", "tiny"),
    ("--device cuda:1", "device", "cuda:1"),
    ("--dtype float16", "dtype", "float16"),
    ("--quantization int8", "quantization", "int8"),
    ("--allocator virtual", "allocator", "virtual"),
    ("--block-size 32", "block_size", 32),
    ("--max-model-len 99", "max_model_len", 99),
    ("--preemption swap", "preemption", "swap"),
    ("--num-threads 2", "num_threads", 2),
    ("--num-gpu-blocks-override 77", "num_gpu_blocks_override", 77),
    ("--kv-cache-memory-bytes 3MiB", "kv_cache_memory_bytes", 3 << 20),
    ("--gpu-memory-utilization 0.5", "gpu_memory_utilization", 0.5),
    ("--cuda-graph-sizes 1,8", "cuda_graph_sizes", (1, 8)),
    ("--cuda-graph-sizes none", "cuda_graph_sizes", ()),
    ("--enforce-eager", "cuda_graph_sizes", ()),
    ("--kv-cache-dtype float16", "kv_cache_dtype", "float16"),
    ("--kv-cache-dtype fp8", "kv_cache_dtype", "float8_e4m3fn"),
    ("--enable-prefix-caching", "enable_prefix_caching", True),
    ("--no-enable-prefix-caching", "enable_prefix_caching", False),
    ("--swap-space 4", "swap_space_bytes", 4 << 30),
    ("--swap-space 0", "swap_space_bytes", 0),
    ("--swap-space 3MiB", "swap_space_bytes", 3 << 20),
    ("--max-num-seqs 5", "max_num_seqs", 5),
    ("--max-num-batched-tokens 64", "max_num_batched_tokens", 64),
    ("--scheduling-policy priority", "policy", "priority"),
    ("--seed 7", "seed", 7),
    ("--record a.jsonl", "record", "a.jsonl"),
    ("--chat-template a.jinja", "chat_template", "a.jinja"),
    ("--kernel attention=reference", "kernels", {"attention": "reference"}),
]


@pytest.mark.parametrize(("flags", "field", "value"), FLAGS)
def test_a_flag_sets_the_field_of_its_name(flags: str, field: str, value: Any) -> None:
    changed: dict[str, Any] = {field: value}
    assert _config(*flags.split()) == replace(LLMConfig(), **changed)


def test_every_field_has_a_flag_but_the_one_that_is_given_in_bytes() -> None:
    named = {field for _, field, _ in FLAGS}
    assert {field.name for field in fields(LLMConfig)} - named == {"num_host_blocks"}


def test_help_states_every_default() -> None:
    parser = ArgumentParser()
    add_model_options(parser)
    parser.set_defaults(max_num_seqs=3)
    flags = re.findall(r"^  --\S.*(?:\n   +.*)*", parser.format_help(), re.MULTILINE)
    silent = [flag.split()[0] for flag in flags if "default:" not in " ".join(flag.split())]
    assert len(flags) > 20
    assert not silent
    assert "(default: 3)" in next(flag for flag in flags if "--max-num-seqs" in flag)


def test_a_model_may_be_an_argument_that_is_left_out() -> None:
    parser = ArgumentParser()
    add_model_options(parser, is_model_positional=True)
    assert model_config(parser.parse_args(["tiny"])) == LLMConfig(model="tiny")
    assert model_config(parser.parse_args([])) == LLMConfig()


def test_recording_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _config("--enforce-eager", "--cuda-graph-sizes", "1,2")
    assert "not allowed with" in capsys.readouterr().err


def test_the_page_on_gpus_names_no_flag_that_is_unknown(repository: Path) -> None:
    parser = ArgumentParser()
    add_model_options(parser)
    named = set(re.findall(r"`(--[a-z-]+)", (repository / "docs" / "gpu.md").read_text()))
    assert len(named) == 5
    assert named <= set(re.findall(r"--[a-z-]+", parser.format_usage()))


def test_a_value_that_cannot_be_served_is_refused_as_in_the_library() -> None:
    with pytest.raises(ConfigError, match=r"a number from 0\.0 to 1\.0, got 1\.5"):
        _config("--gpu-memory-utilization", "1.5")


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "4 parsecs", ""])
def test_what_is_no_swap_space_is_an_error(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected an amount of memory"):
        swap_space_bytes(text)


@pytest.mark.parametrize("text", ["", "1,,2", "one", "1;2"])
def test_what_names_no_sizes_is_an_error(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected batch sizes as 1,2,4 or none, got"):
        graph_sizes(text)
