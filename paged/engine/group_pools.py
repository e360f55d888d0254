"""The pools of a model's KV groups, where a window lets a group do with fewer blocks."""

from __future__ import annotations

from model_zoo.config import ModelConfig
from paged.allocator.window import most_window_blocks
from paged.config import GroupConfig
from paged.engine.llm_config import LLMConfig


def group_pools(
    options: LLMConfig, config: ModelConfig, *, num_blocks: int
) -> tuple[GroupConfig, ...] | None:
    """Size the pool of each KV group, or say None where one block table serves all.

    num_blocks: what each pool has while nothing is saved. Without prefix caching a group with
        a window gets no more than all sequences together ever hold of it, and what that saves
        goes to groups without one, unless the options name the blocks. With it nothing is
        saved: a prefix is hit as far as every group still has it.
    """
    windows = [_binding(group.window, config.max_model_len) for group in config.kv_groups]
    if options.allocator != "paged" or not any(windows):
        return None
    if options.enable_prefix_caching is not False:
        return tuple(_pool(options, num_blocks, window) for window in windows)
    sizes = [
        num_blocks if window is None else min(num_blocks, _most_blocks(options, window))
        for window in windows
    ]
    if options.num_gpu_blocks_override is None:
        extra = _saved_blocks(config, windows, [num_blocks - size for size in sizes])
        most = options.max_num_seqs * -(-config.max_model_len // options.block_size)
        sizes = [
            max(size, min(size + extra, most)) if window is None else size
            for window, size in zip(windows, sizes, strict=True)
        ]
    return tuple(_pool(options, size, window) for window, size in zip(windows, sizes, strict=True))


def _pool(options: LLMConfig, num_blocks: int, window: int | None) -> GroupConfig:
    num_host_blocks = options.host_blocks(num_blocks)
    return GroupConfig(num_blocks=num_blocks, window=window, num_host_blocks=num_host_blocks)


def _binding(window: int | None, max_model_len: int) -> int | None:
    """Return a window that sequences can outgrow, else None."""
    return None if window is None or window >= max_model_len else window


def _most_blocks(options: LLMConfig, window: int) -> int:
    """Blocks that hold the windows of all sequences, and the tokens of one step.

    Each sequence may add a block of tokens in a step; those beyond fill blocks of their own.
    """
    block_size = options.block_size
    each = most_window_blocks(window, block_size=block_size, num_step_tokens=block_size)
    return options.max_num_seqs * each + -(-options.num_step_tokens // block_size)


def _saved_blocks(config: ModelConfig, windows: list[int | None], saved: list[int]) -> int:
    """Blocks for each group without a window that take the memory of those saved in others."""
    num_layers = [len(group.layers) for group in config.kv_groups]
    num_open = sum(
        count for count, window in zip(num_layers, windows, strict=True) if window is None
    )
    layer_blocks = sum(count * blocks for count, blocks in zip(num_layers, saved, strict=True))
    return layer_blocks // num_open if num_open else 0
