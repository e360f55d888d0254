"""A report as JSON: the block map and what goes with it."""

from __future__ import annotations

from typing import Any

from paged.server.histogram import HistogramState
from paged.server.meter import Measured
from paged.server.shadow import ShadowState
from paged.server.snapshot import PoolView, RequestView, SequenceView, TableView
from paged.server.watch import Report

STATUSES = ("running", "waiting", "preempted", "swapped")
_LATENCIES = ("time_to_first_token_s", "inter_token_latency_s", "e2e_latency_s", "step_s")


def block_map(report: Report, *, model_name: str) -> dict[str, Any]:
    """Return what `GET /v1/blocks` answers.

    A block that no sequence holds and that is not cached is free; a block is shared where
    several hold it. Who holds it is told by the tables of the requests.
    """
    snapshot = report.snapshot
    return {
        "object": "block_map",
        "model": model_name,
        "time_s": snapshot.now_s,
        "allocator": snapshot.allocator,
        "block_size": snapshot.block_size,
        "num_blocks": sum(len(pool.references) for pool in snapshot.pools),
        "counts": snapshot.block_counts(),
        "pools": [_pool(pool) for pool in snapshot.pools],
        "statuses": {status: snapshot.num_with(status) for status in STATUSES},
        "requests": [_request(request, snapshot.now_s) for request in snapshot.requests],
        "slots": snapshot.slots,
        "slot_seconds": report.slot_seconds,
        "shadows": [_shadow(shadow) for shadow in report.shadows],
        "kernels": dict(report.kernels),
        **_measured(report.measured),
    }


def _pool(pool: PoolView) -> dict[str, Any]:
    return {
        "num_blocks": len(pool.references),
        "counts": pool.counts(),
        "references": pool.references.tolist(),
        "cached": pool.cached.tolist(),
    }


def _request(request: RequestView, now_s: float) -> dict[str, Any]:
    return {
        "id": request.request_id,
        "status": request.status,
        "age_s": max(0.0, now_s - request.arrival_s),
        "num_prompt_tokens": request.num_prompt_tokens,
        "max_new_tokens": request.max_new_tokens,
        "num_preemptions": request.num_preemptions,
        "sequences": [_sequence(sequence) for sequence in request.sequences],
    }


def _sequence(sequence: SequenceView) -> dict[str, Any]:
    return {
        "index": sequence.index,
        "num_tokens": sequence.num_tokens,
        "tables": [_table(table) for table in sequence.tables],
    }


def _table(table: TableView) -> dict[str, Any]:
    """Blocks on the host are null."""
    pairs = zip(table.blocks.tolist(), table.is_resident.tolist(), strict=True)
    return {
        "first": table.first,
        "blocks": [block if is_resident else None for block, is_resident in pairs],
    }


def _shadow(shadow: ShadowState) -> dict[str, Any]:
    return {
        "allocator": shadow.name,
        "capacity": shadow.capacity,
        "slots": shadow.classes,
        "num_held": shadow.num_held,
        "num_waiting": shadow.num_waiting,
        "num_refused": shadow.num_refused,
        "num_preempted": shadow.num_preempted,
    }


def _measured(measured: Measured) -> dict[str, Any]:
    counts = measured.counts
    return {
        "totals": {name: getattr(counts, name) for name in counts.__slots__},
        "finished": measured.finished,
        "latencies": {name: _latency(measured.histograms[name]) for name in _LATENCIES},
        "copies": [
            {"step": copy.step, "pool": copy.group, "from": copy.src, "to": copy.dst}
            for copy in measured.copies
        ],
    }


def _latency(state: HistogramState) -> dict[str, float | None]:
    """Quantiles of the latest values, and count and sum of all."""
    median, high = state.recent_quantiles(0.5, 0.99)
    return {"count": state.num_values, "sum": state.total, "p50": median, "p99": high}
