"""Models as pure functions over parameter trees: params in, arrays out.

Empty so far. Llama, Mistral, Qwen2, Qwen3 and a seeded `tiny` model for tests will live
here, with loaders for safetensors and GGUF. They run on the kernels of `paged.kernel`.
"""
