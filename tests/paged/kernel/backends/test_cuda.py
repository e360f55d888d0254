"""What the cuda backend asks of the driver; the driver is a fake, the compiler is real."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from paged.errors import BackendUnavailable, KernelCompileError, KernelRunError, OperandError
from paged.kernel import nvrtc
from paged.kernel.backends.cuda import CudaBackend, CudaProgram, addresses, arch_for
from paged.kernel.elf import mangled
from paged.kernel.launch import LaunchRequest, one
from tests.helpers.cuda_sources import needs_nvrtc, scale_source
from tests.helpers.fake_driver import KIB, STREAM_BASE, FakeCudaError, FakeDriver, pointer_on

pytestmark = needs_nvrtc

SCALE_64 = "_Z5scaleIfLi64EEvPT_f"
SCALE_128 = "_Z5scaleIfLi128EEvPT_f"
REQUEST = LaunchRequest(
    entry="scale<float, 64>",
    grid=(3, 2, 1),
    block=(64, 1, 1),
    shared_bytes=0,
    arguments=(one(0x7F0011223344, "uint64"), one(0.25, "float32")),
    pointers=(pointer_on("cuda:0"),),
)


@pytest.fixture
def driver() -> FakeDriver:
    return FakeDriver(capabilities=((9, 0), (8, 0)))


@pytest.fixture
def program(driver: FakeDriver) -> CudaProgram:
    return CudaBackend(driver=driver).build(scale_source())


def test_building_compiles_for_the_current_device_and_loads_there(
    driver: FakeDriver, program: CudaProgram
) -> None:
    assert [module.device for module in driver.modules] == [0]
    assert driver.launches == []


def test_a_launch_passes_geometry_stream_and_the_bytes_of_each_parameter(
    driver: FakeDriver, program: CudaProgram
) -> None:
    program.launch(replace(REQUEST, shared_bytes=48))
    (launched,) = driver.launches
    assert (launched.grid, launched.block, launched.shared_bytes) == ((3, 2, 1), (64, 1, 1), 48)
    assert launched.stream == STREAM_BASE
    assert launched.symbol == SCALE_64
    pointer, extra = launched.parameters
    assert int.from_bytes(pointer, "little") == 0x7F0011223344
    assert np.frombuffer(extra, "float32") == 0.25


def test_the_entry_chooses_the_kernel(driver: FakeDriver, program: CudaProgram) -> None:
    program.launch(replace(REQUEST, entry="scale<float, 128>"))
    assert driver.launches[0].symbol == SCALE_128


def test_a_struct_is_one_parameter(driver: FakeDriver, program: CudaProgram) -> None:
    record = np.zeros(1, dtype=np.dtype([("x", "uint64"), ("n", "int32")], align=True))
    record["x"], record["n"] = 1 << 40, -3
    program.launch(replace(REQUEST, arguments=(record,)))
    assert driver.launches[0].parameters == (record.tobytes(),)


def test_a_kernel_without_parameters_can_be_launched(
    driver: FakeDriver, program: CudaProgram
) -> None:
    program.launch(replace(REQUEST, arguments=(), pointers=()))
    assert driver.launches[0].parameters == ()


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_an_empty_grid_launches_nothing(
    driver: FakeDriver, program: CudaProgram, grid: tuple[int, int, int]
) -> None:
    program.launch(replace(REQUEST, grid=grid))
    assert driver.launches == []


def test_later_launches_neither_load_nor_resolve_nor_change_device(
    driver: FakeDriver, program: CudaProgram
) -> None:
    for _ in range(3):
        program.launch(REQUEST)
    assert len(driver.modules) == 1
    assert driver.calls == []
    assert len(driver.launches) == 3


def test_operands_on_another_device_are_served_there_with_its_own_code(
    driver: FakeDriver, program: CudaProgram
) -> None:
    program.launch(replace(REQUEST, pointers=(pointer_on("cuda:1"),)))
    assert driver.calls == ["enter 1", "leave 1"]
    assert (driver.launches[0].device, driver.launches[0].stream) == (1, STREAM_BASE + 1)
    assert driver.device == 0
    hopper, ampere = (module.path.read_bytes() for module in driver.modules)
    assert hopper != ampere


def test_the_device_is_restored_after_a_refusal(driver: FakeDriver, program: CudaProgram) -> None:
    driver.refuses = True
    with pytest.raises(KernelRunError):
        program.launch(replace(REQUEST, pointers=(pointer_on("cuda:1"),)))
    assert driver.device == 0


def test_pinned_host_operands_do_not_choose_the_device(
    driver: FakeDriver, program: CudaProgram
) -> None:
    program.launch(replace(REQUEST, pointers=(pointer_on("cpu"), pointer_on("cuda:1"))))
    assert driver.launches[0].device == 1


def test_without_operands_the_current_device_serves(
    driver: FakeDriver, program: CudaProgram
) -> None:
    driver.device = 1
    program.launch(replace(REQUEST, pointers=()))
    assert driver.launches[0].device == 1


def test_every_entry_may_use_all_shared_memory_beside_its_static(
    driver: FakeDriver, program: CudaProgram
) -> None:
    assert driver.allowed == {SCALE_64: 227 * KIB - 256, SCALE_128: 227 * KIB - 512}
    program.launch(replace(REQUEST, shared_bytes=227 * KIB - 256))
    with pytest.raises(KernelRunError, match=f"wants {227 * KIB - 255} bytes .* device 0 has"):
        program.launch(replace(REQUEST, shared_bytes=227 * KIB - 255))
    assert len(driver.launches) == 1


def test_a_refused_launch_says_what_was_asked_and_what_cuda_says(
    driver: FakeDriver, program: CudaProgram
) -> None:
    driver.refuses = True
    with pytest.raises(KernelRunError) as raised:
        program.launch(REQUEST)
    assert isinstance(raised.value.__cause__, FakeCudaError)
    for part in ("scale<float, 64>", "(3, 2, 1)", "(64, 1, 1)", "CUDA_ERROR_INVALID_VALUE"):
        assert part in str(raised.value)


def test_a_source_that_does_not_compile_is_refused_at_building(driver: FakeDriver) -> None:
    with pytest.raises(KernelCompileError, match="<scale>"):
        CudaBackend(driver=driver).build(replace(scale_source(), text="no C++"))


def test_a_variable_is_written_and_read_back(driver: FakeDriver, program: CudaProgram) -> None:
    factors = np.array([1, 2, 3, 4.5], dtype=np.float32)
    program.write_variable("factors", factors)
    program.write_variable("sums::total", np.array(0.5))
    assert driver.modules[0].variables == {
        "factors": factors.tobytes(),
        mangled("sums::total"): np.float64(0.5).tobytes(),
    }
    read = program.read_variable("factors", np.float32, (2, 2))
    assert read.tolist() == [[1, 2], [3, 4.5]]
    assert read.flags.writeable


def test_a_written_variable_reaches_every_device(driver: FakeDriver, program: CudaProgram) -> None:
    on_second = replace(REQUEST, pointers=(pointer_on("cuda:1"),))
    early, late = np.ones(4, np.float32), np.full(4, 2, np.float32)
    program.write_variable("factors", early)
    program.launch(on_second)
    assert driver.modules[1].variables == {"factors": early.tobytes()}
    program.write_variable("factors", late)
    assert [module.variables["factors"] for module in driver.modules] == [late.tobytes()] * 2


def test_a_tensor_is_copied_to_a_variable_of_its_device(
    driver: FakeDriver, program: CudaProgram
) -> None:
    program.copy_to_variable("factors", torch.arange(8.0)[::2])
    assert driver.modules[0].variables == {"factors": np.array([0, 2, 4, 6], np.float32).tobytes()}
    with pytest.raises(OperandError, match="'factors' has 16 bytes, got 12"):
        program.copy_to_variable("factors", torch.zeros(3))
    driver.device = 1
    program.copy_to_variable("factors", torch.ones(4))
    assert driver.modules[1].variables == {"factors": np.ones(4, np.float32).tobytes()}
    assert driver.modules[0].variables == {"factors": np.array([0, 2, 4, 6], np.float32).tobytes()}


def test_a_known_device_spares_looking_at_pointers(
    driver: FakeDriver, program: CudaProgram
) -> None:
    pointers = iter([pointer_on("cuda:0")])
    for device in ("cuda:1", "cpu"):
        program.launch(replace(REQUEST, pointers=pointers, device=torch.device(device)))
    assert [launched.device for launched in driver.launches] == [1, 0]
    assert len(list(pointers)) == 1


def test_an_unknown_variable_is_refused_with_those_there_are(program: CudaProgram) -> None:
    with pytest.raises(OperandError, match=r"no variable 'factor'; it has .*factors"):
        program.write_variable("factor", np.ones(4, np.float32))


def test_a_variable_of_another_size_is_refused(program: CudaProgram) -> None:
    with pytest.raises(OperandError, match="'factors' has 16 bytes, got 32"):
        program.write_variable("factors", np.ones(4))
    with pytest.raises(OperandError, match="'num_launches' has 4 bytes, got 8"):
        program.read_variable("num_launches", np.int64, ())
    with pytest.raises(OperandError, match="'factors' has 16 bytes, got 8"):
        program.read_variable("factors", np.float32, (2,))


@pytest.mark.parametrize(
    ("capability", "arch"),
    [
        ((8, 0), "sm_80"),
        ((8, 6), "sm_86"),
        ((8, 9), "sm_89"),
        ((9, 0), "sm_90a"),
        ((10, 0), "sm_100"),
        ((12, 0), "sm_120"),
    ],
)
def test_each_device_has_code_of_its_own_major_version(
    capability: tuple[int, int], arch: str
) -> None:
    assert arch_for(capability) == arch


def test_an_older_compiler_serves_with_the_newest_code_that_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvrtc, "supported_archs", lambda: ("sm_80", "sm_86", "sm_90"))
    assert arch_for((8, 9)) == "sm_86"
    assert arch_for((8, 3)) == "sm_80"
    assert arch_for((9, 2)) == "sm_90a"


@pytest.mark.parametrize("capability", [(4, 9), (99, 0)])
def test_a_device_beyond_the_compiler_is_refused(capability: tuple[int, int]) -> None:
    with pytest.raises(BackendUnavailable, match=f"compute capability {capability[0]}"):
        arch_for(capability)


def test_addresses_are_those_of_the_arguments_own_bytes() -> None:
    values = (one(5, "int32"), one(2.5, "float64"))
    assert list(addresses(values)) == [value.ctypes.data for value in values]
