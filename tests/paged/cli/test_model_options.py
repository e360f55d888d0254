"""Flags of a model are the fields of its configuration, with the same defaults."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paged.cli.model_options import add_model_options, graph_sizes, model_config
from paged.engine.llm_config import LLMConfig
from paged.errors import ConfigError


def _config(*arguments: str, **options: Any) -> LLMConfig:
    parser = ArgumentParser()
    add_model_options(parser)
    return model_config(parser.parse_args(arguments), **options)


def test_without_flags_it_is_the_default() -> None:
    assert _config() == LLMConfig()
    assert _config(max_num_seqs=3) == LLMConfig(max_num_seqs=3)


@pytest.mark.parametrize(
    ("flags", "field", "value"),
    [
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
        ("--kernel attention=reference", "kernels", {"attention": "reference"}),
    ],
)
def test_a_flag_sets_the_field_of_its_name(flags: str, field: str, value: Any) -> None:
    changed: dict[str, Any] = {field: value}
    assert _config(*flags.split()) == replace(LLMConfig(), **changed)


def test_the_page_on_gpus_names_no_flag_that_is_unknown(repository: Path) -> None:
    parser = ArgumentParser()
    add_model_options(parser)
    named = set(re.findall(r"`(--[a-z-]+)", (repository / "docs" / "gpu.md").read_text()))
    assert len(named) == 5
    assert named <= set(re.findall(r"--[a-z-]+", parser.format_usage()))


def test_a_value_that_cannot_be_served_is_refused_as_in_the_library() -> None:
    with pytest.raises(ConfigError, match=r"a number from 0\.0 to 1\.0, got 1\.5"):
        _config("--gpu-memory-utilization", "1.5")


@pytest.mark.parametrize("text", ["", "1,,2", "one", "1;2"])
def test_what_names_no_sizes_is_an_error(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="expected batch sizes as 1,2,4 or none, got"):
        graph_sizes(text)
