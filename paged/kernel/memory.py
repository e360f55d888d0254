"""Whether the memory of a call's operands can serve it: present, writable, each place one element.

Shapes and strides do not tell, addresses do. Strided views are compared element by element, so
that interleaved ones, such as heads of one packed tensor, pass.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from ctypes import c_char
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import torch
from torch._subclasses.fake_tensor import FakeTensor

from paged.errors import OperandError
from paged.kernel.binding import Binding
from paged.kernel.spec import KernelSpec, Operand

# numpy's stubs know two values of its last argument
_shares: Any = np.shares_memory

MAX_OVERLAP_WORK = 10_000
"""Steps to find an element that two views share; what takes more is given the benefit of doubt."""

# asking the system costs more than many a kernel; a storage stays what it is while it lives
_WRITABLE: WeakSet[torch.UntypedStorage] = WeakSet()


def check_memory(binding: Binding) -> None:
    """Refuse operands whose memory is missing or would be written in several ways.

    Raises: OperandError, before anything runs, for tensors without memory (meta, fake, released)
        or at an address that is less aligned than the spec asks,
        and for written operands with several indices for one element, or with elements of another
        operand.
    """
    spec = binding.spec
    present = [(o, t) for o in spec.operands if (t := binding.tensors[o.name]) is not None]
    for operand, tensor in present:
        fault = _absence(tensor) or _misalignment(operand, tensor)
        if fault is None and operand.intent == "inout":
            fault = _repetition(tensor)
        if fault is not None:
            raise OperandError(f"{spec.name}: operand {operand.name!r} {fault}")
    written = [(o, t) for o, t in present if o.intent == "inout"]
    for operand, tensor in written:
        for other in _sharing(operand, tensor, present):
            raise OperandError(
                f"{spec.name}: operand {operand.name!r}, which the kernel writes, shares memory "
                f"with operand {other.name!r}; pass a clone() of one of them"
            )


def check_writable(spec: KernelSpec, operands: Sequence[torch.Tensor | None]) -> None:
    """Refuse written operands in read-only memory of the host.

    Raises: OperandError, where a write would end the process.
    """
    for operand, tensor in zip(spec.given, operands, strict=True):
        if operand.intent != "inout" or tensor is None or tensor.numel() == 0:
            continue
        storage = tensor.untyped_storage()
        if tensor.device.type != "cpu" or storage in _WRITABLE:
            continue
        begin = tensor.data_ptr()
        if not _are_writable(begin, begin + spanned_bytes(tensor) - 1):
            raise OperandError(
                f"{spec.name}: operand {operand.name!r} is written, and lies in read-only memory, "
                f"such as a file mapped with mode 'r'; pass a clone()"
            )
        _WRITABLE.add(storage)


def num_spanned(tensor: torch.Tensor) -> int:
    """Return the number of elements from a tensor's first to its last one, gaps included."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


def spanned_bytes(tensor: torch.Tensor) -> int:
    """Return the number of bytes from the first to the end of the last element."""
    return num_spanned(tensor) * tensor.element_size()


def _absence(tensor: torch.Tensor) -> str | None:
    if tensor.numel() == 0:
        return None
    if tensor.is_meta or isinstance(tensor, FakeTensor):
        kind = "on meta" if tensor.is_meta else "fake"
        return f"is {kind}, without memory; only the operators in torch.ops take it"
    try:
        address, held_bytes = tensor.data_ptr(), tensor.untyped_storage().nbytes()
    except RuntimeError:  # torch's own, of tensors without storage
        address, held_bytes = 0, None
    needed_bytes = tensor.storage_offset() * tensor.element_size() + spanned_bytes(tensor)
    if held_bytes is not None and held_bytes < needed_bytes:
        return (
            f"needs a storage of {needed_bytes} bytes, got {held_bytes}; was it released, or "
            f"resized?"
        )
    if address == 0:
        return f"is a {type(tensor).__name__} without memory of its own"
    return None


def _misalignment(operand: Operand, tensor: torch.Tensor) -> str | None:
    past_bytes = tensor.data_ptr() % operand.alignment_bytes
    if past_bytes == 0:
        return None
    return (
        f"must begin at a multiple of {operand.alignment_bytes} bytes, got an address "
        f"{past_bytes} bytes past one; pass a clone()"
    )


def _repetition(tensor: torch.Tensor) -> str | None:
    if tensor.numel() == 0:
        return None
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return (
                f"is written, and must hold each element in a place of its own, got strides "
                f"{tensor.stride()} for shape {tuple(tensor.shape)}; pass .contiguous()"
            )
        reach += (size - 1) * stride
    return None


def _are_writable(*addresses: int) -> bool:
    """Return whether bytes can be written, by writing what they hold.

    The system is asked to, for it answers where our own access would end the process.
    """
    held = [(c_char * 1).from_address(address) for address in addresses]
    reader, writer = os.pipe()
    try:
        os.writev(writer, held)
        return os.readv(reader, held) == len(held)
    except OSError:
        return False
    finally:
        os.close(reader)
        os.close(writer)


def _sharing(
    operand: Operand, tensor: torch.Tensor, present: list[tuple[Operand, torch.Tensor]]
) -> Iterator[Operand]:
    """Yield the other operands that have elements in the same memory."""
    for other, its_tensor in present:
        if other is operand or not _may_share(tensor, its_tensor):
            continue
        try:
            if _shares(_elements(tensor), _elements(its_tensor), MAX_OVERLAP_WORK):
                yield other
        except np.exceptions.TooHardError:
            continue


def _may_share(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    distance_bytes = other.data_ptr() - tensor.data_ptr()
    return -spanned_bytes(other) < distance_bytes < spanned_bytes(tensor)


def _elements(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """Return an array that stands for a tensor's elements; reading it may be impossible."""
    return np.asarray(_Elements(tensor))


class _Elements:
    """A tensor's place in memory, as numpy is told of it."""

    def __init__(self, tensor: torch.Tensor) -> None:
        item_bytes = tensor.element_size()
        self.__array_interface__ = {
            "shape": tuple(tensor.shape),
            "strides": tuple(stride * item_bytes for stride in tensor.stride()),
            "typestr": f"|V{item_bytes}",
            "data": (tensor.data_ptr(), True),
            "version": 3,
        }
