"""Memory that comes back when nobody sees it, and only then."""

from __future__ import annotations

import pytest
import torch

from paged.engine.scratch_arena import ScratchArena, is_dense


def test_memory_comes_back_with_the_last_view() -> None:
    arena = ScratchArena()
    first = arena.like(torch.zeros(10, 100))
    address = first.data_ptr()
    view = first.view(100, 10)[3:5].flatten()
    del first
    assert arena.like(torch.zeros(10, 100)).data_ptr() != address
    del view
    assert arena.like(torch.zeros(10, 100)).data_ptr() == address


def test_live_tensors_share_nothing() -> None:
    arena = ScratchArena()
    tensors = [arena.like(torch.zeros(count)) for count in (1, 7, 16, 17, 100, 100, 1000)]
    for number, tensor in enumerate(tensors):
        tensor.fill_(number)
    for number, tensor in enumerate(tensors):
        assert tensor.unique().tolist() == [number]


def test_work_that_is_done_again_takes_no_more_memory() -> None:
    arena = ScratchArena()

    def work(rows: int) -> None:
        hidden = arena.like(torch.zeros(rows, 64))
        for _ in range(3):
            hidden, _ = arena.like(hidden), arena.like(hidden[:, :32].contiguous())

    work(32)
    held = arena.num_bytes
    assert held == 4 * 32 * (2 * 64 + 32)
    for rows in (32, 31, 20):
        work(rows)
    assert arena.num_bytes == held


def test_tensors_outlive_their_arena() -> None:
    tensor = ScratchArena().like(torch.zeros(1 << 20)).fill_(3)
    assert torch.zeros(1 << 20).sum() == 0
    assert tensor.unique().tolist() == [3]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int64, torch.bool], ids=str)
def test_a_tensor_is_like_its_model(dtype: torch.dtype) -> None:
    model = torch.zeros(3, 4, 5, dtype=dtype).permute(2, 0, 1)
    tensor = ScratchArena().like(model)
    assert (tensor.shape, tensor.stride(), tensor.dtype) == (model.shape, model.stride(), dtype)
    assert tensor.data_ptr() % 64 == 0


def test_dense_is_what_fills_its_memory() -> None:
    assert is_dense(torch.zeros(3, 4).T)
    assert not is_dense(torch.zeros(3, 4)[:, :2])
    assert not is_dense(torch.zeros(3, 1).expand(3, 4))
    assert not is_dense(torch.zeros(0))
