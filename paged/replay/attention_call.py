"""The attention call of a recorded step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paged.kernel.measure.contents import random_tensor
from paged.kernel.measure.workloads import judge_attention
from paged.kernel.ops.attention_cases import AttentionProblem
from paged.kernel.problem import Problem
from paged.replay.seen_pool import pool_and_tables
from paged.replay.shape import ReplayShape
from paged.replay.step_problem import StepProblem, StepSource, size_text
from paged.scheduler.batch import Batch


def attention(batch: Batch, shape: ReplayShape, source: StepSource) -> Iterator[StepProblem]:
    """Yield the call of one layer, where the step computes anything."""
    if not batch.num_seqs:
        return
    generator = source.generator()
    pool, tables = pool_and_tables(batch, shape, source, generator)
    num_heads = shape.num_kv_heads * shape.group_size
    query = random_tensor((batch.num_tokens, num_heads, shape.head_dim), shape.q_t, generator)
    call = AttentionProblem(
        operands=(
            *(query, pool, tables, source.on_device(batch.seq_lens, np.int32)),
            source.on_device(batch.query_start, np.int32),
            *(None, None, None),
        ),
        numbers={
            "layer": 0,
            "max_query_len": int(batch.num_scheduled.max()),
            "scale": shape.head_dim**-0.5,
            "window": shape.window,
            "softcap": None,
        },
    )
    yield StepProblem(
        place=source.place,
        text=size_text(batch, source.place),
        problem=Problem(
            name=f"step {source.place}",
            operands=call.operands,
            numbers=call.numbers,
            judge=lambda results: judge_attention(call, results),
        ),
        # an error is that of out: lse is judged by another measure
        exact=lambda: call.exact[:1],
    )
