"""Which tensors a kernel can be given: plain memory, read as it lies."""

from __future__ import annotations

import torch


def kind_fault(tensor: object) -> str | None:
    """Say what keeps a kernel from taking an object as its operand, and the way out.

    A kernel reads memory at strides. Tensors that are kept in any other way, or whose memory
    stands for other values, are not that; and no kernel has a gradient.
    """
    if not isinstance(tensor, torch.Tensor):
        kind = type(tensor)
        return (
            f"must be a torch.Tensor, got {kind.__module__}.{kind.__qualname__}; "
            f"pass torch.as_tensor() of it"
        )
    storage_fault = _storage_fault(tensor)
    if storage_fault is not None:
        return storage_fault
    if tensor.is_neg() or tensor.is_conj():
        bit = "neg" if tensor.is_neg() else "conj"
        return (
            f"has torch's {bit} bit set; pass .resolve_{bit}(), for its memory holds other values"
        )
    if tensor.requires_grad and torch.is_grad_enabled():
        return (
            "requires grad; call under torch.inference_mode() or detach it, for kernels have no "
            "gradient"
        )
    return None


def _storage_fault(tensor: torch.Tensor) -> str | None:
    if tensor.is_nested:
        return "must be one dense tensor, got a nested one; pass .to_padded_tensor(0) of it"
    if tensor.layout != torch.strided:
        return f"must be a dense tensor, got {tensor.layout}; pass .to_dense()"
    if tensor.is_quantized:
        return f"must be a plain tensor, got quantized {tensor.dtype}; pass .dequantize()"
    return None
