"""Which model a command loads, and how: the same flags wherever one is loaded."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from paged.allocator.registry import ALLOCATORS
from paged.cli.byte_size import byte_size
from paged.cli.kernel_option import add_kernel_option, chosen_kernels
from paged.config import PREEMPTIONS
from paged.engine.llm_config import DTYPES, LLMConfig

_NAMES = (
    *("model", "device", "dtype", "quantization", "allocator", "block_size", "max_model_len"),
    *("num_gpu_blocks_override", "kv_cache_memory_bytes", "gpu_memory_utilization"),
    *("cuda_graph_sizes", "preemption", "num_threads"),
)
_DEFAULTS = LLMConfig()


def add_model_options(parser: ArgumentParser) -> None:
    """Declare the flags; each has the name of a field of `LLMConfig`, and `--kernel` beside."""
    model = parser.add_argument_group("model and memory")
    model.add_argument("--model", help="name, folder, .gguf file, hub id")
    model.add_argument("--device", help="cpu, cuda or cuda:N")
    model.add_argument("--dtype", choices=DTYPES)
    model.add_argument("--quantization", choices=("int8",))
    model.add_argument("--allocator", choices=tuple(ALLOCATORS))
    model.add_argument("--block-size", type=int, metavar="N")
    model.add_argument("--max-model-len", type=int, metavar="N")
    model.add_argument("--preemption", choices=PREEMPTIONS)
    model.add_argument("--num-threads", type=int, metavar="N", help="of host kernels")
    size = parser.add_argument_group("size of the KV pool", "the first that is given decides")
    size.add_argument("--num-gpu-blocks-override", type=int, metavar="N", help="in blocks")
    size.add_argument("--kv-cache-memory-bytes", type=byte_size, metavar="SIZE", help="in bytes")
    size.add_argument(
        "--gpu-memory-utilization",
        type=float,
        metavar="SHARE",
        help="of a GPU's memory, for weights, steps and KV pool; measured (default: 0.9)",
    )
    model.add_argument(
        "--cuda-graph-sizes",
        type=graph_sizes,
        metavar="N,N,...",
        help="batch sizes that decode is recorded at on a GPU, or none (default: 1,2,4,...,256)",
    )
    add_kernel_option(parser)
    parser.set_defaults(**{name: getattr(_DEFAULTS, name) for name in _NAMES})


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


def model_config(arguments: Namespace, **options: Any) -> LLMConfig:
    """Return the configuration that the flags name, with further options.

    Raises: ConfigError.
    """
    named = {name: getattr(arguments, name) for name in _NAMES}
    return LLMConfig(**named, kernels=chosen_kernels(arguments), **options)
