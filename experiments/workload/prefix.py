"""How much of the prompts a prefix cache could reuse at best."""

from __future__ import annotations

from experiments.workload.errors import WorkloadError
from experiments.workload.workload import Workload


def prefix_hit_share(workload: Workload) -> float:
    """Share of prompt tokens that an unlimited prefix cache would reuse.

    Requests run in order, each prompt is cached whole, and only the unbroken leading
    run of cached blocks counts. Blocks are matched along a trie, for some traces
    (Bailian) hash a block alone and not the blocks before it.

    Complexity: O(prompt block ids).
    Raises: WorkloadError if the source has no block ids.
    """
    if workload.prompt_block_ids is None or workload.hash_block_size is None:
        raise WorkloadError(f"{workload.name} records no block ids; use a trace with hash_ids")
    children: dict[tuple[int, int], int] = {}
    num_reused_tokens = 0
    lengths = workload.prompt_tokens.tolist()
    for ids, num_prompt in zip(workload.prompt_block_ids, lengths, strict=True):
        node = num_reused_blocks = 0
        for block_id in ids.tolist():
            num_nodes = len(children)
            node = children.setdefault((node, block_id), num_nodes + 1)
            # A new node has no children, so nothing after the first miss can hit.
            num_reused_blocks += node <= num_nodes
        num_reused_tokens += min(num_reused_blocks * workload.hash_block_size, num_prompt)
    return num_reused_tokens / int(workload.prompt_tokens.sum())
