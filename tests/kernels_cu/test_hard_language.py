"""The parts of C++ that ordinary kernels seldom use, run unchanged in the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paged.kernel.backends.interpret import InterpretBackend, InterpretConfig
from paged.kernel.launch import one
from tests.helpers.cuda_launch import Memory, launch, load
from tests.helpers.ordinary.case import KERNELS_DIR, integers, normal

HARD = KERNELS_DIR / "hard"


@pytest.fixture(params=[None, 1, 2], ids=["natural", "seed 1", "seed 2"])
def backend(request: pytest.FixtureRequest) -> InterpretBackend:
    return InterpretBackend(InterpretConfig(seed=request.param))


def empty(*shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


@pytest.mark.parametrize(("dtype", "kind"), [(torch.int32, "int"), (torch.float32, "float")])
def test_pipelines_of_templates(backend: InterpretBackend, dtype: torch.dtype, kind: str) -> None:
    x = integers(-9, 10, 77, dtype=dtype)
    out = torch.zeros_like(x)
    program = load(backend, HARD / "expression_templates.cu", [f"transform<{kind}>"])
    numbers = [one(value, str(x.numpy().dtype)) for value in (3, 4000)]
    launch(
        program, f"transform<{kind}>", Memory("in", x), Memory("out", out), one(77, "int32"),
        *numbers, grid=2, block=16,
    )  # fmt: skip
    expected = (1 - 2 * x + 3 * x * x) ** 2
    for numerator, denominator in ((1, 4), (3, 2), (3, 2)):
        expected = expected * numerator
        # C++ divides integers towards zero, and these are not negative
        expected = expected / denominator if kind == "float" else expected // denominator
    assert torch.equal(out, expected.clamp(3, 4000))


def test_functions_chosen_at_run_time(backend: InterpretBackend) -> None:
    values, num_rows = torch.tensor([5.0, 2.0, 3.0]), 40
    out = empty(num_rows, 5, dtype=torch.float32)
    program = load(backend, HARD / "dispatch.cu", ["dispatch"])
    launch(
        program, "dispatch", Memory("in", values), one(3, "int32"), Memory("out", out),
        one(num_rows, "int32"), grid=2, block=32,
    )  # fmt: skip
    folds = (10.0, 0.0, 30.0)
    for row, got in enumerate(out.tolist()):
        area = (row * 2.0 + 4000, row * row + 4000.0, 3.0 * row * row)[row % 3]
        moved = row + (10 if row % 2 else -10)
        assert got == [folds[row % 3], area, float(row % 2 == 0), 2 * (row % 4) + 3, moved]


def test_parameters_of_every_width(backend: InterpretBackend) -> None:
    out = empty(10, dtype=torch.float64)
    program = load(backend, HARD / "parameters.cu", ["pack", "map_points", "box_sum"])
    launch(
        program, "pack", one(-7, "int8"), one(-300, "int16"), one(-(2**40), "int64"),
        one(True, "bool"), one(-70000, "int32"), np.array([[1.0, 10, 100, 1000]])[0],
        one(200, "uint8"), one(0.5, "float32"), one(255, "uint8"), one(2**63, "uint64"),
        Memory("out", out), grid=1, block=1,
    )  # fmt: skip
    expected = [-7, -300, -(2.0**40), 1, -70000, 4321, 200, 0.5, 255, 2.0**63]
    assert out.tolist() == expected


def test_structs_by_value(backend: InterpretBackend) -> None:
    program = load(backend, HARD / "parameters.cu", ["pack", "map_points", "box_sum"])
    points = normal(50, 2, dtype=torch.float64)
    mapped = torch.zeros_like(points)
    affine_type = np.dtype(
        [("matrix", "f8", (2, 2)), ("offset", "f4", 2), ("shift", "i2")], align=True
    )
    affine = np.array([([[1.0, 2.0], [3.0, 4.0]], [0.5, -0.25], -3)], dtype=affine_type)
    launch(
        program, "map_points", Memory("in", points), Memory("out", mapped), one(50, "int32"),
        affine, grid=2, block=32,
    )  # fmt: skip
    matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    expected = points @ matrix.t() + torch.tensor([0.5 - 3, -0.25], dtype=torch.float64)
    torch.testing.assert_close(mapped, expected, rtol=1e-14, atol=1e-14)

    image = integers(0, 100, 5, 19)
    sums = torch.zeros_like(image)
    view_type = np.dtype([("data", "u8"), ("extent", "u2", 2), ("pad", "i1")], align=True)
    view = np.array([(0, (5, 19), -1)], dtype=view_type)
    launch(
        program, "box_sum", Memory("in", image, view), Memory("out", sums),
        grid=(3, 2), block=(8, 4),
    )  # fmt: skip
    padded = torch.nn.functional.pad(image, (1, 1, 1, 1), value=-1)
    expected = sum(padded[y : y + 5, x : x + 19] for y in range(3) for x in range(3))
    assert torch.equal(sums, torch.as_tensor(expected, dtype=torch.int32))


def test_control_flow(backend: InterpretBackend) -> None:
    program = load(backend, HARD / "control_flow.cu", ["parse_fields", "searches", "odd_even_sort"])
    words = [" 42", "-17 x", "+", "", "12a4", "  90 1", "--1", "007"]
    text = torch.tensor([list(word.ljust(6).encode()) for word in words], dtype=torch.int8)
    numbers, valid = empty(8), empty(8, dtype=torch.bool)
    launch(
        program, "parse_fields", Memory("in", text), one(6, "int32"), Memory("out", numbers),
        Memory("out", valid), one(8, "int32"), grid=1, block=8,
    )  # fmt: skip
    assert valid.tolist() == [True, True, False, False, False, True, False, True]
    assert numbers[valid].tolist() == [42, -17, 90, 7]

    values = torch.tensor([1, 4, 9, 16, 25, 36], dtype=torch.int32)
    sums, pairs = empty(7), empty(7)
    launch(
        program, "searches", Memory("in", values), one(6, "int32"), Memory("out", sums),
        Memory("out", pairs), grid=1, block=7,
    )  # fmt: skip
    assert sums.tolist() == [0, 1, 5, 14, 30, 55, 91]
    assert pairs.tolist() == [-1, -1, -1, -1, -1, 1, -1]

    rows = torch.stack([integers(0, 50, 31), torch.arange(31, dtype=torch.int32)])
    expected, num_rounds = rows.sort(dim=1).values, empty(2)
    launch(
        program, "odd_even_sort", Memory("inout", rows), one(31, "int32"),
        Memory("out", num_rounds), grid=2, block=8, shared_bytes=31 * 4,
    )  # fmt: skip
    assert torch.equal(rows, expected)
    assert num_rounds[1] == 1
    assert 1 < num_rounds[0] <= 17


def test_a_fourier_transform_of_a_number_type(backend: InterpretBackend) -> None:
    entries = ["fft<float, 64>", "fft<double, 16>", "mandelbrot"]
    program = load(backend, HARD / "complex_fft.cu", entries)
    for entry, n, dtype, atol in (
        (entries[0], 64, torch.float32, 1e-5),
        (entries[1], 16, torch.float64, 1e-14),
    ):
        x = normal(3, n, 2, dtype=dtype)
        out = torch.zeros_like(x)
        launch(program, entry, Memory("in", x), Memory("out", out), grid=3, block=n // 2)
        expected = torch.view_as_real(torch.fft.fft(torch.view_as_complex(x.double())))
        torch.testing.assert_close(out.double(), expected, rtol=0, atol=atol)

    counts = empty(12, 15, dtype=torch.uint16)
    launch(
        program, "mandelbrot", Memory("out", counts), one(15, "int32"), one(12, "int32"),
        one(50, "uint16"), grid=(2, 2), block=(8, 8),
    )  # fmt: skip
    assert counts.tolist() == [[_escape_time(x, y) for x in range(15)] for y in range(12)]


def _escape_time(x: int, y: int) -> int:
    c, z = complex(-2 + 3 * x / 15, -1 + 2 * y / 12), 0j
    for count in range(50):
        if z.real**2 + z.imag**2 > 4:
            return count
        z = z * z + c
    return 50


def test_declarations_in_every_spelling(
    backend: InterpretBackend, capfd: pytest.CaptureFixture[str]
) -> None:
    floats, ints = "outer::fill<float>", "outer::fill<int, 8, kPlain, true>"
    doubles, add_all = "outer::fill<double, 2, kPlain, true>", "outer::add_all<int, short, double>"
    entries = ["declared_first", floats, ints, doubles, add_all, "arrays"]
    program = load(backend, HARD / "spelling.cu", entries)
    for entry, dtype, expected in (
        ("declared_first", torch.int32, [32787, 32788]),
        (floats, torch.float32, [8, 8]),
        (ints, torch.int32, [-8, -8]),
        (doubles, torch.float64, [3.25, 3.25]),
    ):
        out = empty(2, dtype=dtype)
        launch(program, entry, Memory("out", out), grid=1, block=2)
        assert out.tolist() == expected
    total = empty(1, dtype=torch.float32)
    numbers = one(1, "int32"), one(-3, "int16"), one(0.5, "float64")
    launch(program, add_all, Memory("out", total), *numbers, grid=1, block=1)
    assert total.item() == -1.5

    out = empty(2, 16)
    launch(program, "arrays", Memory("out", out), grid=1, block=(8, 2), shared_bytes=512)
    assert out[0].tolist() == [7 + 7 + sum(range(8, 16)) + 5 + 127 + 3] * 16
    assert out[1].tolist() == [6 + 700 + 10000 * (3 + i % 2) + i for i in range(16)]
    assert capfd.readouterr().out == (
        "row  1.50|42  |z 1099511627776 %\n0000BEEF 1.234568e+04 1e-07\n"
    )


def test_shared_memory_is_aligned_as_asked(backend: InterpretBackend) -> None:
    entries = {"alignment<float, 16>": torch.float32, "alignment<double, 8>": torch.float64}
    program = load(backend, HARD / "alignment.cu", list(entries))
    for (entry, dtype), n in zip(entries.items(), (16, 8), strict=True):
        remainders, out = empty(14), empty(n, dtype=dtype)
        launch(
            program, entry, Memory("out", remainders), Memory("out", out),
            grid=1, block=n, shared_bytes=4 * n,
        )  # fmt: skip
        assert not remainders.any()
        # the sums of 1, 2 + 2 + 2, 3 times 4, 4 times 4, 5, 6 and three constants
        assert out.tolist() == [(1 + 6 + 12 + 16 + 5 + 6) * t + 22 for t in reversed(range(n))]


def test_variables_outlive_a_launch(backend: InterpretBackend) -> None:
    program = load(backend, HARD / "statics.cu", ["remember"])
    results: list[list[float]] = []
    for value in (7.0, -5.0):
        out = empty(14, dtype=torch.float64)
        given = torch.tensor([value])
        launch(program, "remember", Memory("in", given), Memory("out", out), grid=1, block=2)
        results.append(out.tolist())
    common = [7, ord("t")]
    assert results[0] == [0, 1, 7, -1, -2, -3, 7, 7, 3, 7, *common, 102, 10]
    assert results[1] == [1, 2, -5, 7, -1, -2, -5, 7, 4, 7 - 500, *common, 105, 10]
