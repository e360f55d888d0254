"""Host kernels of what a model computes row by row, called with checked tensors."""

from __future__ import annotations

from ctypes import c_float, c_int, c_int64, c_void_p
from functools import lru_cache
from typing import NoReturn

import torch

from paged.errors import OperandError
from paged.kernel.backends.host import Host, HostConfig, find_host
from paged.kernel.backends.host_records import ELEMENT_CODES
from paged.kernel.dtypes import name_of
from paged.kernel.linear_weight import LinearWeight
from paged.kernel.tensor_kind import kind_fault

_TYPE_CODES = {
    dtype: ELEMENT_CODES[name_of(dtype)] for dtype in (torch.bfloat16, torch.float32, torch.int8)
}


class HostLayers:
    """The kernels of one host. Operands are float32, contiguous, and on the CPU.

    Each call takes microseconds, so its checks come before anything that explains a refusal.
    """

    def __init__(self, host: Host) -> None:
        self._num_threads = host.num_threads
        self._tile = host.level.tile_features
        weight = (c_int, c_void_p, c_void_p)
        self._linear = host.function(
            *("paged_host_linear", *weight, c_void_p, c_int64, c_int64),
            *(c_void_p, c_void_p, c_int64, c_int),
        )
        self._embedding = host.function(
            *("paged_host_embedding", *weight, c_int64, c_int64),
            *(c_void_p, c_void_p, c_int64, c_int),
            returns=c_int64,
        )
        self._rms_norm = host.function(
            *("paged_host_rms_norm", *(c_void_p,) * 5, c_int64, c_int64, c_float, c_int)
        )
        self._silu_mul = host.function(
            *("paged_host_silu_mul", c_void_p, c_void_p, c_int64, c_int64, c_int)
        )

    def linear(self, x: torch.Tensor, weight: LinearWeight) -> torch.Tensor:
        """Return x W^T + bias of a packed weight."""
        data, bias, scales = weight.data, weight.bias, weight.scales
        shape = x.shape
        if len(shape) != 2 or shape[1] != data.shape[1] or not _is_plain(x):
            _refuse("linear", "x", x, f"[rows, {weight.in_features}]")
        if data.shape[2] != self._tile:
            self._refuse_weight("linear", weight)
        y = torch.empty(shape[0], weight.out_features)
        self._linear(
            _TYPE_CODES[data.dtype],
            data.data_ptr(),
            None if scales is None else scales.data_ptr(),
            None if bias is None else bias.data_ptr(),
            weight.out_features,
            shape[1],
            x.data_ptr(),
            y.data_ptr(),
            shape[0],
            self._num_threads,
        )
        return y

    def embedding(self, tokens: torch.Tensor, weight: LinearWeight) -> torch.Tensor:
        """Return rows of a packed weight."""
        if tokens.dim() != 1 or tokens.device.type != "cpu" or tokens.is_floating_point():
            _refuse("embedding", "tokens", tokens, "[num_tokens]", "of integers")
        if weight.data.shape[2] != self._tile:
            self._refuse_weight("embedding", weight)
        rows = tokens.to(torch.int64).contiguous()
        y = torch.empty(tokens.shape[0], weight.in_features)
        num_wrong = self._embedding(
            _TYPE_CODES[weight.data.dtype],
            weight.data.data_ptr(),
            None if weight.scales is None else weight.scales.data_ptr(),
            weight.out_features,
            weight.in_features,
            rows.data_ptr(),
            y.data_ptr(),
            tokens.shape[0],
            self._num_threads,
        )
        if num_wrong:
            raise OperandError(
                f"embedding: tokens must be at least 0 and below {weight.out_features}, got "
                f"{num_wrong} that are not, between {int(rows.min())} and {int(rows.max())}"
            )
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
        self._rms_norm(
            x.data_ptr(),
            residual,
            weight.data_ptr(),
            total,
            y.data_ptr(),
            x.numel() // max(num_columns, 1),
            num_columns,
            eps,
            self._num_threads,
        )
        return y

    def silu_mul(self, gate_up: torch.Tensor) -> torch.Tensor:
        """Return silu(gate) * up."""
        shape = gate_up.shape
        if len(shape) != 2 or shape[1] % 2 or not _is_plain(gate_up):
            _refuse("silu_mul", "gate_up", gate_up, "[rows, 2 * columns]")
        y = torch.empty(shape[0], shape[1] // 2)
        self._silu_mul(gate_up.data_ptr(), y.data_ptr(), shape[0], shape[1] // 2, self._num_threads)
        return y

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
