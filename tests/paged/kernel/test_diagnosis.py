"""Each verdict comes from trying, and carries the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from paged.errors import BackendUnavailable
from paged.kernel import diagnosis
from paged.kernel.diagnosis import Verdict, backends, compilers, devices, disassemblers, toolkits
from paged.kernel.launch import LaunchRequest
from paged.kernel.source import KernelSource
from paged.kernel.toolkit import Place
from tests.helpers.cuda_sources import needs_nvdisasm, needs_nvrtc


def unavailable(*_: object, **__: object) -> Any:
    raise BackendUnavailable("it is a toaster")


def named(verdicts: Iterator[Verdict]) -> dict[str, Verdict]:
    return {verdict.name: verdict for verdict in verdicts}


@needs_nvrtc
def test_nvrtc_is_tried_on_every_architecture() -> None:
    verdict = named(compilers())["NVRTC"]
    assert verdict.is_usable
    assert verdict.text.endswith("compiles for sm_80 sm_86 sm_89 sm_90 sm_90a sm_100")


@pytest.mark.parametrize(
    ("part", "name", "attribute"),
    [
        (compilers, "host C++", "find_compiler"),
        (compilers, "NVRTC", "find_toolkit"),
        (disassemblers, "nvdisasm", "find_tool"),
        (backends, "host", "load_host"),
        (backends, "interpret", "InterpretBackend"),
        (backends, "cuda", "CudaBackend"),
    ],
)
def test_what_is_missing_is_said_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
    part: Callable[[], Iterator[Verdict]],
    name: str,
    attribute: str,
) -> None:
    monkeypatch.setattr(diagnosis, attribute, unavailable)
    verdict = named(part())[name]
    assert verdict == Verdict(name=name, is_usable=False, text="it is a toaster")


@needs_nvdisasm
def test_found_disassemblers_are_named_by_path() -> None:
    assert named(disassemblers())["nvdisasm"].text.endswith("nvdisasm")


@needs_nvrtc
def test_toolkits_list_usable_and_unusable_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nowhere = Place(name="nowhere", library_dir=tmp_path, include_dir=tmp_path)
    real = [*diagnosis.places()]
    monkeypatch.setattr(diagnosis, "places", lambda: iter([*real, nowhere]))
    found = named(toolkits())
    assert found["nowhere"].text == f"no libnvrtc.so in {tmp_path}"
    assert not found["nowhere"].is_usable
    assert any(verdict.is_usable for verdict in found.values())


def test_without_a_gpu_the_reason_stands_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "why_unavailable", lambda: "no driver")
    assert list(devices()) == [Verdict(name="none", is_usable=False, text="no driver")]


@needs_nvrtc
def test_gpus_are_listed_with_the_code_they_get(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "why_unavailable", lambda: None)
    cuda = SimpleNamespace(
        device_count=lambda: 2,
        get_device_name=lambda i: ("H200", "L4")[i],
        get_device_capability=lambda i: ((9, 0), (8, 9))[i],
        mem_get_info=lambda i: (0, 24 * 2**30),
    )
    monkeypatch.setattr(torch, "cuda", cuda)
    found = named(devices())
    assert found["cuda:0"].text == "H200, 24.0 GiB, gets code for sm_90a"
    assert found["cuda:1"].text == "L4, 24.0 GiB, gets code for sm_89"


def test_a_failing_device_is_a_verdict_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(index: int) -> Any:
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(diagnosis, "why_unavailable", lambda: None)
    monkeypatch.setattr(torch, "cuda", SimpleNamespace(device_count=lambda: 1, mem_get_info=fail))
    (verdict,) = devices()
    assert not verdict.is_usable
    assert "device-side assert" in verdict.text


class WrongBackend:
    """A backend whose kernels do nothing."""

    name = "wrong"

    def __init__(self, config: object = None) -> None:
        pass

    def build(self, source: KernelSource) -> WrongBackend:
        return self

    def launch(self, request: LaunchRequest) -> None:
        pass


def test_a_backend_that_computes_nothing_is_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "InterpretBackend", WrongBackend)
    verdict = named(backends())["interpret"]
    assert not verdict.is_usable
    assert "computed what it should not" in verdict.text


def test_the_interpreter_runs_the_trial_where_there_is_a_compiler() -> None:
    if not named(compilers())["host C++"].is_usable:
        pytest.skip("no host compiler on this machine")
    assert named(backends())["interpret"].text == "runs a small kernel"


def test_a_host_kernel_that_copies_nothing_is_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    if not named(compilers())["host C++"].is_usable:
        pytest.skip("no host compiler on this machine")
    assert named(backends())["host"].is_usable
    monkeypatch.setattr(diagnosis, "run_host_op", lambda *_: None)
    verdict = named(backends())["host"]
    assert not verdict.is_usable
    assert "holds what it should not" in verdict.text


@pytest.mark.gpu
def test_a_gpu_runs_the_trial() -> None:
    assert named(backends())["cuda"].text == "runs a small kernel"
