"""Known-wrong kernels: one text of a kernel or header changed, and the matrix must notice."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from paged.errors import KernelRunError
from paged.kernel.ops.attention import OP
from paged.kernel.ops.attention_cases import make_problem
from paged.kernel.spec import KernelSpec
from paged.kernel.variant import find_variant
from tests.helpers.attention_matrix import BUILDS, Build, matrix, run
from tests.helpers.cache_calls import mutant_of

CASES = matrix()


class Mutant(NamedTuple):
    """A wrong edit of one file."""

    variant: str
    file: str
    old: str
    new: str
    build: Build = BUILDS[0]


MUTANTS = {
    "the window has one key too many": Mutant(
        "v0", "visible_keys.cuh", "position - p.window + 1", "position - p.window"
    ),
    "the next key is seen": Mutant(
        "v0", "visible_keys.cuh", "min(position + 1LL, capacity)", "min(position + 2LL, capacity)"
    ),
    "the tokens of a sequence begin one late": Mutant(
        "v0", "visible_keys.cuh", "start[middle] <= token", "start[middle] < token"
    ),
    "keys before the window are scored": Mutant(
        "v0", "v0.cu", "if (seen.begin <= key && key < seen.end)", "if (key < seen.end)"
    ),
    "the query is taken for contiguous": Mutant(
        "v0", "v0.cu", "token * p.query_stride[0]", "token * p.num_q_heads * HEAD_DIM"
    ),
    "lse leaves out the maximum": Mutant(
        "v0", "softmax.cuh", "(maximum + log2f(sum)) * kLn2", "log2f(sum) * kLn2"
    ),
    "the softcap saturates elsewhere": Mutant(
        "v1", "softmax.cuh", "softcap * tanhf(score / softcap)", "softcap * tanhf(score)"
    ),
    "no keys weigh NaN": Mutant(
        "v1", "softmax.cuh", "logit == kMinusInfinity ? 0.0f : exp2f", "exp2f"
    ),
    "slots that are not visible are read": Mutant(
        "v1", "key_streams.cuh", "if (!keys.is_visible(depth) || dimension", "if (dimension"
    ),
    "slots that are not visible have a logit": Mutant(
        "v1", "key_streams.cuh", "keys.is_visible(depth) ? logit : kMinusInfinity", "logit"
    ),
    "warps are added without their maxima": Mutant(
        "v1", "attend.cuh", "value += factor * shared", "value += shared"
    ),
    "queries are read before they are there": Mutant(
        "v1", "attend.cuh", "queries.get());\n  __syncthreads();", "queries.get());"
    ),
    "a sink does not rescale the values": Mutant(
        "v1", "attend.cuh", "factor *= row.add_sink", "row.add_sink"
    ),
    "padding has a sink": Mutant("v1", "attend.cuh", " && !seen.is_padding", ""),
    "the scale of values is left out": Mutant(
        "v1", "attend.cuh", "kv_scale_of(p, kValues, kv_head)", "1.0f"
    ),
    "the stride of blocks is derived": Mutant(
        "v1g", "kv_rows.cuh", "* block_stride + slot", "* (slot_stride * divider.block_size) + slot"
    ),
    "every group has the slopes of the first": Mutant(
        "v1g", "attend.cuh", "p.alibi_slopes[heads.first + head]", "p.alibi_slopes[head]"
    ),
    "every group has the queries of the first": Mutant(
        "v1g", "head_tile.cuh", "{kv_head * GROUP_SIZE + first,", "{first,"
    ),
    "the last split is left out": Mutant(
        "v2", "v2.cu", "(seen.end - 1) / kSplitKeys + 1", "seen.end / kSplitKeys"
    ),
    "splits before the window are combined": Mutant(
        "v2", "v2.cu", "first = seen.begin / kSplitKeys", "first = 0", BUILDS[1]
    ),
    "splits are added without their maxima": Mutant(
        "v2", "v2.cu", "value += factor * partial", "value += partial"
    ),
}


def is_noticed(spec: KernelSpec, build: Build) -> bool:
    for case in CASES[build]:
        problem = make_problem(case)
        try:
            results = run(spec, problem)
        except KernelRunError:
            return True
        if problem.fault(*results) is not None:
            return True
    return False


@pytest.mark.parametrize("name", MUTANTS)
def test_the_matrix_notices(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    spec = find_variant(OP, mutant.variant).spec
    wrong = mutant_of(spec, tmp_path, mutant.file, mutant.old, mutant.new)
    assert is_noticed(wrong, mutant.build)
