"""Cases of the kernels of a transformer that mix tokens, look up rows or step an optimiser."""

from __future__ import annotations

import torch

from paged.kernel.spec import KernelSpec, Launch, Operand, Scalar
from tests.helpers.ordinary.case import Case, Cases, Exact, Near, integers, normal, source

BF16_HALF_ULP = 2.0**-8


def _flash_spec(*, is_causal: bool) -> KernelSpec:
    query, key = "batch num_heads num_queries head_dim", "batch num_heads num_keys head_dim"
    return KernelSpec(
        name="flash_causal" if is_causal else "flash",
        source=source("flash_attention"),
        launches=(
            Launch(
                entry=f"flash_attention<64, {str(is_causal).lower()}>",
                grid=("cdiv(num_queries, 32)", "num_heads", "batch"),
                block=32,
                shared_bytes="2 * 32 * head_dim * 2 + 32 * 33 * 4",
            ),
        ),
        operands=(
            Operand(name="q", shape=query, dtype="bfloat16"),
            Operand(name="k", shape=key, dtype="bfloat16"),
            Operand(name="v", shape=key, dtype="bfloat16"),
            Operand(name="out", shape=query, dtype="bfloat16", intent="out"),
            Operand(name="lse", shape="batch num_heads num_queries", dtype="float32", intent="out"),
        ),
        scalars=(Scalar(name="scale", dtype="float32"),),
        requires=("head_dim == 64",),
        parameters=("q", "k", "v", "out", "lse", "num_queries", "num_keys", "scale"),
    )


FLASH = {is_causal: _flash_spec(is_causal=is_causal) for is_causal in (False, True)}


def flash_attention() -> Cases:
    shapes = (
        (1, 1, 1, 1),
        (2, 2, 33, 33),
        (1, 2, 5, 70),
        (1, 1, 40, 8),
        (1, 1, 3, 0),
        (0, 1, 2, 2),
    )
    for batch, num_heads, num_queries, num_keys in shapes:
        q = normal(batch, num_heads, num_queries, 64, dtype=torch.bfloat16)
        k = normal(batch, num_heads, num_keys, 64, dtype=torch.bfloat16, seed=1)
        v = normal(batch, num_heads, num_keys, 64, dtype=torch.bfloat16, seed=2)
        for is_causal, spec in FLASH.items():
            scores = q.double() @ k.double().transpose(2, 3) / 8
            if is_causal:
                visible = torch.ones(num_queries, num_keys).tril(num_keys - num_queries).bool()
                scores = scores.masked_fill(~visible, -torch.inf)
            weights = scores.softmax(-1).nan_to_num(0)  # a row without keys gives zeros
            yield Case(
                label=f"{batch} x {num_heads} x {num_queries} x {num_keys}",
                spec=spec,
                operands=(q, k, v),
                numbers={"scale": 1 / 8},
                expected={
                    "out": Near(weights @ v.double(), rtol=BF16_HALF_ULP, atol=1e-5),
                    "lse": Near(scores.logsumexp(-1), rtol=1e-5, atol=1e-5),
                },
            )


ADAMW = KernelSpec(
    name="fused_adamw",
    source=source("fused_adamw"),
    launches=(Launch(entry="fused_adamw", grid="min(cdiv(n, 64), 3)", block=64),),
    operands=(
        Operand(name="params", shape="n", dtype="bfloat16", intent="inout"),
        Operand(name="grads", shape="n", dtype="bfloat16"),
        Operand(name="m_state", shape="n", dtype="float32", intent="inout"),
        Operand(name="v_state", shape="n", dtype="float32", intent="inout"),
    ),
    scalars=(
        Scalar(name="num_params", dtype="uint64", value="n"),
        *(Scalar(name=name, dtype="float32") for name in ("learning_rate", "beta1", "beta2")),
        *(Scalar(name=name, dtype="float32") for name in ("epsilon", "weight_decay")),
        Scalar(name="step", dtype="int32"),
    ),
)


def fused_adamw() -> Cases:
    rate, epsilon, decay = 0.01, 0.125, 0.1
    # careful: 1 - 0.999 as float32 has it differs by 5e-5
    beta1, beta2 = torch.tensor([0.9, 0.999]).tolist()
    for n, step in ((0, 1), (1, 1), (64, 2), (500, 10)):
        params, grads = (normal(n, dtype=torch.bfloat16, seed=s) for s in (0, 1))
        m, v = normal(n, seed=2), normal(n, seed=3).square()
        new_m = beta1 * m.double() + (1 - beta1) * grads.double()
        new_v = beta2 * v.double() + (1 - beta2) * grads.double().square()
        ratio = new_m / (1 - beta1**step) / ((new_v / (1 - beta2**step)).sqrt() + epsilon)
        new_params = params.double() * (1 - rate * decay) - rate * ratio
        yield Case(
            label=f"{n} parameters, step {step}",
            spec=ADAMW,
            operands=(params, grads, m, v),
            numbers={
                "learning_rate": rate, "beta1": beta1, "beta2": beta2,
                "epsilon": epsilon, "weight_decay": decay, "step": step,
            },
            expected={
                "m_state": Near(new_m, rtol=1e-5, atol=1e-6),
                "v_state": Near(new_v, rtol=1e-5),
                "params": Near(new_params, rtol=BF16_HALF_ULP, atol=1e-6),
            },
        )  # fmt: skip


_IDS = Operand(name="ids", shape="num_tokens", dtype="index_t")
_NUM_PAIRS = {"num_pairs": "num_columns // 2"}
EMBEDDING = KernelSpec(
    name="embedding_forward",
    source=source("embedding"),
    launches=(Launch(entry="embedding_forward<{index_t}>", grid="num_tokens", block=32),),
    operands=(
        Operand(name="out", shape="num_tokens num_columns", dtype="float16", intent="out"),
        Operand(name="table", shape="num_rows num_columns", dtype="float16"),
        _IDS,
    ),
    types={"index_t": ("int32", "int64")},
    symbols=_NUM_PAIRS,
    requires=("num_columns % 2 == 0",),
    parameters=("out", "table", "ids", "num_pairs"),
)
EMBEDDING_BACKWARD = KernelSpec(
    name="embedding_backward",
    source=source("embedding"),
    launches=(Launch(entry="embedding_backward<{index_t}>", grid="num_tokens", block=32),),
    operands=(
        Operand(name="grad_table", shape="num_rows num_columns", dtype="float16", intent="inout"),
        Operand(name="grad_out", shape="num_tokens num_columns", dtype="float16"),
        _IDS,
    ),
    types={"index_t": ("int32", "int64")},
    symbols=_NUM_PAIRS,
    requires=("num_columns % 2 == 0",),
    parameters=("grad_table", "grad_out", "ids", "num_pairs"),
)


def embedding() -> Cases:
    for dtype in (torch.int32, torch.int64):
        for num_tokens, num_columns in ((1, 2), (7, 64), (40, 70), (0, 8)):
            table = normal(5, num_columns, dtype=torch.float16)
            ids = integers(-1, 5, num_tokens, dtype=dtype)
            label = f"{num_tokens} x {num_columns} {dtype}"
            rows = torch.where(ids[:, None] < 0, 0, table[ids.long().clamp(min=0)])
            expected = {"out": Exact(rows)}
            yield Case(label=label, spec=EMBEDDING, operands=(table, ids), expected=expected)
            # small integers, so that sums in half precision are exact in any order
            grads = integers(-8, 9, num_tokens, num_columns, dtype=torch.float16, seed=1)
            total = integers(-8, 9, 5, num_columns, dtype=torch.float16, seed=2)
            summed = total.double().index_add(0, ids[ids >= 0].long(), grads[ids >= 0].double())
            yield Case(
                label=label,
                spec=EMBEDDING_BACKWARD,
                operands=(total, grads, ids),
                expected={"grad_table": Near(summed, rtol=0)},
            )


def _quantise_spec(element: str) -> KernelSpec:
    cuda = {"float32": "float", "bfloat16": "__nv_bfloat16"}[element]
    return KernelSpec(
        name=f"quantize_{element}",
        source=source("quantize_fp8"),
        launches=(Launch(entry=f"quantize_rows<{cuda}>", grid="cdiv(num_rows, 4)", block=(32, 4)),),
        operands=(
            Operand(name="values", shape="num_rows num_columns", dtype=element),
            Operand(name="out", shape="num_rows num_columns", dtype="float8_e4m3fn", intent="out"),
            Operand(name="scales", shape="num_rows", dtype="float32", intent="out"),
        ),
        requires=("num_columns % 4 == 0",),
        parameters=("values", "out", "scales", "num_rows", "num_columns"),
    )


QUANTISE = {
    torch.float32: _quantise_spec("float32"),
    torch.bfloat16: _quantise_spec("bfloat16"),
}
DEQUANTISE = KernelSpec(
    name="dequantize_rows",
    source=source("quantize_fp8"),
    launches=(
        Launch(entry="dequantize_rows", grid=("num_rows", "cdiv(num_columns, 64)"), block=64),
    ),
    operands=(
        Operand(name="values", shape="num_rows num_columns", dtype="float8_e4m3fn"),
        Operand(name="scales", shape="num_rows", dtype="float32"),
        Operand(name="out", shape="num_rows num_columns", dtype="float32", intent="out"),
    ),
    parameters=("values", "scales", "out", "num_columns"),
)


def quantize_fp8() -> Cases:
    for dtype, spec in QUANTISE.items():
        for num_rows, num_columns in ((1, 4), (5, 68), (3, 300), (0, 8)):
            x = normal(num_rows, num_columns, dtype=dtype)
            x[1:2] = 0
            scales = (x.float().abs().amax(1) / 448).clamp(min=1e-12)
            packed = (x.float() / scales[:, None]).to(torch.float8_e4m3fn)
            label = f"{num_rows} x {num_columns} {dtype}"
            expected = {"out": Exact(packed), "scales": Exact(scales)}
            yield Case(label=label, spec=spec, operands=(x,), expected=expected)
            expected = {"out": Exact(packed.float() * scales[:, None])}
            yield Case(label=label, spec=DEQUANTISE, operands=(packed, scales), expected=expected)
