"""A processor without F16C rounds and widens halves exactly as one with it."""

from __future__ import annotations

import numpy as np
import torch

from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.launch import one
from tests.helpers.cuda_launch import Memory, launch, load
from tests.helpers.elementwise import KERNELS_DIR
from tests.helpers.number_formats import HALF


def test_instructions_and_bits_agree() -> None:
    floats = torch.from_numpy(HALF.hard_floats(100_000))
    count = torch.full((1,), -1, dtype=torch.int32)
    launch(
        load(InterpretBackend(InterpretConfig()), KERNELS_DIR / "codecs.cu", ["count_differences"]),
        "count_differences",
        Memory("in", floats),
        Memory("out", count),
        one(floats.numel(), np.int32),
        grid=1,
        block=1,
    )
    assert count.item() == 0
