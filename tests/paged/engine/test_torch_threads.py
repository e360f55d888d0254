"""Torch keeps to one thread, and gets its own back."""

from __future__ import annotations

import pytest
import torch

from paged.engine.torch_threads import one_torch_thread


def test_threads_are_given_back_even_after_an_error() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with pytest.raises(ArithmeticError):
            _fail_inside()
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def _fail_inside() -> None:
    with one_torch_thread():
        assert torch.get_num_threads() == 1
        raise ArithmeticError
