"""GPUs as their data sheets describe them, and the KV slots a model leaves on them."""

from __future__ import annotations

from dataclasses import dataclass

from paged.errors import ConfigError
from paged.shapes import ModelShape

_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareSpec:
    """One accelerator.

    memory_bytes: device memory. Vendors print GB and build GiB: the driver reports the
        printed number in GiB to within 1 % (L4: 22.5 of 24, its ECC takes the rest).
    memory_bandwidth_bytes_per_s: peak.
    flops_per_s: peak of dense fp16 or bf16 tensor arithmetic with fp32 accumulation.
    source: the data sheet the numbers are from.
    """

    name: str
    memory_bytes: int
    memory_bandwidth_bytes_per_s: float
    flops_per_s: float
    source: str

    def __post_init__(self) -> None:
        for name in ("memory_bytes", "memory_bandwidth_bytes_per_s", "flops_per_s"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{self.name}: {name} must be above 0, got {getattr(self, name)}")


def _gpu(name: str, memory_gib: int, bandwidth: float, flops: float, source: str) -> HardwareSpec:
    return HardwareSpec(
        name=name,
        memory_bytes=memory_gib * _GIB,
        memory_bandwidth_bytes_per_s=bandwidth,
        flops_per_s=flops,
        source=source,
    )


GPUS: dict[str, HardwareSpec] = {
    gpu.name: gpu
    for gpu in (
        _gpu("a100-40gb", 40, 1.555e12, 312e12, "NVIDIA A100 Tensor Core GPU data sheet, SXM"),
        _gpu("a100-80gb", 80, 2.039e12, 312e12, "NVIDIA A100 Tensor Core GPU data sheet, SXM"),
        # The data sheets of the next three print the sparse figure, which is twice this.
        _gpu("h100-sxm", 80, 3.35e12, 989e12, "NVIDIA H100 Tensor Core GPU data sheet, SXM"),
        _gpu("h200", 141, 4.8e12, 989e12, "NVIDIA H200 Tensor Core GPU data sheet, SXM"),
        _gpu("l4", 24, 0.300e12, 121e12, "NVIDIA L4 Tensor Core GPU data sheet"),
        _gpu("rtx4090", 24, 1.008e12, 165.2e12, "NVIDIA Ada GPU Architecture, appendix A"),
    )
}


def find_gpu(name: str) -> HardwareSpec:
    """Look a GPU up by name. Raises ConfigError, which lists the names."""
    if name not in GPUS:
        raise ConfigError(f"unknown GPU {name!r}: expected one of {', '.join(GPUS)}")
    return GPUS[name]


def kv_slots(model: ModelShape, gpu: HardwareSpec, share: float = 0.9) -> int:
    """Count the KV slots left on a GPU when the weights are in it.

    share: part of the memory that weights and KV cache may take together; the rest is
        for activations. Raises ConfigError if not even one slot is left.
    """
    if not 0.0 < share <= 1.0:
        raise ConfigError(f"share of the memory must be 0 < share <= 1, got {share}")
    left_bytes = int(gpu.memory_bytes * share) - model.weight_bytes
    slots = left_bytes // model.kv_bytes_per_token
    if slots < 1:
        raise ConfigError(
            f"{model.name} needs {model.weight_bytes / _GIB:.1f} GiB for weights, {gpu.name}"
            f" offers {gpu.memory_bytes * share / _GIB:.1f} GiB; use a larger GPU or"
            " `shape.shard(rank, world)`"
        )
    return slots
