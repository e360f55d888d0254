"""What the cache operations share: the pool and its scales as operands, and what a slot holds."""

from __future__ import annotations

import torch

from paged.kernel.binding import Binding
from paged.kernel.dtypes import element_type
from paged.kernel.launch import Intent
from paged.kernel.spec import Operand

POOL_SHAPE = "num_blocks num_layers 2 num_kv_heads block_size head_dim"
"""Keys lie at index 0 of the third axis, values at 1."""

KEY_TYPES = ("float16", "bfloat16", "float32")
POOL_TYPES = (*KEY_TYPES, "float8_e4m3fn")

KV_SCALES = Operand(
    name="kv_scales", shape="num_layers 2 num_kv_heads", dtype="float32", is_optional=True
)
"""A stored number times its scale is the real one; without scales they are equal."""

_MAX_FP8 = torch.finfo(torch.float8_e4m3fn).max


def pool_operand(intent: Intent) -> Operand:
    """Return the pool as an operand of any strides."""
    return Operand(name="kv_pool", shape=POOL_SHAPE, dtype="kv_t", intent=intent, strided=True)


def to_stored(x: torch.Tensor, scale: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor:
    """Return what a pool of a dtype holds for real numbers x, rounded once.

    Without a scale, numbers of the pool's own dtype keep all their bits. fp8 saturates.
    """
    if scale is None and x.dtype == dtype:
        return x
    real = x if x.dtype == torch.float64 else x.float()
    stored = real if scale is None else real / scale
    if dtype == torch.float8_e4m3fn:
        stored = stored.clamp(-_MAX_FP8, _MAX_FP8)
    return stored.to(dtype)


def to_real(stored: torch.Tensor, scale: torch.Tensor | None) -> torch.Tensor:
    """Return the real numbers of a pool's rows, in float32."""
    return stored.float() if scale is None else stored.float() * scale


def store_rows(
    kv_pool: torch.Tensor,
    rows: tuple[torch.Tensor, torch.Tensor],
    slot_mapping: torch.Tensor,
    kv_scales: torch.Tensor | None,
    layer: int,
) -> None:
    """Write keys and values [num_tokens, num_kv_heads, head_dim] to the slots of one layer.

    Mutates: kv_pool. Tokens whose slot is outside of the pool are left out.
    """
    num_blocks, block_size = kv_pool.shape[0], kv_pool.shape[4]
    for half, values in enumerate(rows):
        scale = None if kv_scales is None else kv_scales[layer, half, :, None]
        stored = to_stored(values, scale, kv_pool.dtype)
        for row, slot in zip(stored, integers(slot_mapping), strict=False):
            if 0 <= slot < num_blocks * block_size:
                block, offset = divmod(slot, block_size)
                kv_pool[block, layer, half, :, offset] = row


def integers(tensor: torch.Tensor) -> list[int]:
    """Return the numbers of a one-axis tensor."""
    return [int(number) for number in tensor.cpu()]


def pairs_of(pairs: torch.Tensor) -> list[tuple[int, int]]:
    """Return the rows of a tensor [num_pairs, 2]."""
    return list(zip(integers(pairs[:, 0]), integers(pairs[:, 1]), strict=True))


def element_bytes(binding: Binding, type_variable: str) -> int:
    """Return the bytes of an element of the type that a variable stands for."""
    return element_type(binding.types[type_variable]).itemsize_bytes


def choose_vector(_binding: Binding) -> str:
    """Return the variant for a call on a GPU: vectors, which handle every layout."""
    return "vector"
