"""The line that a server prints when it is ready."""

from __future__ import annotations

from paged.engine.frontend import Frontend
from paged.server.kernels import kernels_of
from paged.server.service import EngineService


async def banner(service: EngineService, *, address: str, name: str) -> str:
    """Say where what is served, and with how much memory."""
    num_blocks, num_tokens, max_seqs = await service.ask(_pool)
    most = service.model.config.max_model_len
    concurrency = min(max_seqs, num_tokens / most)
    return (
        f"paged serves {name} at {address}: {num_blocks} blocks, {num_tokens} tokens of KV,"
        f" {concurrency:.1f} sequences of {most} tokens at once (at most {max_seqs}),"
        f" kernels {_kernels(service)}"
    )


def _pool(frontend: Frontend) -> tuple[int, int, int]:
    """Return blocks, tokens and rows of the pool."""
    allocator = frontend.engine.scheduler.allocator
    return allocator.num_blocks, allocator.capacity_slots, allocator.tables.max_rows


def _kernels(service: EngineService) -> str:
    """Name what serves each operation, or all where it is one."""
    chosen = kernels_of(service.config, is_gpu=service.model.device.type == "cuda")
    names = set(chosen.values())
    if len(names) == 1:
        return names.pop()
    return ", ".join(f"{op}={variant}" for op, variant in chosen.items())
