"""Which model a command loads, and how: the same flags wherever one is loaded.

Flags have vLLM's names where it has them, and set fields of `LLMConfig`.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from dataclasses import fields
from typing import Any

from paged.allocator.registry import ALLOCATORS
from paged.cli.byte_size import byte_size
from paged.cli.kernel_option import add_kernel_option, chosen_kernels
from paged.config import POLICIES, PREEMPTIONS
from paged.engine.llm_config import DTYPES, KV_CACHE_DTYPES, LLMConfig

# Kernels have a form of their own, and swap space is an amount of memory here.
_NAMES = tuple({field.name for field in fields(LLMConfig)} - {"kernels", "num_host_blocks"})
_DEFAULTS = LLMConfig()
# What vLLM calls the type.
_FLOAT8_NAMES = ("fp8", "fp8_e4m3")


def add_model_options(parser: ArgumentParser, *, is_model_positional: bool = False) -> None:
    """Declare the flags, with the defaults of `LLMConfig`.

    What a command changes of these with `parser.set_defaults` its help shows as the default.
    is_model_positional: the model is an argument that may be left out, and not `--model`.
    """
    _add_model(parser, is_model_positional=is_model_positional)
    _add_memory(parser)
    _add_scheduling(parser)
    _add_execution(parser)
    parser.set_defaults(**{name: getattr(_DEFAULTS, name) for name in _NAMES})


def model_config(arguments: Namespace, **options: Any) -> LLMConfig:
    """Return the configuration that the flags name, with further options in place of theirs.

    Raises: ConfigError.
    """
    named = {name: getattr(arguments, name) for name in _NAMES}
    merged: dict[str, Any] = {**named, "kernels": chosen_kernels(arguments), **options}
    return LLMConfig(**merged)


def _add_model(parser: ArgumentParser, *, is_model_positional: bool) -> None:
    model = parser.add_argument_group("model")
    about = "name, folder, .gguf file or hub id (default: %(default)s)"
    if is_model_positional:
        model.add_argument("model", nargs="?", metavar="MODEL", help=about)
    else:
        model.add_argument("--model", help=about)
    model.add_argument("--device", help="cpu, cuda or cuda:N (default: a GPU if there is one)")
    model.add_argument(
        "--dtype",
        choices=DTYPES,
        help="of the weights (default: auto, bfloat16 on a CPU and the model's own on a GPU)",
    )
    model.add_argument(
        "--quantization", choices=("int8",), help="of the weights, on a CPU (default: none)"
    )
    model.add_argument(
        "--max-model-len",
        type=int,
        metavar="N",
        help="most tokens of a sequence (default: what the model allows)",
    )
    model.add_argument(
        "--chat-template",
        metavar="FILE",
        help="a Jinja template, or its text (default: the model's own)",
    )
    model.add_argument(
        "--seed",
        type=int,
        metavar="S",
        help="of draws of requests that name none (default: %(default)s)",
    )


def _add_memory(parser: ArgumentParser) -> None:
    size = parser.add_argument_group("size of the KV pool", "the first that is given decides")
    size.add_argument(
        "--num-gpu-blocks-override",
        type=int,
        metavar="N",
        help="in blocks (default: what the next size makes)",
    )
    size.add_argument(
        "--kv-cache-memory-bytes",
        type=byte_size,
        metavar="SIZE",
        help="such as 4GiB (default: what the next share leaves)",
    )
    size.add_argument(
        "--gpu-memory-utilization",
        type=float,
        metavar="SHARE",
        help="of a GPU's memory, for weights, steps and KV pool; measured (default: %(default)s);"
        " on a CPU the pool is half of the free memory, at most 1 GiB",
    )
    memory = parser.add_argument_group("KV pool")
    memory.add_argument(
        "--allocator",
        choices=tuple(ALLOCATORS),
        metavar="POLICY",
        help=f"who owns blocks: {', '.join(ALLOCATORS)} (default: %(default)s)",
    )
    memory.add_argument(
        "--block-size", type=int, metavar="N", help="tokens of a block (default: %(default)s)"
    )
    memory.add_argument(
        "--kv-cache-dtype",
        type=kv_cache_dtype,
        choices=KV_CACHE_DTYPES,
        help="of keys and values; fp8 is float8_e4m3fn (default: auto, float32 beside float32"
        " weights, else 16 bits)",
    )
    memory.add_argument(
        "--enable-prefix-caching",
        action=BooleanOptionalAction,
        help="keep blocks for prompts that begin alike (default: yes with the allocator paged)",
    )
    memory.add_argument(
        "--swap-space",
        dest="swap_space_bytes",
        type=swap_space_bytes,
        metavar="SIZE",
        help="host memory for swapped sequences, such as 4GiB; a bare number is GiB"
        " (default: that of the pool with --preemption swap, else none)",
    )


def _add_scheduling(parser: ArgumentParser) -> None:
    scheduling = parser.add_argument_group("scheduling")
    scheduling.add_argument(
        "--max-num-seqs",
        type=int,
        metavar="N",
        help="most sequences that run at once; the pool has no more blocks than they can fill,"
        " unless it is sized in blocks (default: %(default)s)",
    )
    scheduling.add_argument(
        "--max-num-batched-tokens",
        type=int,
        metavar="N",
        help="token budget of a step (default: 2048 on a GPU and 256 on a CPU, or --max-num-seqs"
        " if that is more)",
    )
    scheduling.add_argument(
        "--scheduling-policy",
        dest="policy",
        choices=POLICIES,
        help="who is first in the queue (default: %(default)s)",
    )
    scheduling.add_argument(
        "--preemption",
        choices=PREEMPTIONS,
        help="what becomes of a sequence that must give way (default: %(default)s)",
    )


def _add_execution(parser: ArgumentParser) -> None:
    execution = parser.add_argument_group("execution")
    recording = execution.add_mutually_exclusive_group()
    recording.add_argument(
        "--enforce-eager",
        dest="cuda_graph_sizes",
        action="store_const",
        const=(),
        help="record no decode step (default: they are recorded)",
    )
    recording.add_argument(
        "--cuda-graph-sizes",
        type=graph_sizes,
        metavar="N,N,...",
        help="batch sizes that decode is recorded at, or none (default: 1,2,4,...,256 on a GPU,"
        " each up to 256 on a CPU)",
    )
    execution.add_argument(
        "--num-threads",
        type=int,
        metavar="N",
        help="of host kernels (default: one for each physical core)",
    )
    execution.add_argument(
        "--record",
        metavar="FILE",
        help="write every batch to FILE, for paged replay (default: none is written)",
    )
    add_kernel_option(parser)


def graph_sizes(text: str) -> tuple[int, ...]:
    """Read `1,2,4`; `none` is no size. Raises ArgumentTypeError."""
    if text == "none":
        return ()
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise ArgumentTypeError(
            f"expected batch sizes as 1,2,4 or none, got {text!r:.40}"
        ) from error


def kv_cache_dtype(text: str) -> str:
    """Return the name of a type here, for vLLM's name of it or ours."""
    return "float8_e4m3fn" if text in _FLOAT8_NAMES else text


def swap_space_bytes(text: str) -> int:
    """Read an amount of memory that may be 0; a bare number is GiB, as vLLM has it."""
    try:
        num_bytes = float(text) * 2**30
    except ValueError:
        return byte_size(text)
    if not 0 <= num_bytes < float("inf"):
        raise ArgumentTypeError(f"expected an amount of memory such as 4GiB, got {text!r:.40}")
    return int(num_bytes)
