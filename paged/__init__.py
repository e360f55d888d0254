"""Paged KV-cache memory for LLM inference: a kernel-first research framework."""
