"""Who runs in the next step. Imports the allocator only."""
