"""What a browser loads to watch the memory: a page, its style and its scripts."""
