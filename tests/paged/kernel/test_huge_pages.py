"""Tensors in huge pages: their memory is their own, and goes with them."""

from __future__ import annotations

import gc
import resource
from pathlib import Path

import pytest
import torch

from paged.kernel.huge_pages import PAGE_BYTES, HugePages


def test_tensors_are_zeros_side_by_side() -> None:
    pages = HugePages()
    shapes = [(3, 5), (1,), (1 << 20, 20), (7, 2, 2), (0, 4)]
    tensors = [pages.zeros(shape, torch.bfloat16) for shape in shapes]
    for number, tensor in enumerate(tensors, start=1):
        assert not tensor.any()
        assert tensor.is_contiguous()
        assert tensor.data_ptr() % 64 == 0
        tensor.fill_(number)
    for number, tensor in enumerate(tensors, start=1):
        assert tensor.unique().tolist() == ([number] if tensor.numel() else [])
    assert [tuple(tensor.shape) for tensor in tensors] == shapes


def test_a_copy_is_equal_and_apart() -> None:
    source = torch.arange(12.0).view(3, 4).T
    copy = HugePages().place(source)
    assert torch.equal(copy, source)
    assert copy.is_contiguous()
    source.zero_()
    assert copy.sum() == 66


def test_large_ones_start_a_huge_page_and_tell_the_system() -> None:
    large = HugePages().zeros((96 << 20,), torch.uint8)
    assert large.data_ptr() % PAGE_BYTES == 0
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.is_file() or "[never]" in setting.read_text():
        pytest.skip("this system has no transparent huge pages")
    lines = Path("/proc/self/smaps").read_text().splitlines()
    inside, flags = False, ""
    for line in lines:
        head = line.split(" ", 1)[0]
        if "-" in head and ":" not in head:
            low, high = (int(part, 16) for part in head.split("-"))
            inside = low <= large.data_ptr() < high
        elif inside and line.startswith("VmFlags"):
            flags = line
    assert " hg" in flags


def test_memory_goes_back_with_the_last_tensor() -> None:
    def resident_bytes() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    before = resident_bytes()
    tensor = HugePages().zeros((256 << 20,), torch.uint8).fill_(1)
    part = tensor[:10]
    assert resident_bytes() - before > 200 << 20
    del tensor, part
    gc.collect()
    assert resident_bytes() - before < 64 << 20


def test_more_than_there_is_says_how_much() -> None:
    with pytest.raises(MemoryError, match=r"1,152,921,504,606,846,976 bytes: "):
        HugePages().zeros((1 << 60,), torch.uint8)
