"""`paged plan`: what fits on a GPU, before any weights are loaded."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from model_zoo.config import DTYPES
from paged.allocator.base import Allocator, Demand
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.cli.byte_size import byte_size, shown
from paged.cli.command import Command
from paged.config import CacheConfig
from paged.engine.llm_config import LLMConfig
from paged.errors import ConfigError, OutOfBlocks
from paged.shapes import MODELS, ModelShape, find_shape

WIDTHS = {**DTYPES, "int8": 1}
"""Types of weights, and their bytes; a KV cache has one of `DTYPES`."""

_DEFAULT_LEN = 2048
_FLOAT32_BYTES = 4
# Whole, third and tenth of max_model_len, for few sequences are as long as they may be.
_SHARES = (1, 3, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """How the memory of a GPU is spent.

    budget_bytes: the share of the memory that may be used.
    activation_bytes: estimated, for a step of the default token budget.
    """

    shape: ModelShape
    budget_bytes: int
    activation_bytes: int
    block_size: int
    max_model_len: int

    @property
    def kv_bytes(self) -> int:
        """What is left for the KV cache; not above 0 where nothing is."""
        return self.budget_bytes - self.shape.weight_bytes - self.activation_bytes

    @property
    def num_blocks(self) -> int:
        """Blocks of the KV pool."""
        return max(0, self.kv_bytes) // (self.block_size * self.shape.kv_bytes_per_token)


def max_concurrency(plan: MemoryPlan, allocator: str, num_tokens: int) -> int:
    """Count the sequences of num_tokens, half of them prompt, that a pool holds at once.

    The allocator itself is asked: sequences come and grow until one finds no room.
    """
    most = plan.num_blocks * plan.block_size // num_tokens
    if most == 0:
        return 0
    config = CacheConfig(
        num_blocks=plan.num_blocks,
        block_size=plan.block_size,
        max_model_len=plan.max_model_len,
        allocator=allocator,
        watermark=0.0,
    )
    built = make_allocator(config, max_rows=most)
    return next(count for count in range(most + 1) if not _holds_another(built, num_tokens))


def _holds_another(allocator: Allocator, num_tokens: int) -> bool:
    prompt = max(1, num_tokens // 2)
    demand = Demand(num_tokens=prompt, max_tokens=num_tokens, final_tokens=num_tokens)
    admission = allocator.admit(demand)
    if admission is None:
        return False
    try:
        allocator.grow(admission.rows, np.array([num_tokens]))
    except OutOfBlocks:
        return False
    return True


def make_plan(
    shape: ModelShape,
    *,
    gpu_memory_bytes: int,
    utilization: float,
    block_size: int,
    max_model_len: int,
) -> MemoryPlan:
    """Plan the memory for one model. Raises ConfigError where not one sequence fits."""
    plan = MemoryPlan(
        shape=shape,
        budget_bytes=int(gpu_memory_bytes * utilization),
        activation_bytes=_activation_bytes(shape),
        block_size=block_size,
        max_model_len=max_model_len,
    )
    if plan.num_blocks * block_size < max_model_len:
        raise ConfigError(
            f"{shape.name} does not fit: of {shown(plan.budget_bytes)}, weights take "
            f"{shown(shape.weight_bytes)}, activations {shown(plan.activation_bytes)} and one "
            f"sequence of {max_model_len} tokens {shown(max_model_len * shape.kv_bytes_per_token)};"
            " give more --gpu-memory, a narrower --dtype or a smaller --max-model-len"
        )
    return plan


def _activation_bytes(shape: ModelShape) -> int:
    """Estimate the widest moment of a step: an MLP of all tokens, and logits of all sequences."""
    options = LLMConfig()
    values_per_token = 2 * shape.hidden_size + 3 * shape.intermediate_size
    mlp_values = options.max_num_batched_tokens * values_per_token
    logit_bytes = options.max_num_seqs * shape.vocab_size * _FLOAT32_BYTES
    return round(mlp_values * shape.weight_bytes_per_param) + 2 * logit_bytes


def _lines(plan: MemoryPlan, notes: tuple[str, ...]) -> Iterator[str]:
    shape = plan.shape
    num_slots = plan.num_blocks * plan.block_size
    yield f"{shape.name}: {shape.num_params:,} parameters"
    yield f"  to spend            {shown(plan.budget_bytes):>12}"
    yield f"  weights             {shown(shape.weight_bytes):>12}"
    yield f"  activations         {shown(plan.activation_bytes):>12}  (estimate)"
    yield f"  KV cache            {shown(plan.kv_bytes):>12}"
    yield f"  KV bytes per token  {shape.kv_bytes_per_token:>12,}"
    yield f"  blocks              {plan.num_blocks:>12,}  ({num_slots:,} tokens)"
    yield from (f"  {note}" for note in notes)
    lengths = [max(1, plan.max_model_len // share) for share in _SHARES]
    yield "most sequences at once, half of each prompt"
    width = max(map(len, ALLOCATORS))
    yield f"  {'tokens each':<{width}}" + "".join(f"{length:>12,}" for length in lengths)
    for name in ALLOCATORS:
        counts = (max_concurrency(plan, name, length) for length in lengths)
        yield f"  {name:<{width}}" + "".join(f"{count:>12,}" for count in counts)


def _model(name: str) -> tuple[ModelShape, int | None, tuple[str, ...]]:
    """Return a model's shape, the most tokens it allows if that is known, and notes."""
    if name in MODELS or (name.endswith(".json") and os.path.isfile(name)):
        return find_shape(name), None, ()
    from model_zoo.loading.files import resolve
    from model_zoo.loading.load_config import load_config

    files = resolve(name)
    config = load_config(files)
    windows = [window for window in config.windows if window is not None]
    note = f"{len(windows)} layers keep a window of {max(windows, default=0)} tokens; all counted"
    notes = (note,) if windows else ()
    return replace(config.shape, name=files.name), config.max_model_len, notes


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help=f"a folder, a GGUF file, a hub id, or {', '.join(MODELS)}"
    )
    parser.add_argument("--gpu-memory", type=byte_size, required=True, metavar="16GiB")
    parser.add_argument("--gpu-memory-utilization", type=float, default=0.9, metavar="SHARE")
    parser.add_argument(
        "--max-model-len", type=int, metavar="TOKENS", help="default: the model's own, or 2048"
    )
    parser.add_argument("--block-size", type=int, default=16, metavar="TOKENS")
    parser.add_argument("--dtype", choices=("auto", *WIDTHS), default="auto", help="of the weights")
    parser.add_argument("--kv-cache-dtype", choices=("auto", *DTYPES), default="auto")


def _run(arguments: Namespace) -> int:
    shape, limit, notes = _model(arguments.model)
    max_model_len: int = arguments.max_model_len or limit or _DEFAULT_LEN
    if limit is not None and max_model_len > limit:
        raise ConfigError(
            f"{shape.name} allows {limit} tokens, got --max-model-len {max_model_len}"
        )
    if not 0 < arguments.gpu_memory_utilization <= 1:
        raise ConfigError(
            "--gpu-memory-utilization is a share of the memory, above 0 and at most 1, got"
            f" {arguments.gpu_memory_utilization}"
        )
    for name in ("max_model_len", "block_size"):
        if getattr(arguments, name) is not None and getattr(arguments, name) < 1:
            flag = name.replace("_", "-")
            raise ConfigError(f"--{flag} must be at least 1, got {getattr(arguments, name)}")
    plan = make_plan(
        _typed(shape, arguments.dtype, arguments.kv_cache_dtype),
        gpu_memory_bytes=arguments.gpu_memory,
        utilization=arguments.gpu_memory_utilization,
        block_size=arguments.block_size,
        max_model_len=max_model_len,
    )
    for line in _lines(plan, notes):
        print(line)
    return 0


def _typed(shape: ModelShape, dtype: str, kv_dtype: str) -> ModelShape:
    """Return a shape with the widths of these types; `auto` leaves them, or follows dtype."""
    if dtype != "auto":
        kv_width = DTYPES.get(dtype, DTYPES["bfloat16"])
        shape = replace(shape, weight_bytes_per_param=WIDTHS[dtype], kv_bytes_per_value=kv_width)
    if kv_dtype != "auto":
        shape = replace(shape, kv_bytes_per_value=DTYPES[kv_dtype])
    return shape


COMMAND = Command(
    name="plan",
    summary="say what fits on a GPU: weights, KV blocks, and sequences for each allocator",
    add_arguments=_add_arguments,
    run=_run,
)
