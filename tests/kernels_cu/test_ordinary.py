"""CUDA kernels as people write them, with none of our headers, run unchanged on the CPU.

The same files compile under NVRTC against NVIDIA's headers, so that nothing in them is of our
own dialect.
"""

from __future__ import annotations

import pytest
import torch

from paged.errors import BackendUnavailable, KernelRunError
from paged.kernel.backends.interpret import InterpretConfig
from paged.kernel.binding import bind
from paged.kernel.call import kernel_call
from paged.kernel.cubin_cache import cubin
from paged.kernel.instance import instantiate
from paged.kernel.source import KernelSource, read_source
from tests.helpers.ordinary.case import KERNELS_DIR, Case, run, same_bits, source
from tests.helpers.ordinary.catalogue import ORDINARY
from tests.helpers.ordinary.lists import GATHER

ORDERS = (
    InterpretConfig(seed=1, poison=0xAA),
    InterpretConfig(seed=2, poison=0x00, num_workers=1),
)
"""Other orders of lanes and blocks, over other undefined memory, than the default's."""


def test_every_file_has_cases_and_at_least_sixteen_are_there() -> None:
    files = {path.stem for path in (KERNELS_DIR / "ordinary").glob("*.cu")}
    assert files == set(ORDINARY)
    assert len(files) >= 16


@pytest.mark.parametrize("name", ORDINARY)
def test_results_equal_the_reference_in_every_order(name: str) -> None:
    for case in ORDINARY[name]():
        check_orders(case)


def check_orders(case: Case) -> None:
    natural = run(case, InterpretConfig())
    case.check(natural)
    for order in ORDERS:
        results = run(case, order)
        case.check(results)
        if case.repeats:
            for result, tensor in results.items():
                assert same_bits(tensor, natural[result]), f"{case.label}: {result} under {order}"


@pytest.mark.gpu
@pytest.mark.parametrize("name", ORDINARY)
def test_results_on_a_gpu_equal_the_reference(name: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device: the interpreter stands in for it")
    for case in ORDINARY[name]():
        case.check(run(case, None))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", ORDINARY)
def test_nvrtc_compiles_the_file_unmodified(name: str, arch: str) -> None:
    entries = sorted({entry for case in ORDINARY[name]() for entry in entries_of(case)})
    path = source(name)
    text = KernelSource(name=name, text=read_source(path), path=path, entries=tuple(entries))
    try:
        compiled = cubin(text, arch)
    except BackendUnavailable as error:
        pytest.skip(str(error))
    assert compiled.image.startswith(b"\x7fELF")


def entries_of(case: Case) -> tuple[str, ...]:
    binding = bind(case.spec, case.operands, case.numbers)
    return instantiate(case.spec, binding.types, binding.sizes).entries


def test_a_failed_assertion_names_the_line_and_the_thread() -> None:
    indices = torch.zeros(70, dtype=torch.int32)
    indices[65] = 9
    with pytest.raises(KernelRunError) as raised:
        kernel_call(GATHER, torch.zeros(9), indices, interpret=True)
    text = str(raised.value)
    lines = source("checked_gather").read_text().splitlines()
    line = 1 + next(i for i, code in enumerate(lines) if "assert(" in code)
    assert "index >= 0 && index < table_size" in text
    assert f"checked_gather.cu:{line}" in text
    assert "(2, 0, 0)" in text
    assert "(1, 0, 0)" in text


def test_printed_lines_reach_the_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    table, indices = torch.tensor([0.5, -2.0]), torch.tensor([1, 0], dtype=torch.int32)
    config = InterpretConfig()
    kernel_call(GATHER, table, indices, interpret=config, is_verbose=True)
    assert capfd.readouterr().out == (
        "out[0] = table[1] = -2.000 (ok)\nout[1] = table[0] = 0.500 (ok)\n"
    )
