"""Cases of the matrix, image and grid kernels."""

from __future__ import annotations

import torch

from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from tests.helpers.ordinary.case import Case, Cases, Exact, Near, integers, normal, source

TRANSPOSE = KernelSpec(
    name="transpose",
    source=source("transpose"),
    launches=(
        Launch(
            entry="transpose<{item_t}>",
            grid=("cdiv(num_columns, 32)", "cdiv(num_rows, 32)"),
            block=(32, 8),
        ),
    ),
    operands=(
        Operand(name="matrix", shape="num_rows num_columns", dtype="item_t"),
        Operand(name="out", shape="num_columns num_rows", dtype="item_t", intent="out"),
    ),
    types={"item_t": ("float32", "uint8", "float64")},
    parameters=("matrix", "out", "num_rows", "num_columns"),
)


def transpose() -> Cases:
    for dtype in (torch.float32, torch.uint8, torch.float64):
        for num_rows, num_columns in ((1, 1), (32, 32), (33, 31), (5, 100), (70, 3), (0, 4)):
            x = integers(0, 200, num_rows, num_columns, dtype=dtype)
            expected = {"out": Exact(x.t().contiguous())}
            label = f"{num_rows} x {num_columns} {dtype}"
            yield Case(label=label, spec=TRANSPOSE, operands=(x,), expected=expected)


GEMM = KernelSpec(
    name="gemm",
    source=source("gemm_tiled"),
    launches=(
        Launch(entry="gemm<32, 32, 16, 4, 4>", grid=("cdiv(n, 32)", "cdiv(m, 32)"), block=(8, 8)),
    ),
    operands=(
        Operand(name="a", shape="m k", dtype="float16"),
        Operand(name="b", shape="k n", dtype="float16"),
        Operand(name="c", shape="m n", dtype="float32", intent="inout"),
    ),
    scalars=(
        Scalar(name="alpha", dtype="float32", default=1.0),
        Scalar(name="beta", dtype="float32", default=0.0),
    ),
    parameters=("m", "n", "k", "alpha", "a", "b", "beta", "c"),
)


def gemm_tiled() -> Cases:
    for m, n, k in ((1, 1, 1), (32, 32, 16), (33, 17, 5), (70, 40, 50), (3, 4, 0), (0, 3, 2)):
        a = normal(m, k, dtype=torch.float16)
        b = normal(k, n, dtype=torch.float16, seed=1)
        c = normal(m, n, seed=2)
        product = a.double() @ b.double()
        yield Case(
            label=f"{m} x {n} x {k}",
            spec=GEMM,
            operands=(a, b, c),
            numbers={"alpha": 0.5, "beta": -2.0},
            expected={"c": Near(0.5 * product - 2 * c.double(), rtol=1e-6, atol=2e-5)},
        )
        yield Case(
            label=f"{m} x {n} x {k}, beta 0",
            spec=GEMM,
            operands=(a, b, torch.full_like(c, torch.nan)),
            expected={"c": Near(product, rtol=1e-6, atol=2e-5)},
        )


GEMM_INT8 = KernelSpec(
    name="gemm_int8",
    source=source("gemm_int8"),
    launches=(Launch(entry="gemm_int8", grid=("cdiv(n, 32)", "cdiv(m, 32)"), block=(16, 16)),),
    operands=(
        Operand(name="a", shape="m k", dtype="int8"),
        Operand(name="b", shape="n k", dtype="int8"),
        Operand(name="row_scale", shape="m", dtype="float32"),
        Operand(name="column_scale", shape="n", dtype="float32"),
        Operand(name="d", shape="m n", dtype="float32", intent="out"),
    ),
    requires=("k % 4 == 0",),
    parameters=("a", "b", "row_scale", "column_scale", "d", "m", "n", "k"),
)


def gemm_int8() -> Cases:
    for m, n, k in ((1, 1, 4), (32, 32, 64), (33, 5, 68), (40, 70, 132), (2, 3, 0), (0, 1, 8)):
        a = integers(-128, 128, m, k, dtype=torch.int8)
        b = integers(-128, 128, n, k, dtype=torch.int8, seed=1)
        rows, columns = normal(m, seed=2), normal(n, seed=3)
        # sums stay below 2^24: exact in float32
        sums = (a.long() @ b.long().t()).float()
        expected = {"d": Near(sums * (rows[:, None] * columns), rtol=0)}
        operands = (a, b, rows, columns)
        yield Case(label=f"{m} x {n} x {k}", spec=GEMM_INT8, operands=operands, expected=expected)


_IMAGES = (
    Operand(name="images", shape="num_images height width", dtype="float32"),
    Operand(name="out", shape="num_images height width", dtype="float32", intent="out"),
)
_CONV2D = Launch(
    entry="conv2d", grid=("cdiv(width, 16)", "cdiv(height, 16)", "num_images"), block=(16, 16)
)
BLUR = KernelSpec(
    name="blur",
    source=source("conv2d"),
    launches=(_CONV2D,),
    operands=_IMAGES,
    parameters=("images", "out", "height", "width"),
)
CONV2D = KernelSpec(
    name="conv2d",
    source=source("conv2d"),
    launches=(_CONV2D,),
    operands=(
        *_IMAGES,
        Operand(name="filter", shape="5 5", dtype="float32", is_variable=True),
    ),
    parameters=("images", "out", "height", "width"),
)


def conv2d() -> Cases:
    binomial = torch.tensor([1.0, 4, 6, 4, 1]) / 16
    for num_images, height, width in ((1, 1, 1), (2, 16, 16), (3, 17, 40), (1, 5, 3), (0, 2, 2)):
        x = normal(num_images, height, width)
        label = f"{num_images} x {height} x {width}"
        # the blur comes after a written filter: each program has variables of its own
        for seed in (1, 2):
            weights = normal(5, 5, seed=seed)
            expected = {"out": Near(_correlate(x, weights), rtol=1e-6, atol=1e-5)}
            yield Case(label=label, spec=CONV2D, operands=(x, weights), expected=expected)
        blurred = _correlate(x, binomial[:, None] * binomial)
        expected = {"out": Near(blurred, rtol=1e-6, atol=1e-6)}
        yield Case(label=label, spec=BLUR, operands=(x,), expected=expected)


def _correlate(images: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    channels = images.double().unsqueeze(1)
    kernel = weights.double()[None, None]
    return torch.nn.functional.conv2d(channels, kernel, padding=2).squeeze(1)


HEAT = KernelSpec(
    name="heat_step",
    source=source("stencil3d"),
    launches=(
        Launch(
            entry="heat_step",
            grid=("cdiv(nx, 8)", "cdiv(ny, 8)", "cdiv(nz, 4)"),
            block=(8, 8, 4),
        ),
    ),
    operands=(
        Operand(name="u", shape="nz ny nx", dtype="float64"),
        Operand(name="u_next", shape="nz ny nx", dtype="float64", intent="out"),
    ),
    scalars=(Scalar(name="alpha", dtype="float64"),),
    parameters=("u", "u_next", "nx", "ny", "nz", "alpha"),
)


def stencil3d() -> Cases:
    for nz, ny, nx in ((1, 1, 1), (4, 8, 8), (9, 10, 11), (3, 20, 17), (0, 3, 3)):
        u = normal(nz, ny, nx, dtype=torch.float64)
        expected = u.clone()
        inner = (slice(1, -1),) * 3
        around = (
            sum(u.roll(shift, axis)[inner] for axis in range(3) for shift in (1, -1)) - 6 * u[inner]
        )
        expected[inner] += 0.1 * around
        yield Case(
            label=f"{nz} x {ny} x {nx}",
            spec=HEAT,
            operands=(u,),
            numbers={"alpha": 0.1},
            expected={"u_next": Near(expected, rtol=1e-14, atol=1e-14)},
        )


NBODY = KernelSpec(
    name="accelerations",
    source=source("nbody"),
    launches=(
        Launch(entry="accelerations", grid="cdiv(num_bodies, 32)", block=32, shared_bytes=32 * 16),
    ),
    operands=(
        Operand(name="bodies", shape="num_bodies 4", dtype="float32"),
        Operand(name="out", shape="num_bodies 3", dtype="float32", intent="out"),
    ),
    scalars=(Scalar(name="softening", dtype="float32"),),
    parameters=("bodies", "out", "num_bodies", "softening"),
)


def nbody() -> Cases:
    for num_bodies in (0, 1, 31, 32, 33, 100):
        bodies = normal(num_bodies, 4)
        places, masses = bodies[:, :3].double(), bodies[:, 3].double()
        r = places[None] - places[:, None]
        weight = masses * (r.square().sum(-1) + 0.01) ** -1.5
        yield Case(
            label=f"{num_bodies} bodies",
            spec=NBODY,
            operands=(bodies,),
            numbers={"softening": 0.01},
            expected={"out": Near((weight[..., None] * r).sum(1), rtol=1e-5, atol=1e-3)},
        )
