"""Named GPUs and the slots they leave for KV."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paged.errors import ConfigError
from paged.hardware import GPUS, HardwareSpec, find_gpu, kv_slots
from paged.shapes import MODELS


def test_slots_are_what_the_weights_leave() -> None:
    gpu, model = GPUS["a100-40gb"], MODELS["opt-13b"]
    left_bytes = gpu.memory_bytes - 2 * 12_853_473_280
    assert kv_slots(model, gpu, share=1.0) == left_bytes // 819_200


def test_the_papers_pool_fits_an_a100() -> None:
    # Source: vLLM paper, table 1: 12 GB for the KV cache of OPT-13B, "15.7K" slots.
    assert kv_slots(MODELS["opt-13b"], GPUS["a100-40gb"], share=0.9) == pytest.approx(
        15_728, rel=0.02
    )


def test_the_pool_of_the_measured_rtx_4090_run_fits() -> None:
    # The recorded vLLM run had 41,408 slots; its activations took the rest of 0.9.
    assert kv_slots(MODELS["llama-3-8b"], GPUS["rtx4090"], share=0.9) >= 41_408


def test_a_model_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"opt-66b needs 122\.4 GiB .* offers 36\.0 GiB"):
        kv_slots(MODELS["opt-66b"], GPUS["a100-40gb"])


@pytest.mark.parametrize("share", [0.0, 1.01, float("nan")])
def test_share_is_checked(share: float) -> None:
    with pytest.raises(ConfigError, match="share of the memory"):
        kv_slots(MODELS["opt-13b"], GPUS["h200"], share=share)


def test_unknown_gpu_lists_the_known() -> None:
    with pytest.raises(ConfigError, match=r"unknown GPU 'h300'.*a100-40gb, .*rtx4090"):
        find_gpu("h300")
    assert find_gpu("l4") is GPUS["l4"]


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_every_number_is_sourced(gpu: HardwareSpec) -> None:
    assert gpu.source


def test_impossible_hardware_is_refused() -> None:
    with pytest.raises(ConfigError, match="flops_per_s must be above 0, got 0"):
        replace(GPUS["l4"], flops_per_s=0)
