"""Cases of the kernels of a transformer's layers that work row by row."""

from __future__ import annotations

import torch

from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from tests.helpers.ordinary.case import Case, Cases, Exact, Near, integers, normal, source

# half an ulp of the result's type, and a little for float32 arithmetic
ROUNDING = {torch.float32: 2e-6, torch.float16: 6e-4, torch.bfloat16: 4.5e-3}


SOFTMAX = KernelSpec(
    name="softmax",
    source=source("softmax"),
    launches=(Launch(entry="softmax<{element_t}, 64>", grid="num_rows", block=64),),
    operands=(
        Operand(name="logits", shape="num_rows num_columns", dtype="element_t"),
        Operand(name="out", shape="num_rows num_columns", dtype="element_t", intent="out"),
    ),
    types={"element_t": ("float32", "float16", "bfloat16")},
    parameters=("out", "logits", "num_columns"),
)


def softmax() -> Cases:
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for num_rows, num_columns in ((1, 1), (2, 63), (3, 64), (2, 501), (0, 5)):
            x = 5 * normal(num_rows, num_columns, dtype=dtype)
            x[:, : num_columns // 2 : 3] = -torch.inf
            expected = {"out": Near(x.double().softmax(1), rtol=2 * ROUNDING[dtype], atol=1e-7)}
            label = f"{num_rows} x {num_columns} {dtype}"
            yield Case(label=label, spec=SOFTMAX, operands=(x,), expected=expected)


LAYER_NORM = KernelSpec(
    name="layer_norm",
    source=source("layer_norm"),
    launches=(Launch(entry="layer_norm", grid="cdiv(num_rows, 4)", block=128),),
    operands=(
        Operand(name="out", shape="num_rows num_columns", dtype="float32", intent="out"),
        Operand(name="mean", shape="num_rows", dtype="float32", intent="out"),
        Operand(name="rstd", shape="num_rows", dtype="float32", intent="out"),
        Operand(name="values", shape="num_rows num_columns", dtype="float32"),
        Operand(name="weight", shape="num_columns", dtype="float32"),
        Operand(name="bias", shape="num_columns", dtype="float32"),
    ),
    scalars=(Scalar(name="epsilon", dtype="float32", default=1e-5),),
    parameters=(
        *("out", "mean", "rstd", "values", "weight", "bias"),
        *("num_rows", "num_columns", "epsilon"),
    ),
)


def layer_norm() -> Cases:
    for num_rows, num_columns in ((1, 1), (3, 5), (4, 32), (5, 257), (0, 8)):
        x = 3 + normal(num_rows, num_columns)
        weight, bias = normal(num_columns, seed=1), normal(num_columns, seed=2)
        y = torch.nn.functional.layer_norm(
            x.double(), (num_columns,), weight.double(), bias.double()
        )
        mean = x.double().mean(1, keepdim=True)
        rstd = ((x.double() - mean).square().mean(1) + 1e-5).rsqrt()
        yield Case(
            label=f"{num_rows} x {num_columns}",
            spec=LAYER_NORM,
            operands=(x, weight, bias),
            expected={
                "out": Near(y, rtol=1e-5, atol=1e-5),
                "mean": Near(mean[:, 0], rtol=1e-6),
                "rstd": Near(rstd, rtol=1e-5),
            },
        )


RMS_NORM = KernelSpec(
    name="fused_add_rms_norm",
    source=source("fused_add_rms_norm"),
    launches=(Launch(entry="fused_add_rms_norm", grid="num_tokens", block=96),),
    operands=(
        Operand(name="x", shape="num_tokens hidden_size", dtype="float16", intent="inout"),
        Operand(name="residual", shape="num_tokens hidden_size", dtype="float16", intent="inout"),
        Operand(name="weight", shape="hidden_size", dtype="float16"),
    ),
    scalars=(Scalar(name="epsilon", dtype="float32"),),
    requires=("hidden_size % 8 == 0",),
    parameters=("x", "residual", "weight", "epsilon", "hidden_size"),
)


def fused_add_rms_norm() -> Cases:
    for num_tokens, hidden_size in ((1, 8), (3, 264), (2, 1600), (0, 16)):
        x = normal(num_tokens, hidden_size, dtype=torch.float16)
        residual = normal(num_tokens, hidden_size, dtype=torch.float16, seed=1)
        weight = normal(hidden_size, dtype=torch.float16, seed=2)
        total = x + residual
        scale = (total.double().square().mean(1, keepdim=True) + 0.5).rsqrt()
        # two roundings to half precision: the normalised value, and its product
        normed = Near(total.double() * scale * weight.double(), rtol=1.2e-3, atol=1e-6)
        yield Case(
            label=f"{num_tokens} x {hidden_size}",
            spec=RMS_NORM,
            operands=(x, residual, weight),
            numbers={"epsilon": 0.5},
            expected={"residual": Exact(total), "x": normed},
        )


CROSS_ENTROPY = KernelSpec(
    name="cross_entropy",
    source=source("cross_entropy"),
    launches=(Launch(entry="cross_entropy<{element_t}, 64>", grid="num_rows", block=64),),
    operands=(
        Operand(name="logits", shape="num_rows vocabulary", dtype="element_t", intent="inout"),
        Operand(name="targets", shape="num_rows", dtype="int64"),
        Operand(name="losses", shape="num_rows", dtype="float32", intent="out"),
    ),
    types={"element_t": ("float32", "bfloat16")},
    scalars=(
        Scalar(name="ignore_index", dtype="int64", default=-100),
        Scalar(name="grad_scale", dtype="float32"),
    ),
    parameters=("logits", "targets", "losses", "vocabulary", "ignore_index", "grad_scale"),
)


def cross_entropy() -> Cases:
    for dtype in (torch.float32, torch.bfloat16):
        for num_rows, vocabulary in ((1, 1), (4, 63), (3, 1000), (0, 9)):
            logits = 3 * normal(num_rows, vocabulary, dtype=dtype)
            targets = integers(0, vocabulary, num_rows, dtype=torch.int64)
            targets[1:2] = -100
            exact = logits.double().requires_grad_()
            losses = torch.nn.functional.cross_entropy(exact, targets, reduction="none")
            (losses.sum() / 8).backward()
            assert exact.grad is not None
            yield Case(
                label=f"{num_rows} x {vocabulary} {dtype}",
                spec=CROSS_ENTROPY,
                operands=(logits, targets),
                numbers={"grad_scale": 1 / 8},
                expected={
                    "losses": Near(losses.detach(), rtol=1e-5, atol=1e-5),
                    "logits": Near(exact.grad, rtol=10 * ROUNDING[dtype], atol=1e-6),
                },
            )


ROTARY = KernelSpec(
    name="rotary",
    source=source("rotary"),
    launches=(Launch(entry="rotary", grid=("num_tokens", "num_heads"), block=32),),
    operands=(
        Operand(name="x", shape="num_tokens num_heads head_dim", dtype="float16", intent="inout"),
        Operand(name="positions", shape="num_tokens", dtype="int32"),
    ),
    symbols={"num_pairs": "head_dim // 2", "head_stride": "num_pairs"},
    scalars=(
        Scalar(name="token_stride", dtype="int64", value="num_heads * num_pairs"),
        Scalar(name="base", dtype="float32", default=10000.0),
    ),
    parameters=("x", "positions", "num_pairs", "token_stride", "head_stride", "base"),
)


def rotary() -> Cases:
    for num_tokens, num_heads, head_dim in ((1, 1, 2), (3, 2, 64), (2, 3, 80), (0, 1, 8)):
        x = normal(num_tokens, num_heads, head_dim, dtype=torch.float16)
        positions = integers(0, 300, num_tokens)
        pair = torch.arange(head_dim // 2, dtype=torch.float64)
        angle = positions[:, None, None] * 10000.0 ** (-2 * pair / head_dim)
        turned = torch.view_as_complex(x.double().unflatten(-1, (-1, 2))) * torch.polar(
            torch.ones_like(angle), angle
        )
        # float32 angles of up to 300 rad are off by up to 3e-5
        expected = {"x": Near(torch.view_as_real(turned).flatten(-2), rtol=1e-3, atol=5e-4)}
        label = f"{num_tokens} x {num_heads} x {head_dim}"
        yield Case(label=label, spec=ROTARY, operands=(x, positions), expected=expected)
