"""A seeded model of a few kilobytes, for tests and first tries: tokens are bytes."""

from __future__ import annotations

from model_zoo.config import ModelConfig
from model_zoo.rope_config import RopeConfig

NUM_BYTES = 256
BOS_ID = 256
EOS_ID = 257

CONFIG = ModelConfig(
    family="llama",
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_dim=16,
    hidden_size=64,
    intermediate_size=128,
    vocab_size=NUM_BYTES + 2,
    max_model_len=1024,
    rope=RopeConfig(rotary_dim=16),
    windows=(None, None),
    norm_eps=1e-5,
    bos_id=BOS_ID,
    eos_ids=(EOS_ID,),
    dtype="float32",
)
"""Ids below 256 are bytes; 256 starts a text and 257 ends it."""
