"""Integer and video intrinsics in the interpreter against their definitions in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from tests.helpers.elementwise import Elementwise

KERNELS = Elementwise(file="math.cu", entries=("integer", "video"))
WORD = 0xFFFFFFFF


def test_integer_intrinsics() -> None:
    a, b = operands()
    rows = KERNELS.run("integer", a, b, dtype=torch.int32, num_rows=35).numpy()
    for column, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        expected = [value & WORD for value in integer_rows(x, y)]
        got = [int(value) & WORD for value in rows[:, column]]
        # A signaling NaN may come back quiet from a register of floats.
        assert got == expected, (x, y)


def operands() -> tuple[torch.Tensor, torch.Tensor]:
    bits = np.random.default_rng(0).integers(0, 1 << 32, (2, 2000), dtype=np.uint32)
    bits[:, :8] = [0, 1, WORD, 1 << 31, (1 << 31) - 1, 0x80, 0x8000, 0x7F7F7F7F]
    bits[1, 4:8] = [1, WORD, 0, 1 << 31]
    x, y = torch.from_numpy(bits.view(np.int32))
    return x.contiguous(), y.contiguous()


def integer_rows(x: int, y: int) -> Iterator[int]:
    u, v = x & WORD, y & WORD
    wide, other = u << 32 | v, v << 32 | u
    yield from (32 - u.bit_length(), 64 - wide.bit_length(), lowest(u), lowest(wide))
    yield from (u.bit_count(), wide.bit_count())
    yield from (reversed_bits(u, 32), reversed_bits(wide, 64) >> 32)
    data = [*u.to_bytes(4, "little"), *v.to_bytes(4, "little")]
    yield data[2] | data[6] << 8 | data[3] << 16 | data[7] << 24
    both = v << 32 | u
    yield from (both << (u & 31) >> 32, both << min(u & 63, 32) >> 32)
    yield from (both >> (u & 31), both >> min(u & 63, 32))
    yield from (signed(u, 24) * signed(v, 24), (u & 0xFFFFFF) * (v & 0xFFFFFF))
    yield from (x * y >> 32, u * v >> 32)
    yield from (signed(wide, 64) * signed(other, 64) >> 64, wide * other >> 64)
    yield from (abs(x - y) + 7, abs(u - v) + 7)
    yield from ((x + y) >> 1, (x + y + 1) >> 1, (u + v) >> 1, (u + v + 1) >> 1)
    yield from (dot(x, y, signed), dot(x, y, unsigned))
    yield from (dot(x, y, signed, left_bits=16), dot(x, y, unsigned, left_bits=16, first=2))
    yield from (min(x, y), max(x, y), min(u, v), max(u, v))
    yield from (x, x)


def lowest(value: int) -> int:
    return (value & -value).bit_length()


def reversed_bits(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


Read = Callable[[int, int], int]


def dot(x: int, y: int, read: Read, *, left_bits: int = 8, first: int = 0) -> int:
    """Return 5 + the products of x's lanes with y's bytes from the first on."""
    count, right_bits = 32 // left_bits, 8
    left = [read(x >> left_bits * lane, left_bits) for lane in range(count)]
    right = [read(y >> right_bits * (first + lane), right_bits) for lane in range(count)]
    return sum(p * q for p, q in zip(left, right, strict=True)) + 5


def lanes(value: int, count: int, read: Read) -> list[int]:
    bits = 32 // count
    return [read(value >> bits * lane, bits) for lane in range(count)]


def test_video_intrinsics() -> None:
    a, b = operands()
    rows = KERNELS.run(
        "video", a.view(torch.uint32), b.view(torch.uint32), dtype=torch.uint32, num_rows=40
    )
    table = rows.numpy().astype(np.int64)
    for column, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        assert table[:, column].tolist() == list(video_rows(x & WORD, y & WORD)), (x, y)


def video_rows(x: int, y: int) -> Iterator[int]:
    def clamped(value: int, bits: int, is_signed: bool) -> int:
        top = (1 << (bits - is_signed)) - 1
        return max(min(value, top), -top - 1 if is_signed else 0)

    for name, read, operation in VIDEO:
        for count in (2, 4):
            bits = 32 // count
            pairs = zip(lanes(x, count, read), lanes(y, count, read), strict=True)
            results = [operation(p, q) for p, q in pairs]
            if name == "saturate":
                results = [clamped(result, bits, read is signed) for result in results]
            if name == "sum":
                yield sum(results)
                continue
            yield sum((result & ((1 << bits) - 1)) << bits * i for i, result in enumerate(results))
    yield join([clamped(abs(lane), 16, True) for lane in lanes(x, 2, signed)])
    yield join([clamped(-lane, 8, True) for lane in lanes(x, 4, signed)])


def join(values: list[int]) -> int:
    bits = 32 // len(values)
    return sum((value & ((1 << bits) - 1)) << bits * lane for lane, value in enumerate(values))


VIDEO: tuple[tuple[str, Read, Callable[[int, int], int]], ...] = (
    ("wrap", unsigned, lambda p, q: p + q),
    ("wrap", unsigned, lambda p, q: p - q),
    ("saturate", signed, lambda p, q: p + q),
    ("saturate", unsigned, lambda p, q: p + q),
    ("saturate", signed, lambda p, q: p - q),
    ("saturate", unsigned, lambda p, q: p - q),
    ("wrap", signed, max),
    ("wrap", unsigned, max),
    ("wrap", signed, min),
    ("wrap", unsigned, min),
    ("wrap", unsigned, lambda p, q: (p + q + 1) >> 1),
    ("wrap", unsigned, lambda p, q: (p + q) >> 1),
    ("wrap", unsigned, lambda p, q: abs(p - q)),
    ("wrap", unsigned, lambda p, q: -(p == q)),
    ("wrap", signed, lambda p, q: -(p > q)),
    ("wrap", unsigned, lambda p, q: -(p <= q)),
    ("wrap", unsigned, lambda p, q: int(p != q)),
    ("sum", signed, lambda p, q: abs(p - q)),
    ("sum", unsigned, lambda p, q: abs(p - q)),
)
