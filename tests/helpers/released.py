"""What an allocator must say once nobody holds anything."""

from __future__ import annotations

from paged.allocator.base import Allocator


def check_released(allocator: Allocator) -> None:
    """Assert that every block is free, or kept for prefixes alone, and every row is free."""
    usage = allocator.usage(None)
    assert usage.free + usage.cached_free == usage.capacity
    assert allocator.tables.num_free_rows == allocator.tables.max_rows
