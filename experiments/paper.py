"""Numbers printed in the vLLM paper, beside which our own results are shown.

Source: "Efficient Memory Management for Large Language Model Serving with
PagedAttention", SOSP'23, arXiv 2309.06180: section 6.1 (set-up), Figures 2 and 13.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "arXiv 2309.06180 (SOSP'23), Figure 2 and Figure 13 (ShareGPT, 2 requests/s)"
WORKLOAD = "sharegpt-like"
MODEL = "OPT-13B on A100-40GB"
# 12 GiB of KV at 2 * 40 layers * 5120 * 2 bytes = 819,200 bytes per token
CAPACITY_SLOTS = 15_728
MAX_MODEL_LEN = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """One system of Figure 2 and its mean batch of Figure 13.

    Units: shares in % of the KV pool; None where the paper does not print a value.
    others_pct: external fragmentation and others, the paper's word for round-up + free.
    is_batch_comparable: False where the batch was limited by arrivals, not by memory.
    """

    system: str
    token_pct: float
    reserved_pct: float | None
    internal_pct: float | None
    others_pct: float | None
    mean_batch: float
    is_batch_comparable: bool = True

    def boundaries_pct(self) -> list[float]:
        """Stack the classes that the paper prints from 0 % and return where each ends."""
        ends = [self.token_pct]
        for share in (self.reserved_pct, self.internal_pct):
            if share is not None:
                ends.append(ends[-1] + share)
        return ends


# Max and Pow2 sum to 99.9 in print; vLLM's other 3.7 % are not split.
ROWS: dict[str, PaperRow] = {
    "reserved-max": PaperRow(
        system="Orca (Max)",
        token_pct=20.4,
        reserved_pct=13.3,
        internal_pct=57.3,
        others_pct=8.9,
        mean_batch=7.00,
    ),
    "reserved-pow2": PaperRow(
        system="Orca (Pow2)",
        token_pct=26.8,
        reserved_pct=17.9,
        internal_pct=13.6,
        others_pct=41.6,
        mean_batch=9.81,
    ),
    "reserved-oracle": PaperRow(
        system="Orca (Oracle)",
        token_pct=38.2,
        reserved_pct=25.2,
        internal_pct=None,
        others_pct=36.6,
        mean_batch=13.62,
    ),
    "paged": PaperRow(
        system="vLLM",
        token_pct=96.3,
        reserved_pct=None,
        internal_pct=None,
        others_pct=None,
        mean_batch=30.42,
        is_batch_comparable=False,
    ),
}

BATCH_NOTE = (
    "The paper's vLLM batch (30.42) was limited by arrivals at 2 requests/s: it is not what"
    " the memory could hold and must not be compared with a saturated run."
)


def is_paper_setup(
    *, workload: str, capacity_slots: int, block_size: int, max_model_len: int | None
) -> bool:
    """Say whether a run has the pool and lengths of the paper's Figure 2.

    The pool may be short of the paper's by less than one block, for capacity rounds
    down to whole blocks. max_model_len: None where the run did not record it.
    """
    missing_slots = CAPACITY_SLOTS - capacity_slots
    return (
        workload == WORKLOAD
        and 0 <= missing_slots < block_size
        and max_model_len in (None, MAX_MODEL_LEN)
    )
