"""Two configurations in lockstep: equal ones are, and a planted fault is named exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paged.engine.difference import (
    EndDifference,
    MoveDifference,
    Tolerance,
    ValueDifference,
)
from paged.engine.lockstep import Comparison, Run, compare
from paged.errors import ConfigError, RequestFailed
from paged.sampling_params import SamplingParams
from tests.helpers.planted import GREEDY, compared, tiny_config, with_wrong_weight, wrong_kernel
from tests.helpers.tiny_llm import tiny_model, tiny_model_with

PROMPTS = ("the quick brown fox", "the quick brown cat sat on", "zebra crossing ahead", "a")
# All fit at first, and not to the end.
SCARCE: dict[str, Any] = {"num_blocks": 24, "enable_prefix_caching": False}


def run(name: str = "A", **options: Any) -> Run:
    return Run(name, tiny_config(**options), tiny_model())


def value_difference(comparison: Comparison) -> ValueDifference:
    assert isinstance(comparison.difference, ValueDifference)
    return comparison.difference


@pytest.mark.parametrize(
    "options",
    [
        {"max_num_batched_tokens": 7},
        {"max_num_batched_tokens": 1},
        {"max_num_seqs": 2},
        SCARCE,
        SCARCE | {"preemption": "swap"},
        {"block_size": 5},
        {"num_threads": 1},
        *({"allocator": name, "num_blocks": 192} for name in ("reserved-max", "static", "virtual")),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "params", [GREEDY, replace(GREEDY, temperature=1.0, seed=5)], ids=["0", "1"]
)
def test_what_must_not_matter_does_not(options: dict[str, Any], params: SamplingParams) -> None:
    a, b = run(), run("B", **options)
    comparison = compared(PROMPTS, a, b, params=params)
    assert comparison.difference is None
    assert comparison.num_values > 150_000
    if options == SCARCE:
        assert b.num_tokens > a.num_tokens


@pytest.mark.parametrize(
    ("leaf", "site"),
    [
        ("embedding", "embedding"),
        ("layers.0.attention_norm", "layer 0 rms_norm attention_norm"),
        ("layers.0.qkv", "layer 0 linear qkv"),
        ("cos_sin", "layer 0 rope_write_kv: out"),
        ("layers.1.attention_norm", "layer 1 add_rms_norm attention_norm: normed"),
        ("layers.1.o", "layer 1 linear o"),
        ("layers.1.mlp_norm", "layer 1 add_rms_norm mlp_norm: normed"),
        ("layers.1.gate_up", "layer 1 linear gate_up"),
        ("layers.1.down", "layer 1 linear down"),
        ("final_norm", "add_rms_norm final_norm: normed"),
        ("lm_head", "linear lm_head"),
    ],
)
def test_a_wrong_weight_is_named_by_its_layer_and_operation(leaf: str, site: str) -> None:
    wrong = Run("B", tiny_config(), with_wrong_weight(leaf))
    found = value_difference(compared(PROMPTS, run(), wrong))
    assert str(found.site) == site
    assert found.token[0] == "0"
    assert found.places[0].step == 0


ATTENTION = ("attention", "v0")
ROPE = ("rope_write_kv", "simple")


@pytest.mark.parametrize(
    ("place", "new", "site", "position"),
    [
        (
            (*ATTENTION, "static_cast<Q_T>(values[i] * ("),
            "static_cast<Q_T>((p.layer == 1 && seen.position == 21) * 0.01f + values[i] * (",
            *("layer 1 attention: out", 21),
        ),
        (
            (*ATTENTION, "= row.log_sum();"),
            "= row.log_sum() + (seen.position == (p.layer == 0 ? 18 : 3) && head == 3);",
            *("layer 0 attention: lse", 18),
        ),
        (
            (*ROPE, "write(value[d], paged::kValues);"),
            "write(p.layer == 1 && slot.offset == 3 ? -value[d] : value[d], paged::kValues);",
            *("layer 1 rope_write_kv: keys and values", 3),
        ),
        (
            (*ROPE, "out[i] = paged::convert<KEY_T>(x);"),
            "out[i] = paged::convert<KEY_T>(p.layer == 1 && token == 5 && i == 7 ? 9.0f : x);",
            *("layer 1 rope_write_kv: out", 5),
        ),
    ],
    ids=[
        "attention",
        "its sums, later in the model for an earlier token",
        "keys and values",
        "queries",
    ],
)
def test_a_wrong_kernel_is_named_by_layer_operation_and_token(
    tmp_path: Path, place: tuple[str, str, str], new: str, site: str, position: int
) -> None:
    op, variant, old = place
    file = {"attention": f"attention/{variant}.cu"}.get(op, f"cache/{op}_{variant}.cu")
    wrong = run("B", kernels={op: wrong_kernel(tmp_path, file, old, new)})
    found = value_difference(compared(PROMPTS[:1], run(kernels={op: variant}), wrong))
    assert (str(found.site), found.token) == (site, ("0", position))
    assert (found.places[1].block, found.places[1].offset) == (position // 4, position % 4)


# The second finds the first's blocks when it is admitted, and writes to a copy of the last.
TWINS = [list(range(10, 26))] * 2


@pytest.mark.parametrize(
    ("op", "prompts", "options"),
    [
        ("copy_blocks", TWINS, {"max_num_batched_tokens": 16}),
        ("swap_blocks", PROMPTS, SCARCE | {"preemption": "swap"}),
    ],
)
def test_a_wrong_move_is_named_by_its_blocks(
    tmp_path: Path, op: str, prompts: list[str | list[int]], options: dict[str, Any]
) -> None:
    layer = "blockIdx.x % p.num_layers"
    text = wrong_kernel(tmp_path, f"cache/{op}_simple.cu", f"shape, {layer});", "shape, 0);")
    right, wrong = (run("B", **options, kernels={op: each}) for each in ("simple", text))
    assert compared(prompts, run(**options), right).difference is None
    found = compared(prompts, run(**options), wrong).difference
    assert isinstance(found, MoveDifference)
    assert found.run == "B"
    assert (found.move.op, found.move.layer, found.move.offset) == (op, 1, 0)


def test_kernels_that_round_otherwise_are_equal_within_a_tolerance() -> None:
    kernels = {"attention": "reference"}
    each_bit = compared(PROMPTS, run(), run("B", kernels=kernels))
    found = value_difference(each_bit)
    assert str(found.site) == "layer 0 attention: out"
    assert 0 < found.max_abs_error < 1e-5
    close = Tolerance(atol=1e-4, rtol=1e-4)
    assert compared(PROMPTS, run(), run("B", kernels=kernels), tolerance=close).difference is None


def test_a_fault_in_what_is_computed_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    a, other = run(), run("B", **SCARCE)
    seen: set[Any] = set()
    step = other.step

    def changed() -> Any:
        computed = step()
        for token in computed.keys() & seen:
            computed[token].values[3][0] += 1.0
        seen.update(computed)
        return computed

    monkeypatch.setattr(other, "step", changed)
    found = value_difference(compared(PROMPTS, a, other))
    assert str(found.site) == "layer 0 rope_write_kv: out"
    assert found.places[0].step < found.places[1].step


def test_requests_that_end_otherwise_differ() -> None:
    small = tiny_model_with(max_model_len=30)
    found = compared(PROMPTS, run(), Run("B", tiny_config(), small)).difference
    assert isinstance(found, EndDifference)
    assert (found.a.num_new_tokens, found.b.num_new_tokens) == (12, 10)


def test_a_run_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = run(), run("B")

    def failing(_batch: object) -> None:
        raise ArithmeticError("broken")

    monkeypatch.setattr(b._engine.executor, "execute", failing)
    with pytest.raises(RequestFailed, match=r"^B failed: ArithmeticError: broken"):
        compared(PROMPTS, a, b)


def test_the_values_of_requests_that_are_over_are_not_kept() -> None:
    a, b = run(), run("B")
    assert compared(PROMPTS, a, b).difference is None
    assert a.values == b.values == {}


def test_configurations_are_loaded_and_compared() -> None:
    a = tiny_config(max_model_len=96)
    assert compare((a, replace(a, allocator="virtual")), PROMPTS, GREEDY).difference is None
    narrow = compare((a, replace(a, kv_cache_dtype="float8_e4m3fn")), PROMPTS, GREEDY)
    assert str(value_difference(narrow).site) == "layer 0 rope_write_kv: keys and values"


@pytest.mark.parametrize("values", [{"n": 2}, {"prompt_logprobs": 0}], ids=str)
def test_requests_whose_positions_name_no_token_are_refused(values: dict[str, Any]) -> None:
    config = tiny_config()
    with pytest.raises(ConfigError, match="requests of one sequence without prompt_logprobs"):
        compare((config, config), PROMPTS, SamplingParams(**values))
