"""Why a machine cannot launch, and that CuPy has every name the driver uses."""

from __future__ import annotations

import importlib
import importlib.util

import pytest
import torch

from paged.errors import BackendUnavailable
from paged.kernel.backends import cuda_driver
from paged.kernel.backends.cuda_driver import CupyDriver, why_unavailable


def test_a_machine_without_cupy_is_told_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert (
        why_unavailable() == "CuPy is not installed; pip install 'paged[cuda12]' or 'paged[cuda13]'"
    )


@pytest.mark.parametrize(
    ("cuda", "is_available", "reason"),
    [
        (None, False, "is a build without CUDA"),
        ("12.9", False, "torch finds no CUDA device"),
        ("12.9", True, None),
    ],
)
def test_torch_must_be_a_build_with_cuda_that_finds_a_device(
    monkeypatch: pytest.MonkeyPatch, cuda: str | None, is_available: bool, reason: str | None
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: is_available)
    given = why_unavailable()
    assert given is None if reason is None else reason in (given or "")


def test_the_driver_refuses_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_driver, "why_unavailable", lambda: "it is a toaster")
    with pytest.raises(BackendUnavailable, match="the cuda backend cannot run: it is a toaster"):
        CupyDriver()


def test_cupy_has_every_name_that_launching_uses() -> None:
    cupy = pytest.importorskip("cupy")
    for name in ("launchKernel", "funcSetAttribute", "CUDADriverError"):
        assert hasattr(cupy.cuda.driver, name)
    assert isinstance(cupy.cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, int)
    for name in ("setDevice", "deviceGetAttribute", "memcpyAsync", "streamSynchronize"):
        assert hasattr(cupy.cuda.runtime, name)
    for name in ("memcpyHostToDevice", "memcpyDeviceToHost"):
        assert isinstance(getattr(cupy.cuda.runtime, name), int)
    assert isinstance(cupy.cuda.runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin, int)
    assert issubclass(cupy.cuda.runtime.CUDARuntimeError, Exception)
    assert hasattr(cupy.RawModule(path="unread.cubin"), "get_global")
    assert hasattr(importlib.import_module("cupy.cuda.function").Function, "ptr")
