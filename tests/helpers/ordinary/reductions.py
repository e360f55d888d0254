"""Cases of the reductions, scans and counts."""

from __future__ import annotations

import numpy as np
import torch

from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from tests.helpers.ordinary.case import Case, Cases, Exact, Near, Tail, integers, normal, source

FLT_MAX = torch.finfo(torch.float32).max


def _row_spec(entry: str, out_shape: str, block_threads: int) -> KernelSpec:
    return KernelSpec(
        name=entry,
        source=source("row_reduce"),
        launches=(Launch(entry=entry, grid="num_rows", block=block_threads),),
        operands=(
            Operand(name="values", shape="num_rows num_columns", dtype="float32"),
            Operand(name="out", shape=out_shape, dtype="float32", intent="out"),
        ),
        parameters=("values", "out", "num_columns"),
    )


ROW_SUM = _row_spec("row_sum", "num_rows", 96)
ROW_BOUNDS = _row_spec("row_bounds", "num_rows 2", 1024)


def row_reduce() -> Cases:
    for num_rows, num_columns in ((1, 1), (3, 31), (5, 33), (2, 1025), (0, 7), (4, 0)):
        x = normal(num_rows, num_columns)
        label = f"{num_rows} x {num_columns}"
        # 96 lanes add float32 values: 11 terms a lane, then 7 halvings
        total = Near(x.double().sum(1), rtol=1e-6, atol=2e-5)
        yield Case(label=label, spec=ROW_SUM, operands=(x,), expected={"out": total})
        limit = torch.full((num_rows, 1), FLT_MAX)
        smallest, largest = torch.cat([limit, x], 1).amin(1), torch.cat([-limit, x], 1).amax(1)
        bounds = Exact(torch.stack([smallest, largest], 1))
        yield Case(label=label, spec=ROW_BOUNDS, operands=(x,), expected={"out": bounds})


GRID_SUM = KernelSpec(
    name="grid_sum",
    source=source("grid_reduce"),
    launches=(Launch(entry="grid_sum", grid="num_blocks", block=128),),
    operands=(
        Operand(name="values", shape="n", dtype="float32"),
        Operand(name="partial", shape="num_blocks", dtype="float32", intent="workspace"),
        Operand(name="out", shape="1", dtype="float32", intent="out"),
    ),
    symbols={"num_blocks": "max(1, min(cdiv(n, 128), 9))"},
    scalars=(Scalar(name="num_elements", dtype="int64", value="n"),),
)


def grid_reduce() -> Cases:
    for n in (0, 1, 127, 128, 129, 5000):
        x = normal(n)
        expected = {"out": Near(x.double().sum().view(1), rtol=1e-6, atol=1e-4)}
        yield Case(label=f"{n} values", spec=GRID_SUM, operands=(x,), expected=expected)


LOOKBACK = KernelSpec(
    name="inclusive_scan",
    source=source("scan_lookback"),
    launches=(Launch(entry="inclusive_scan", grid="num_tiles", block=64),),
    operands=(
        Operand(name="items", shape="num_items", dtype="int32"),
        Operand(name="out", shape="num_items", dtype="int32", intent="out"),
        Operand(name="tile_words", shape="num_words", dtype="uint64", intent="inout"),
        Operand(name="next_tile", shape="1", dtype="int32", intent="inout"),
    ),
    symbols={"num_tiles": "cdiv(num_items, 256)"},
    requires=("num_words >= num_tiles",),
    parameters=("items", "out", "tile_words", "next_tile", "num_items"),
)


def scan_lookback() -> Cases:
    for n in (0, 1, 255, 256, 257, 20_000):
        x = integers(-1000, 1000, n)
        num_tiles = -(-n // 256)
        state = torch.zeros(num_tiles, dtype=torch.uint64), torch.zeros(1, dtype=torch.int32)
        yield Case(
            label=f"{n} items",
            spec=LOOKBACK,
            operands=(x, *state),
            expected={
                "out": Exact(x.cumsum(0).int()),
                "next_tile": Exact(torch.tensor([num_tiles], dtype=torch.int32)),
            },
        )
    yield _far_look_back(num_tiles=40, num_done=37, num_prefixes=3)


def _far_look_back(*, num_tiles: int, num_done: int, num_prefixes: int) -> Case:
    """Return a scan that others have begun: they published few prefixes, then sums only."""
    x = integers(-1000, 1000, num_tiles * 256)
    sums = x.view(num_tiles, 256).sum(1).numpy()
    is_prefix = np.arange(num_tiles) < num_prefixes
    values = np.where(is_prefix, sums.cumsum(), sums).astype(np.uint32).astype(np.uint64)
    words = np.zeros(num_done + num_tiles, dtype=np.uint64)
    words[:num_done] = (np.where(is_prefix, 2, 1).astype(np.uint64) << 32 | values)[:num_done]
    return Case(
        label=f"{num_done} of {num_tiles} tiles begun by others",
        spec=LOOKBACK,
        operands=(x, torch.from_numpy(words), torch.tensor([num_done], dtype=torch.int32)),
        expected={"out": Tail(x.cumsum(0).int()[num_done * 256 :])},
        repeats=False,
    )


BLELLOCH = KernelSpec(
    name="segment_scan",
    source=source("scan_blelloch"),
    launches=(
        # 64 elements of at most 8 bytes, and two of padding
        Launch(entry="segment_scan<{item_t}>", grid="num_segments", block=32, shared_bytes=66 * 8),
    ),
    operands=(
        Operand(name="items", shape="n", dtype="item_t"),
        Operand(name="out", shape="n", dtype="item_t", intent="out"),
        Operand(name="totals", shape="num_segments", dtype="item_t", intent="out"),
    ),
    types={"item_t": ("int32", "int64", "float64")},
    symbols={"num_segments": "cdiv(n, 64)"},
    parameters=("items", "out", "totals", "n"),
)


def scan_blelloch() -> Cases:
    for dtype in (torch.int64, torch.float64):
        for n in (0, 1, 63, 64, 65, 300):
            # small integers, so that sums are exact in every dtype
            x = integers(-9, 9, n, dtype=dtype)
            num_segments = -(-n // 64)
            padded = torch.cat([x, torch.zeros(num_segments * 64 - n, dtype=dtype)]).view(-1, 64)
            before = (padded.cumsum(1) - padded).flatten()[:n]
            expected = {"out": Near(before, rtol=0), "totals": Near(padded.sum(1), rtol=0)}
            yield Case(label=f"{n} {dtype}", spec=BLELLOCH, operands=(x,), expected=expected)


HISTOGRAM = KernelSpec(
    name="byte_histogram",
    source=source("histogram"),
    launches=(Launch(entry="byte_histogram<2>", grid="num_blocks", block=64),),
    operands=(
        Operand(name="data", shape="n", dtype="uint8"),
        Operand(name="bins", shape="256", dtype="uint32", intent="inout"),
    ),
    symbols={"num_blocks": "min(cdiv(n, 256), 5)"},
    scalars=(Scalar(name="num_bytes", dtype="uint64", value="n"),),
)


def histogram() -> Cases:
    room = integers(0, 256, 4003, dtype=torch.uint8)
    for start, n in ((0, 0), (0, 1), (0, 255), (1, 257), (3, 4000), (0, 4003)):
        data = room[start : start + n]
        counts = np.bincount(data.numpy(), minlength=256).astype(np.uint32)
        yield Case(
            label=f"{n} bytes from {start}",
            spec=HISTOGRAM,
            operands=(data, torch.zeros(256, dtype=torch.uint32)),
            expected={"bins": Exact(torch.from_numpy(counts))},
        )


ARGMAX_KEYS = KernelSpec(
    name="argmax_keys",
    source=source("argmax"),
    launches=(Launch(entry="argmax_keys", grid=("num_rows", 3), block=64),),
    operands=(
        Operand(name="values", shape="num_rows num_columns", dtype="float32"),
        Operand(name="keys", shape="num_rows", dtype="uint64", intent="inout"),
    ),
    parameters=("values", "keys", "num_columns"),
)
ARGMAX_COLUMNS = KernelSpec(
    name="argmax_columns",
    source=source("argmax"),
    launches=(Launch(entry="argmax_columns", grid="cdiv(n, 32)", block=32),),
    operands=(
        Operand(name="keys", shape="n", dtype="uint64"),
        Operand(name="columns", shape="n", dtype="int64", intent="out"),
    ),
    parameters=("keys", "columns", "n"),
)


def argmax() -> Cases:
    for num_rows, num_columns in ((1, 1), (3, 31), (2, 1000), (33, 65), (0, 4)):
        # one decimal, so that there are ties
        x = (normal(num_rows, num_columns) - 1).mul(10).round().div(10)
        columns = torch.from_numpy(np.argmax(x.numpy(), axis=1)) if num_rows else x[:, 0].long()
        bits = x.gather(1, columns[:, None])[:, 0].numpy().view(np.uint32).astype(np.uint64)
        high = np.where(bits & 1 << 31, ~bits & 0xFFFFFFFF, bits | 1 << 31)
        keys = torch.from_numpy(high << 32 | 0xFFFFFFFF - columns.numpy().astype(np.uint64))
        label = f"{num_rows} x {num_columns}"
        zeros = torch.zeros(num_rows, dtype=torch.uint64)
        yield Case(
            label=label, spec=ARGMAX_KEYS, operands=(x, zeros), expected={"keys": Exact(keys)}
        )
        yield Case(
            label=label,
            spec=ARGMAX_COLUMNS,
            operands=(keys,),
            expected={"columns": Exact(columns)},
        )
