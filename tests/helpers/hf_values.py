"""Contents of published config.json files, as far as a model reads them."""

from __future__ import annotations

from typing import Any


def llama_values(**changes: Any) -> dict[str, Any]:
    """Return a small Llama's config.json with some fields changed; None stands for null."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": 48,
        "intermediate_size": 40,
        "max_position_embeddings": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "vocab_size": 61,
        "bos_token_id": 1,
        "eos_token_id": 2,
        **changes,
    }


def without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the values without some fields."""
    return {name: value for name, value in values.items() if name not in names}


PUBLISHED: dict[str, dict[str, Any]] = {
    "llama-3-8b": llama_values(
        hidden_size=4096,
        intermediate_size=14336,
        num_attention_heads=32,
        num_hidden_layers=32,
        num_key_value_heads=8,
        vocab_size=128256,
        rope_theta=500000.0,
        max_position_embeddings=8192,
    ),
    "smollm2-135m": llama_values(
        hidden_size=576,
        intermediate_size=1536,
        num_attention_heads=9,
        num_hidden_layers=30,
        num_key_value_heads=3,
        vocab_size=49152,
        rope_theta=100000,
        tie_word_embeddings=True,
    ),
    "mistral-7b": llama_values(
        architectures=["MistralForCausalLM"],
        model_type="mistral",
        hidden_size=4096,
        intermediate_size=14336,
        num_attention_heads=32,
        num_hidden_layers=32,
        num_key_value_heads=8,
        sliding_window=4096,
        vocab_size=32000,
    ),
    "qwen2.5-7b": llama_values(
        architectures=["Qwen2ForCausalLM"],
        model_type="qwen2",
        hidden_size=3584,
        intermediate_size=18944,
        max_window_layers=28,
        num_attention_heads=28,
        num_hidden_layers=28,
        num_key_value_heads=4,
        sliding_window=131072,
        use_sliding_window=False,
        vocab_size=152064,
    ),
    "qwen3-8b": llama_values(
        architectures=["Qwen3ForCausalLM"],
        model_type="qwen3",
        attention_bias=False,
        head_dim=128,
        hidden_size=4096,
        intermediate_size=12288,
        max_window_layers=36,
        num_attention_heads=32,
        num_hidden_layers=36,
        num_key_value_heads=8,
        sliding_window=None,
        use_sliding_window=False,
        vocab_size=151936,
    ),
}
"""By the names of `paged.shapes.MODELS`."""
