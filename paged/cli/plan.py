"""`paged plan`: what fits on a GPU, before any weights are loaded."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace

from model_zoo.config import DTYPES, ModelConfig
from model_zoo.loading.download import SMOLLM2
from paged.allocator.base import Demand
from paged.allocator.registry import ALLOCATORS, make_allocator
from paged.allocator.window import most_window_blocks
from paged.cli.byte_size import byte_size, shown
from paged.cli.command import Action
from paged.cli.concurrency import max_concurrency
from paged.cli.model_options import kv_cache_dtype
from paged.config import CacheConfig
from paged.engine.group_pools import group_pools
from paged.engine.llm_config import LLMConfig
from paged.errors import ConfigError
from paged.shapes import MODELS, ModelShape, find_shape

WIDTHS = {**DTYPES, "int8": 1}
"""Types of weights, and their bytes."""

KV_WIDTHS = {**DTYPES, "float8_e4m3fn": 1}
"""Types of a KV cache, and their bytes: `KV_CACHE_DTYPES`."""

_DEFAULT_LEN = 2048
_FLOAT32_BYTES = 4
# Whole, third and tenth of max_model_len, for few sequences are as long as they may be.
_SHARES = (1, 3, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """How the memory of a GPU is spent.

    budget_bytes: the share of the memory that may be used.
    activation_bytes: estimated, for a step of the default token budget.
    model: None where its shape alone is known, and no window.
    """

    shape: ModelShape
    budget_bytes: int
    activation_bytes: int
    block_size: int
    max_model_len: int
    model: ModelConfig | None = None

    @property
    def kv_bytes(self) -> int:
        """What is left for the KV cache; not above 0 where nothing is."""
        return self.budget_bytes - self.shape.weight_bytes - self.activation_bytes

    @property
    def num_blocks(self) -> int:
        """Blocks of the KV pool."""
        return max(0, self.kv_bytes) // (self.block_size * self.shape.kv_bytes_per_token)

    def cache_config(self, allocator: str) -> CacheConfig:
        """Options of an allocator that serves the pool, with none of it kept back."""
        options = LLMConfig(device="cuda", allocator=allocator, block_size=self.block_size)
        groups = None
        if self.model is not None:
            model = replace(self.model, max_model_len=self.max_model_len)
            groups = group_pools(options, model, num_blocks=self.num_blocks)
        config = options.cache_config(
            num_blocks=self.num_blocks, max_model_len=self.max_model_len, groups=groups
        )
        return replace(config, watermark=0.0, enable_prefix_caching=False)

    def sequence_bytes(self, num_tokens: int) -> int:
        """Count what one sequence takes at its longest, paged: of a window, what it reaches."""
        shape, size = self.shape, self.block_size
        whole = -(-num_tokens // size)
        num_step_tokens = LLMConfig(device="cuda").num_step_tokens
        num_blocks = whole * shape.num_layers
        for window in () if self.model is None else self.model.windows:
            if window is not None:
                most = most_window_blocks(window, block_size=size, num_step_tokens=num_step_tokens)
                num_blocks -= max(0, whole - most)
        return num_blocks * size * shape.kv_bytes_per_token // shape.num_layers

    def fits(self, num_tokens: int) -> bool:
        """Say whether a sequence of so many tokens can come to its end, paged."""
        if self.num_blocks == 0:
            return False
        allocator = make_allocator(self.cache_config("paged"), max_rows=1)
        return allocator.refusal(Demand(num_tokens=num_tokens, max_tokens=num_tokens)) is None


def make_plan(
    shape: ModelShape,
    *,
    gpu_memory_bytes: int,
    utilization: float,
    block_size: int,
    max_model_len: int,
    model: ModelConfig | None = None,
) -> MemoryPlan:
    """Plan the memory for one model. Raises ConfigError where not one sequence fits."""
    plan = MemoryPlan(
        shape=shape,
        budget_bytes=int(gpu_memory_bytes * utilization),
        activation_bytes=_activation_bytes(shape),
        block_size=block_size,
        max_model_len=max_model_len,
        model=model,
    )
    if not plan.fits(max_model_len):
        raise ConfigError(
            f"{shape.name} does not fit: of {shown(plan.budget_bytes)}, weights take "
            f"{shown(shape.weight_bytes)}, activations {shown(plan.activation_bytes)} and one "
            f"sequence of {max_model_len} tokens {shown(plan.sequence_bytes(max_model_len))};"
            " give more --gpu-memory, a narrower --dtype or a smaller --max-model-len"
        )
    return plan


def _activation_bytes(shape: ModelShape) -> int:
    """Estimate the widest moment of a step: an MLP of all tokens, and logits of all sequences."""
    options = LLMConfig(device="cuda")
    values_per_token = 2 * shape.hidden_size + 3 * shape.intermediate_size
    mlp_values = options.num_step_tokens * values_per_token
    logit_bytes = options.max_num_seqs * shape.vocab_size * _FLOAT32_BYTES
    return round(mlp_values * shape.weight_bytes_per_param) + 2 * logit_bytes


def _lines(plan: MemoryPlan) -> Iterator[str]:
    shape = plan.shape
    num_slots = plan.num_blocks * plan.block_size
    yield f"{shape.name}: {shape.num_params:,} parameters"
    yield f"  to spend            {shown(plan.budget_bytes):>12}"
    yield f"  weights             {shown(shape.weight_bytes):>12}"
    yield f"  activations         {shown(plan.activation_bytes):>12}  (estimate)"
    yield f"  KV cache            {shown(plan.kv_bytes):>12}"
    yield f"  KV bytes per token  {shape.kv_bytes_per_token:>12,}"
    yield f"  blocks              {plan.num_blocks:>12,}  ({num_slots:,} tokens)"
    yield from (f"  {note}" for note in _notes(plan))
    lengths = [max(1, plan.max_model_len // share) for share in _SHARES]
    yield "most sequences at once, half of each prompt"
    width = max(map(len, ALLOCATORS))
    yield f"  {'tokens each':<{width}}" + "".join(f"{length:>12,}" for length in lengths)
    for name in ALLOCATORS:
        counts = (max_concurrency(plan.cache_config(name), length) for length in lengths)
        yield f"  {name:<{width}}" + "".join(f"{count:>12,}" for count in counts)


def _notes(plan: MemoryPlan) -> Iterator[str]:
    if plan.model is None:
        if plan.shape.name != SMOLLM2.name:
            yield "a shape without weights: to serve it, name a folder, a .gguf file or a hub id"
        return
    windows = [window for window in plan.model.windows if window is not None]
    if windows:
        yield (
            f"{len(windows)} of {len(plan.model.windows)} layers keep a window of"
            f" {max(windows)} tokens: paged gives up blocks that have left it"
        )


def _find(name: str) -> tuple[ModelShape, ModelConfig | None]:
    """Return a model's shape, and its configuration where there are files of the model."""
    if name in MODELS or (name.endswith(".json") and os.path.isfile(name)):
        return find_shape(name), None
    from model_zoo.loading.files import resolve
    from model_zoo.loading.load_config import load_config

    files = resolve(name)
    config = load_config(files)
    return replace(config.shape, name=files.name), config


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help=f"a folder, a GGUF file, a hub id, or {', '.join(MODELS)}"
    )
    parser.add_argument(
        "--gpu-memory", type=byte_size, required=True, metavar="SIZE", help="as 16GiB or 80GB"
    )
    parser.add_argument(
        "--gpu-memory-utilization",
        type=float,
        default=0.9,
        metavar="SHARE",
        help="of it for weights, activations and KV (default: 0.9)",
    )
    parser.add_argument(
        "--max-model-len",
        type=int,
        metavar="TOKENS",
        help="longest prompt + output (default: the model's own, or 2048)",
    )
    parser.add_argument(
        "--block-size", type=int, default=16, metavar="TOKENS", help="of a KV block (default: 16)"
    )
    parser.add_argument(
        "--dtype",
        choices=("auto", *WIDTHS),
        default="auto",
        help="of the weights (default: auto, the model's own)",
    )
    parser.add_argument(
        "--kv-cache-dtype",
        type=kv_cache_dtype,
        choices=("auto", *KV_WIDTHS),
        default="auto",
        help="of the KV pool; fp8 is float8_e4m3fn (default: auto)",
    )


def _run(arguments: Namespace) -> int:
    shape, model = _find(arguments.model)
    limit = None if model is None else model.max_model_len
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
        model=model,
    )
    for line in _lines(plan):
        print(line)
    return 0


def _typed(shape: ModelShape, dtype: str, kv_dtype: str) -> ModelShape:
    """Return a shape with the widths of these types; `auto` leaves them, or follows dtype."""
    if dtype != "auto":
        kv_width = DTYPES.get(dtype, DTYPES["bfloat16"])
        shape = replace(shape, weight_bytes_per_param=WIDTHS[dtype], kv_bytes_per_value=kv_width)
    if kv_dtype != "auto":
        shape = replace(shape, kv_bytes_per_value=KV_WIDTHS[kv_dtype])
    return shape


ACTION = Action(add_arguments=_add_arguments, run=_run)
