"""Host kernels of what a model computes row by row, called with checked tensors."""

from __future__ import annotations

import ctypes
from ctypes import c_int
from functools import lru_cache, partial
from typing import Any, NoReturn

import torch

from paged.errors import OperandError
from paged.kernel.backends.host import Host, HostConfig, find_host
from paged.kernel.backends.host_program import HostCall, add_to_recording, kernel_function
from paged.kernel.backends.host_records import ELEMENT_CODES
from paged.kernel.backends.layer_records import (
    COPY,
    EMBEDDING,
    LINEAR,
    PANEL_INPUTS,
    RMS_NORM,
    SILU_MUL,
)
from paged.kernel.dtypes import name_of
from paged.kernel.linear_weight import LinearWeight
from paged.kernel.tensor_kind import kind_fault

_TYPES = {
    dtype: (c_int * 1)(ELEMENT_CODES[name_of(dtype)])
    for dtype in (torch.bfloat16, torch.float32, torch.int8)
}
_NO_TYPES = (c_int * 0)()


class HostLayers:
    """The kernels of one host. Operands are float32, contiguous, and on the CPU.

    Each call takes microseconds, so its checks come before anything that explains a refusal.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._tile = host.level.tile_features
        self._linear = kernel_function(host, "linear")
        self._embedding = kernel_function(host, "embedding")
        self._rms_norm = kernel_function(host, "rms_norm")
        self._silu_mul = kernel_function(host, "silu_mul")
        self._copy = kernel_function(host, "copy")

    def linear(self, x: torch.Tensor, weight: LinearWeight) -> torch.Tensor:
        """Return x W^T + bias of a packed weight."""
        data, bias, scales = weight.data, weight.bias, weight.scales
        shape = x.shape
        if len(shape) != 2 or shape[1] != weight.in_features or not _is_plain(x):
            _refuse("linear", "x", x, f"[rows, {weight.in_features}]")
        if data.shape[2] != self._tile:
            self._refuse_weight("linear", weight)
        y = torch.empty(shape[0], weight.out_features)
        rounded = None if scales is None else _room_for_rounded(shape[0], data.shape[1])
        record = LINEAR.make(
            data.data_ptr(),
            None if scales is None else scales.data_ptr(),
            None if bias is None else bias.data_ptr(),
            weight.out_features,
            shape[1],
            x.data_ptr(),
            y.data_ptr(),
            shape[0],
            *((None, None) if rounded is None else (part.data_ptr() for part in rounded)),
        )
        self._run(self._linear, record, _TYPES[data.dtype])
        return y

    def embedding(self, tokens: torch.Tensor, weight: LinearWeight) -> torch.Tensor:
        """Return rows of a packed weight."""
        if tokens.dim() != 1 or tokens.device.type != "cpu" or tokens.is_floating_point():
            _refuse("embedding", "tokens", tokens, "[num_tokens]", "of integers")
        if weight.data.shape[2] != self._tile:
            self._refuse_weight("embedding", weight)
        rows = tokens.to(torch.int64).contiguous()
        y = torch.empty(tokens.shape[0], weight.in_features)
        record = EMBEDDING.make(
            weight.data.data_ptr(),
            None if weight.scales is None else weight.scales.data_ptr(),
            weight.out_features,
            weight.in_features,
            rows.data_ptr(),
            y.data_ptr(),
            tokens.shape[0],
        )
        self._run(self._embedding, record, _TYPES[weight.data.dtype])
        check = partial(_check_tokens, record, rows)
        check()
        add_to_recording(check)
        return y

    def rms_norm(self, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        """Return the rows of x [..., num_columns], each divided by its root mean square."""
        return self._norm(x, weight, eps)

    def add_rms_norm(
        self, x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (rms_norm(x + residual), x + residual)."""
        if residual.shape != x.shape or not _is_plain(residual):
            _refuse("add_rms_norm", "residual", residual, str(list(x.shape)))
        total = torch.empty_like(x)
        y = self._norm(x, weight, eps, residual=residual.data_ptr(), total=total.data_ptr())
        return y, total

    def _norm(
        self,
        x: torch.Tensor,
        weight: torch.Tensor,
        eps: float,
        *,
        residual: int | None = None,
        total: int | None = None,
    ) -> torch.Tensor:
        if weight.dim() != 1 or not _is_plain(weight):
            _refuse("rms_norm", "weight", weight, "[columns]")
        num_columns = weight.shape[0]
        if x.dim() == 0 or x.shape[-1] != num_columns or not _is_plain(x):
            _refuse("rms_norm", "x", x, f"[..., {num_columns}]")
        y = torch.empty_like(x)
        record = RMS_NORM.make(
            x.data_ptr(),
            residual,
            weight.data_ptr(),
            total,
            y.data_ptr(),
            x.numel() // max(num_columns, 1),
            num_columns,
            eps,
        )
        self._run(self._rms_norm, record)
        return y

    def silu_mul(self, gate_up: torch.Tensor) -> torch.Tensor:
        """Return silu(gate) * up."""
        shape = gate_up.shape
        if len(shape) != 2 or shape[1] % 2 or not _is_plain(gate_up):
            _refuse("silu_mul", "gate_up", gate_up, "[rows, 2 * columns]")
        y = torch.empty(shape[0], shape[1] // 2)
        record = SILU_MUL.make(gate_up.data_ptr(), y.data_ptr(), shape[0], shape[1] // 2)
        self._run(self._silu_mul, record)
        return y

    def copy(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Copy a tensor to one of its shape and type, both contiguous and on the CPU.

        Mutates: target.
        """
        num_bytes = source.numel() * source.element_size()
        self._run(self._copy, COPY.make(source.data_ptr(), target.data_ptr(), num_bytes))

    def _run(
        self, function: Any, record: ctypes.Structure, types: ctypes.Array[c_int] = _NO_TYPES
    ) -> None:
        HostCall(self._host, function, ctypes.addressof(record), types, record).run()

    def _refuse_weight(self, name: str, weight: LinearWeight) -> NoReturn:
        raise OperandError(
            f"{name}: the weight was packed in tiles of {weight.data.shape[2]} outputs, this host "
            f"level reads tiles of {self._tile}; pack it under the level that is to read it"
        )


@lru_cache(maxsize=32)
def find_layers(config: HostConfig) -> HostLayers | None:
    """Return the kernels of a configuration, None with one warning where there are none."""
    host = find_host(config)
    return None if host is None else HostLayers(host)


def _room_for_rounded(num_rows: int, num_inputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return room for x as integers, and for the scale of each panel of a row."""
    integers = torch.empty(num_rows, num_inputs, dtype=torch.int16)
    return integers, torch.empty(num_rows, -(-num_inputs // PANEL_INPUTS))


def _check_tokens(record: Any, rows: torch.Tensor) -> None:
    """Refuse what the embedding found, when its kernel has run."""
    if record.num_wrong:
        raise OperandError(
            f"embedding: tokens must be at least 0 and below {record.num_rows}, got "
            f"{record.num_wrong} that are not, between {int(rows.min())} and {int(rows.max())}"
        )


def _is_plain(tensor: torch.Tensor) -> bool:
    return (
        tensor.dtype is torch.float32
        and tensor.is_contiguous()
        and tensor.is_cpu
        and not tensor.is_neg()
        and not (tensor.requires_grad and torch.is_grad_enabled())
    )


def _refuse(
    name: str, operand: str, tensor: torch.Tensor, shape: str, kind: str = "of float32, contiguous"
) -> NoReturn:
    """Say what an operand must be and what it is."""
    faults = [f"{tensor.dtype} of shape {list(tensor.shape)} on {tensor.device}"]
    if not tensor.is_contiguous():
        faults.append(f"with strides {list(tensor.stride())}; pass .contiguous()")
    fault = kind_fault(tensor)
    if fault is not None:
        faults.append(f"that {fault}")
    raise OperandError(
        f"{name}: operand {operand!r} must be {shape} {kind} and on the CPU, got {' '.join(faults)}"
    )
