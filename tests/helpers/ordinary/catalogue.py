"""Every ordinary kernel with its cases: one file of `tests/kernels_cu/ordinary/` each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.helpers.ordinary import lists, matrices, norms, reductions, sequences
from tests.helpers.ordinary.case import Cases

ORDINARY: Mapping[str, Callable[[], Cases]] = {
    cases.__name__: cases
    for cases in (
        reductions.row_reduce,
        reductions.grid_reduce,
        reductions.scan_lookback,
        reductions.scan_blelloch,
        reductions.histogram,
        reductions.argmax,
        norms.softmax,
        norms.layer_norm,
        norms.fused_add_rms_norm,
        norms.cross_entropy,
        norms.rotary,
        matrices.transpose,
        matrices.gemm_tiled,
        matrices.gemm_int8,
        matrices.conv2d,
        matrices.stencil3d,
        matrices.nbody,
        sequences.flash_attention,
        sequences.fused_adamw,
        sequences.embedding,
        sequences.quantize_fp8,
        lists.bitonic_top_k,
        lists.radix_partition,
        lists.dropout_philox,
        lists.spmv_csr,
        lists.pipelined_scale,
        lists.compact,
        lists.checked_gather,
    )
}
