"""Writing new keys and values into the slots of the paged KV pool."""

from __future__ import annotations

import torch

from paged.kernel.binding import Binding
from paged.kernel.op import Op
from paged.kernel.ops import pool
from paged.kernel.spec import Operand, Scalar
from paged.kernel.work import Cost, Work


def reference(
    key: torch.Tensor,
    value: torch.Tensor,
    kv_pool: torch.Tensor,
    slot_mapping: torch.Tensor,
    kv_scales: torch.Tensor | None = None,
    *,
    layer: int,
) -> None:
    """Write each token's rows to its slot, `block * block_size + offset`.

    Shapes: key, value [num_tokens, num_kv_heads, head_dim]; slot_mapping [num_slots >=
    num_tokens], of which entries past num_tokens are ignored, so that it may be a longer buffer.
    A token whose slot is -1, or otherwise outside of the pool, is skipped.
    Stored is x / scale, computed in float32 and rounded once to nearest even, saturating in fp8.
    Mutates: kv_pool. The result is undefined where two tokens have one slot.
    """
    pool.store_rows(kv_pool, (key, value), slot_mapping, kv_scales, layer)


def _work(binding: Binding) -> Work:
    sizes = binding.sizes
    num_elements = sizes["num_tokens"] * sizes["num_kv_heads"] * sizes["head_dim"]
    key_bytes = num_elements * pool.element_bytes(binding, "key_t")
    return Work.of(
        {
            "key": key_bytes,
            "value": key_bytes,
            "kv_pool": 2 * num_elements * pool.element_bytes(binding, "kv_t"),
            "slot_mapping": 8 * sizes["num_tokens"],
        }
    )


OP = Op(
    name="write_kv",
    folder="cache",
    summary="Write new keys and values into their slots",
    operands=(
        Operand(name="key", shape="num_tokens num_kv_heads head_dim", dtype="key_t", strided=True),
        Operand(
            name="value", shape="num_tokens num_kv_heads head_dim", dtype="key_t", strided=True
        ),
        pool.pool_operand("inout"),
        Operand(name="slot_mapping", shape="num_slots", dtype="int64"),
        pool.KV_SCALES,
    ),
    scalars=(Scalar(name="layer", dtype="int32"),),
    types={"key_t": pool.KEY_TYPES, "kv_t": pool.POOL_TYPES},
    requires=("num_slots >= num_tokens", "block_size > 0", "0 <= layer < num_layers"),
    cost=Cost(work=_work, text="new keys and values read and stored once, and their slots read"),
    reference=reference,
    choose=pool.choose_vector,
)
