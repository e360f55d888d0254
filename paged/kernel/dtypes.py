"""One name per element type, and what torch, numpy and CUDA C++ call it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from paged.errors import KernelSourceError
from paged.kernel.suggestion import suggestion


@dataclass(frozen=True, slots=True)
class ElementType:
    """An element type of an operand or a scalar.

    Attributes:
        cuda: the C++ type, the same under NVRTC and in the interpreter.
        header: CUDA header that declares it, or None for a built-in type.
        numpy: numpy's name, or None where numpy has no such type (such scalars cannot be passed).

    """

    name: str
    torch: torch.dtype
    cuda: str
    header: str | None
    numpy: str | None

    @property
    def itemsize_bytes(self) -> int:
        """Bytes of one element."""
        return self.torch.itemsize


ELEMENT_TYPES: Mapping[str, ElementType] = {
    t.name: t
    for t in (
        ElementType("float16", torch.float16, "__half", "cuda_fp16.h", "float16"),
        ElementType("bfloat16", torch.bfloat16, "__nv_bfloat16", "cuda_bf16.h", None),
        ElementType("float32", torch.float32, "float", None, "float32"),
        ElementType("float64", torch.float64, "double", None, "float64"),
        ElementType("float8_e4m3fn", torch.float8_e4m3fn, "__nv_fp8_e4m3", "cuda_fp8.h", None),
        ElementType("float8_e5m2", torch.float8_e5m2, "__nv_fp8_e5m2", "cuda_fp8.h", None),
        ElementType("int8", torch.int8, "signed char", None, "int8"),
        ElementType("uint8", torch.uint8, "unsigned char", None, "uint8"),
        ElementType("int16", torch.int16, "short", None, "int16"),
        ElementType("uint16", torch.uint16, "unsigned short", None, "uint16"),
        ElementType("int32", torch.int32, "int", None, "int32"),
        ElementType("uint32", torch.uint32, "unsigned int", None, "uint32"),
        ElementType("int64", torch.int64, "long long", None, "int64"),
        ElementType("uint64", torch.uint64, "unsigned long long", None, "uint64"),
        ElementType("bool", torch.bool, "bool", None, "bool"),
    )
}

_BY_TORCH = {t.torch: t for t in ELEMENT_TYPES.values()}


def element_type(name: str) -> ElementType:
    """Return the element type of a name. Raises KernelSourceError for an unknown one."""
    if name not in ELEMENT_TYPES:
        known = ", ".join(ELEMENT_TYPES)
        guess = suggestion(name, ELEMENT_TYPES)
        raise KernelSourceError(f"expected a dtype of {known}; got {name!r}{guess}")
    return ELEMENT_TYPES[name]


def name_of(dtype: torch.dtype) -> str:
    """Return our name of a torch dtype, or torch's own where kernels cannot take it."""
    known = _BY_TORCH.get(dtype)
    return str(dtype).removeprefix("torch.") if known is None else known.name
