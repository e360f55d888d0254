"""The cache kernels on a GPU: the same bits as in the interpreter, which other tests check."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.helpers.cache_calls import VARIANTS, Call, difference, spec_of
from tests.kernels_cu.cache.test_block_copies import make_copy, make_swap
from tests.kernels_cu.cache.test_gather_kv import make_call as make_gather
from tests.kernels_cu.cache.test_rope_write_kv import make_call as make_rope
from tests.kernels_cu.cache.test_write_kv import make_call as make_write

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
FP8 = torch.float8_e4m3fn

CALLS: dict[str, Callable[[], Call]] = {
    "write": make_write,
    "write, strides and odd rows": lambda: make_write(layout="interleaved", head_dim=46),
    "write, fp8": lambda: make_write(BF16, FP8, has_scales=True, head_dim=128),
    "write, float32 to fp8": lambda: make_write(FP32, FP8, has_scales=True, head_dim=20),
    "write, nothing": lambda: make_write(num_tokens=0),
    "rope": lambda: make_rope(head_dim=128, rotary_dim=128, num_tokens=23),
    "rope, interleaved": lambda: make_rope(interleaved=True, head_dim=80),
    "rope, fp8": lambda: make_rope(FP16, FP8, has_scales=True, num_tokens=23),
    "rope, float32": lambda: make_rope(FP32, FP32, head_dim=46, rotary_dim=10),
    "copy": lambda: make_copy([[4, 0], [1, 2]], num_layers=5, block_size=16, head_dim=128),
    "copy, layers apart": lambda: make_copy([[4, 0], [1, 2]], FP8, "layers", head_dim=46),
    "swap": lambda: make_swap([[4, 8], [0, 0]], layouts=("layers", "blocks"), head_dim=64),
    "gather": make_gather,
    "gather, fp8": lambda: make_gather(BF16, FP8, has_scales=True, head_dim=80, num_tokens=17),
}


@pytest.mark.gpu
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", CALLS)
def test_the_gpu_and_the_interpreter_agree_in_every_bit(name: str, variant: str) -> None:
    call = CALLS[name]()
    spec = spec_of(call.op, variant)
    assert difference(call.run_on_gpu(spec), call.run(spec)) is None
