"""Experiments that drive the production allocators and scheduler on workloads."""
