"""Whether blocks that an operation moved arrived as they were."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from paged.kernel.problem import bits


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongMove:
    """A block that is not what it was copied from.

    source, destination: ids of the blocks. layer: index in the pool. offset: slot in the block.
    """

    op: str
    source: int
    destination: int
    layer: int
    offset: int


def wrong_move(
    op: str, source: torch.Tensor, destination: torch.Tensor, pairs: torch.Tensor
) -> WrongMove | None:
    """Compare each block with the one it was copied from, and return the first difference.

    Shapes: pools [num_blocks, num_layers, 2, kv_heads, block_size, head_dim]; pairs int64
    [num_pairs, 2], source before destination. The sources must be as they were.
    """
    for pair in pairs.cpu():
        before, after = (int(block) for block in pair)
        is_apart = bits(source[before]) != bits(destination[after]).to(source.device)
        # [num_layers, block_size]
        places = is_apart.any(-1).any(-1).any(1).any(1).nonzero()
        if len(places):
            layer, offset = (int(each) for each in places[0])
            return WrongMove(op=op, source=before, destination=after, layer=layer, offset=offset)
    return None
