"""The forward pass: what a token computes depends on its own text alone."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
import torch

from model_zoo.config import ModelConfig
from model_zoo.init import random_params
from model_zoo.params import ModelParams
from model_zoo.rope_config import RopeConfig
from model_zoo.tiny import CONFIG
from model_zoo.transformer import forward
from paged.errors import OperandError
from paged.kernel.linear_weight import LinearWeight, WeightType
from tests.helpers.hf_model import some_texts
from tests.helpers.ragged import RaggedRun, schedules

LENGTHS = (11, 5, 8)
WINDOWED = replace(
    CONFIG, num_layers=3, windows=(None, 4, None), qk_norm=True, rope=RopeConfig(rotary_dim=8)
)
TEXTS = some_texts(LENGTHS, CONFIG.vocab_size)


def packed_params(config: ModelConfig, dtype: WeightType = "float32") -> ModelParams:
    return random_params(config, pack=lambda weight: weight.packed(dtype))


@pytest.mark.parametrize("config", [CONFIG, WINDOWED], ids=["plain", "windowed"])
@pytest.mark.parametrize("dtype", get_args(WeightType))
def test_batch_mates_and_chunks_and_blocks_change_no_bit(
    config: ModelConfig, dtype: WeightType
) -> None:
    params = packed_params(config, dtype)
    alone = [RaggedRun(params, config, [text], seed=9).step([len(text)])[0] for text in TEXTS]
    for way, steps in schedules(LENGTHS, 3).items():
        run = RaggedRun(params, config, TEXTS)
        computed = [run.step(counts) for counts in steps]
        for index, expected in enumerate(alone):
            ours = torch.cat([parts[index] for parts in computed])
            assert torch.equal(ours, expected), f"{way}, text {index}"


def test_packed_weights_give_the_logits_of_plain_ones() -> None:
    plain = RaggedRun(random_params(WINDOWED), WINDOWED, TEXTS).step(LENGTHS)
    packed = RaggedRun(packed_params(WINDOWED), WINDOWED, TEXTS).step(LENGTHS)
    for ours, theirs in zip(packed, plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_padding_changes_nothing() -> None:
    params = packed_params(CONFIG)
    plain, padded = (RaggedRun(params, CONFIG, TEXTS) for _ in range(2))
    for counts in ([4, 2, 0], [1, 1, 1]):
        expected = plain.step(counts)
        batch, _ = padded.batch(counts, num_padding=5)
        logits = forward(params, CONFIG, padded.pools, batch)
        padded.num_computed = list(plain.num_computed)
        assert logits.shape == (sum(counts) + 5, CONFIG.vocab_size)
        assert torch.equal(logits[: sum(counts)], torch.cat(expected))
    assert_equal_pools(padded, plain)


def test_only_the_rows_asked_for_come_out() -> None:
    params = packed_params(WINDOWED)
    every, last = (RaggedRun(params, WINDOWED, TEXTS) for _ in range(2))
    for counts in ([6, 5, 0], [1, 0, 8], [4, 0, 0]):
        expected = [logits[-1:] for logits in every.step(counts)]
        for ours, theirs in zip(last.step(counts, only_last=True), expected, strict=True):
            assert torch.equal(ours, theirs)
    assert_equal_pools(last, every)


def assert_equal_pools(ours: RaggedRun, theirs: RaggedRun) -> None:
    for pool, other in zip(ours.pools, theirs.pools, strict=True):
        torch.testing.assert_close(pool, other, rtol=0, atol=0, equal_nan=True)


def test_logits_are_float32_whatever_the_weights() -> None:
    params = random_params(CONFIG, dtype=torch.bfloat16)
    exact = RaggedRun(random_params(CONFIG), CONFIG, TEXTS).step(LENGTHS)
    rounded = RaggedRun(params, CONFIG, TEXTS, kv_dtype=torch.bfloat16).step(LENGTHS)
    for ours, theirs in zip(rounded, exact, strict=True):
        assert ours.dtype == torch.float32
        # bfloat16 keeps 8 bits: 2^-9 of each of some dozen roundings
        assert 0 < float((ours - theirs).abs().max() / theirs.abs().max()) < 0.06


def test_turning_a_part_of_a_head_leaves_the_rest_as_it_is() -> None:
    """With rotary_dim elements turned, a table of fewer pairs gives the same as one padded by 0."""
    config = replace(CONFIG, rope=RopeConfig(rotary_dim=8))
    params = random_params(config)
    half = params.cos_sin.shape[1] // 2
    cos, sin = params.cos_sin[:, :half], params.cos_sin[:, half:]
    ones = torch.ones_like(cos)
    # element i pairs with i + 4 of the first 8: as pairs of 16, put them where they meet
    order = torch.tensor([0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15])
    layers = tuple(replace(layer, qkv=_reordered(layer.qkv.data, order)) for layer in params.layers)
    whole = replace(
        params,
        layers=layers,
        cos_sin=torch.cat([cos, ones, sin, torch.zeros_like(sin)], dim=1),
    )
    expected = RaggedRun(whole, config, TEXTS).step(LENGTHS)
    for ours, theirs in zip(RaggedRun(params, config, TEXTS).step(LENGTHS), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def _reordered(weight: torch.Tensor, order: torch.Tensor) -> LinearWeight:
    """Return a fused weight with the elements of each query's and key's head in another order."""
    num_turned = CONFIG.num_heads + CONFIG.num_kv_heads
    heads = weight.clone().view(-1, CONFIG.head_dim, CONFIG.hidden_size)
    heads[:num_turned] = heads[:num_turned, order]
    return LinearWeight.plain(heads.view_as(weight))


def test_a_pool_of_another_geometry_is_refused() -> None:
    params = random_params(CONFIG)
    run = RaggedRun(params, CONFIG, TEXTS)
    batch, _ = run.batch(LENGTHS)
    with pytest.raises(OperandError, match="head_dim"):
        forward(params, CONFIG, (run.pools[0][..., :8],), batch)


# torch's own imports warn
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
def test_a_compiled_step_is_one_graph_and_copies_no_pool() -> None:
    config = replace(CONFIG, windows=(None, 4))
    params = random_params(config)
    run = RaggedRun(params, config, TEXTS)
    run.step((*LENGTHS[:2], 7))
    num_blocks = 4000
    pools = tuple(
        torch.cat([pool, pool.new_zeros((num_blocks, *pool.shape[1:]))]) for pool in run.pools
    )
    pool_bytes = min(pool.nbytes for pool in pools)
    batch, _ = run.batch([0, 0, 1], only_last=True)
    expected = forward(params, config, tuple(pool.clone() for pool in pools), batch)
    compiled = torch.compile(forward, backend="inductor", fullgraph=True)
    with torch.inference_mode():
        torch.testing.assert_close(compiled(params, config, pools, batch), expected)
        with torch.profiler.profile(profile_memory=True) as profile:
            compiled(params, config, pools, batch)
    largest_bytes = max(event.cpu_memory_usage for event in profile.events() or ())
    assert largest_bytes < pool_bytes / 4
