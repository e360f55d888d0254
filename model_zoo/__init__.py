"""Models as pure functions over parameter trees: params in, arrays out.

Llama, Mistral, Qwen2, Qwen3 and a seeded `tiny` model for tests, on the kernels of
`paged.kernel`. `registry` finds a family, `transformer.forward` runs it, docs/models.md says how
to add one.
"""
