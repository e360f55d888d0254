"""Cases of the kernels that sort, select, copy or draw elements of a list."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from tests.helpers.ordinary.case import AnyOrder, Case, Cases, Exact, Near, integers, normal, source

TOP_K = KernelSpec(
    name="top_k",
    source=source("bitonic_top_k"),
    launches=(Launch(entry="top_k<256>", grid="num_rows", block=128),),
    operands=(
        Operand(name="scores", shape="num_rows num_columns", dtype="float32"),
        Operand(name="values", shape="num_rows k", dtype="float32", intent="out"),
        Operand(name="columns", shape="num_rows k", dtype="int32", intent="out"),
    ),
    symbols={"k": "min(num_columns, 7)"},
    requires=("num_columns <= 256",),
    parameters=("scores", "values", "columns", "num_columns", "k"),
)


def bitonic_top_k() -> Cases:
    for num_rows, num_columns in ((1, 1), (2, 5), (2, 255), (3, 256), (0, 9)):
        # one decimal, so that there are ties
        scores = normal(num_rows, num_columns).mul(10).round().div(10)
        scores[:, 3:5] = -torch.inf
        values, columns = scores.sort(dim=1, descending=True, stable=True)
        expected = {"values": Exact(values[:, :7]), "columns": Exact(columns[:, :7].int())}
        label = f"{num_rows} x {num_columns}"
        yield Case(label=label, spec=TOP_K, operands=(scores,), expected=expected)


RADIX = KernelSpec(
    name="radix_partition",
    source=source("radix_partition"),
    launches=(Launch(entry="radix_partition<4>", grid="cdiv(n, 128)", block=128),),
    operands=(
        Operand(name="keys", shape="n", dtype="uint32"),
        Operand(name="out", shape="n", dtype="uint32", intent="out"),
    ),
    parameters=("keys", "out", "n"),
)


def radix_partition() -> Cases:
    for n in (0, 1, 33, 127, 128, 300):
        keys = integers(0, 2**31, n).numpy().view(np.uint32) * 2 + 1
        blocks = [keys[i : i + 128] for i in range(0, n, 128)]
        sorted_blocks = [b[np.argsort(b >> 4 & 15, kind="stable")] for b in blocks]
        out = np.concatenate([keys[:0], *sorted_blocks])
        yield Case(
            label=f"{n} keys",
            spec=RADIX,
            operands=(torch.from_numpy(keys),),
            expected={"out": Exact(torch.from_numpy(out))},
        )


DROPOUT = KernelSpec(
    name="dropout",
    source=source("dropout_philox"),
    launches=(Launch(entry="dropout", grid="cdiv(num_elements, 4 * 32)", block=32),),
    operands=(
        Operand(name="values", shape="num_elements", dtype="float32"),
        Operand(name="out", shape="num_elements", dtype="float32", intent="out"),
        Operand(name="mask", shape="num_elements", dtype="uint8", intent="out"),
    ),
    scalars=(
        Scalar(name="keep_probability", dtype="float32"),
        Scalar(name="seed", dtype="uint64"),
        Scalar(name="offset", dtype="uint64", default=0),
    ),
    parameters=(
        *("values", "out", "mask", "num_elements"),
        *("keep_probability", "seed", "offset"),
    ),
)


def dropout_philox() -> Cases:
    seed, offset = 0xFEDC_BA98_7654_3210, 2**32 - 5
    for n, keep in ((0, 0.5), (1, 0.5), (3, 1.0), (130, 0.25), (1000, 0.9)):
        x = normal(n)
        words = philox(seed, offset, -(-n // 4)).flatten()[:n]
        mask = torch.from_numpy((words >> 8) * 2.0**-24 < np.float32(keep))
        scale = torch.tensor(1.0) / torch.tensor(keep)
        yield Case(
            label=f"{n}, keep {keep}",
            spec=DROPOUT,
            operands=(x,),
            numbers={"keep_probability": keep, "seed": seed, "offset": offset},
            expected={"mask": Exact(mask.byte()), "out": Near(mask * (x * scale), rtol=0)},
        )


def philox(seed: int, first: int, num_blocks: int) -> npt.NDArray[np.uint64]:
    """Return Philox4x32-10 blocks [num_blocks, 4] of consecutive counters."""
    low = np.uint64(0xFFFF_FFFF)
    counters = np.arange(num_blocks, dtype=np.uint64) + np.uint64(first)
    c = [counters & low, counters >> np.uint64(32), *np.zeros((2, num_blocks), dtype=np.uint64)]
    keys = [seed & 0xFFFF_FFFF, seed >> 32]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        high_a, high_b = a >> np.uint64(32), b >> np.uint64(32)
        k0, k1 = (np.uint64(key) for key in keys)
        c = [high_b ^ c[1] ^ k0, b & low, high_a ^ c[3] ^ k1, a & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFF_FFFF, (keys[1] + 0xBB67AE85) & 0xFFFF_FFFF]
    return np.stack(c, axis=1)


def _spmv_spec(element: str, cuda: str, num_lanes: int) -> KernelSpec:
    return KernelSpec(
        name=f"spmv_{element}",
        source=source("spmv_csr"),
        launches=(
            Launch(
                entry=f"spmv<{cuda}, {num_lanes}>",
                grid=f"cdiv(num_rows * {num_lanes}, 64)",
                block=64,
            ),
        ),
        operands=(
            Operand(name="row_start", shape="num_starts", dtype="int32"),
            Operand(name="columns", shape="num_values", dtype="int32"),
            Operand(name="values", shape="num_values", dtype=element),
            Operand(name="x", shape="num_columns", dtype=element),
            Operand(name="y", shape="num_rows", dtype=element, intent="inout"),
        ),
        scalars=(Scalar(name="alpha", dtype=element), Scalar(name="beta", dtype=element)),
        requires=("num_starts == num_rows + 1",),
        parameters=("num_rows", "row_start", "columns", "values", "x", "y", "alpha", "beta"),
    )


SPMV = {
    torch.float32: _spmv_spec("float32", "float", 32),
    torch.float64: _spmv_spec("float64", "double", 4),
}


def spmv_csr() -> Cases:
    for dtype, spec in SPMV.items():
        for num_rows, num_columns in ((1, 1), (7, 50), (33, 90), (0, 4)):
            dense = normal(num_rows, num_columns, dtype=dtype)
            dense[integers(0, 3, num_rows, num_columns) > 0] = 0
            dense[2:3] = 0
            sparse = dense.to_sparse_coo()
            counts = torch.bincount(sparse.indices()[0], minlength=num_rows)
            starts = torch.cat([torch.zeros(1), counts.cumsum(0)]).int()
            x, y = normal(num_columns, dtype=dtype, seed=1), normal(num_rows, dtype=dtype, seed=2)
            yield Case(
                label=f"{num_rows} x {num_columns} {dtype}",
                spec=spec,
                operands=(starts, sparse.indices()[1].int(), sparse.values(), x, y),
                numbers={"alpha": 2.0, "beta": -0.5},
                expected={
                    "y": Near(
                        2 * dense.double() @ x.double() - 0.5 * y.double(), rtol=1e-6, atol=1e-5
                    )
                },
            )


PIPELINED = KernelSpec(
    name="pipelined_scale",
    source=source("pipelined_scale"),
    launches=(Launch(entry="pipelined_scale", grid="min(cdiv(num_vectors, 64), 2)", block=64),),
    operands=(
        Operand(name="values", shape="num_vectors 4", dtype="float32"),
        Operand(name="out", shape="num_vectors 4", dtype="float32", intent="out"),
    ),
    scalars=(Scalar(name="scale", dtype="float32"),),
    parameters=("values", "out", "num_vectors", "scale"),
)


def pipelined_scale() -> Cases:
    for n in (0, 1, 63, 64, 65, 500):
        x = normal(n, 4)
        yield Case(
            label=f"{n} vectors",
            spec=PIPELINED,
            operands=(x,),
            numbers={"scale": 3.0},
            expected={"out": Exact(x * 3)},
        )


COMPACT = KernelSpec(
    name="compact",
    source=source("compact"),
    launches=(Launch(entry="compact", grid="min(cdiv(n, 64), 3)", block=64),),
    operands=(
        Operand(name="values", shape="n", dtype="float32"),
        Operand(name="out", shape="n", dtype="float32", intent="out"),
        Operand(name="num_kept", shape="1", dtype="int32", intent="inout"),
    ),
    scalars=(Scalar(name="threshold", dtype="float32"),),
    parameters=("values", "out", "num_kept", "n", "threshold"),
)


def compact() -> Cases:
    for n, threshold in ((0, 0.0), (1, -9.0), (65, 0.0), (1000, 0.7), (100, 9.0), (100, -9.0)):
        x = normal(n)
        kept = x[x > threshold]
        yield Case(
            label=f"{n} above {threshold}",
            spec=COMPACT,
            operands=(x, torch.zeros(1, dtype=torch.int32)),
            numbers={"threshold": threshold},
            expected={
                "num_kept": Exact(torch.tensor([len(kept)], dtype=torch.int32)),
                "out": AnyOrder(kept),
            },
            repeats=False,
        )


GATHER = KernelSpec(
    name="checked_gather",
    source=source("checked_gather"),
    launches=(Launch(entry="checked_gather", grid="cdiv(num_indices, 32)", block=32),),
    operands=(
        Operand(name="table", shape="table_size", dtype="float32"),
        Operand(name="indices", shape="num_indices", dtype="int32"),
        Operand(name="out", shape="num_indices", dtype="float32", intent="out"),
    ),
    scalars=(Scalar(name="is_verbose", dtype="bool", default=False),),
    parameters=("table", "indices", "out", "table_size", "num_indices", "is_verbose"),
)


def checked_gather() -> Cases:
    for n in (0, 1, 40):
        table, indices = normal(9), integers(0, 9, n)
        expected = {"out": Exact(table[indices.long()])}
        yield Case(label=f"{n} indices", spec=GATHER, operands=(table, indices), expected=expected)
