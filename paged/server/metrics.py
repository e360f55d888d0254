"""A report as Prometheus text: vLLM's metric names, and what is wasted, which are our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from paged.server.histogram import HistogramState
from paged.server.meter import Counts
from paged.server.shadow import ShadowState
from paged.server.snapshot import Snapshot
from paged.server.watch import Report

Labels = dict[str, str]

_COUNTERS = {
    "vllm:prompt_tokens": ("prompt_tokens", "Prompt tokens computed or found in the cache"),
    "vllm:generation_tokens": ("generation_tokens", "Tokens drawn"),
    "vllm:prefix_cache_queries": ("prefix_queries", "Prompt tokens looked up in the cache"),
    "vllm:prefix_cache_hits": ("prefix_hits", "Prompt tokens found in the cache"),
    "vllm:num_preemptions": ("preemptions", "Times a request lost its memory"),
    "paged:steps": ("steps", "Steps that ran"),
    "paged:recomputed_tokens": ("recomputed_tokens", "Tokens that preemptions threw away"),
    "paged:copied_blocks": ("copied_blocks", "Blocks copied because they were shared"),
}
_HISTOGRAMS = {
    "vllm:time_to_first_token_seconds": ("time_to_first_token_s", "Arrival to first token"),
    "vllm:inter_token_latency_seconds": ("inter_token_latency_s", "Between tokens of a sequence"),
    "vllm:e2e_request_latency_seconds": ("e2e_latency_s", "Arrival to the last token"),
    "vllm:request_queue_time_seconds": ("queue_time_s", "Arrival to admission"),
    "vllm:request_inference_time_seconds": ("inference_time_s", "Admission to the last token"),
    "vllm:request_prefill_time_seconds": ("prefill_time_s", "Admission to the first token"),
    "vllm:request_decode_time_seconds": ("decode_time_s", "First token to the last"),
    "vllm:request_prompt_tokens": ("prompt_tokens", "Prompt tokens of a request"),
    "vllm:request_generation_tokens": ("generation_tokens", "Tokens drawn for a sequence"),
    "vllm:iteration_tokens_total": ("step_tokens", "Tokens computed in a step"),
    "paged:step_seconds": ("step_s", "How long a step took"),
}


def render_metrics(report: Report, *, model_name: str) -> bytes:
    """Return the text that Prometheus scrapes."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(report, {"model_name": model_name}))
    return generate_latest(registry)


class _Families(Collector):
    """Families of metrics, made of one report."""

    def __init__(self, report: Report, labels: Labels) -> None:
        self._report = report
        self._labels = labels

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        report, labels = self._report, self._labels
        yield from _requests(report.snapshot, labels)
        yield from _memory(report, labels)
        yield from _counters(report.measured.counts, labels)
        yield _counter(
            "vllm:request_success",
            "Sequences that ended",
            report.measured.finished,
            "finished_reason",
            labels,
        )
        for name, (key, text) in _HISTOGRAMS.items():
            yield _histogram(name, text, report.measured.histograms[key], labels)
        yield from _shadows(report.shadows, labels)
        kernels = GaugeMetricFamily(
            "paged:kernel_info", "What serves an operation", labels=[*labels, "op", "variant"]
        )
        for op, variant in report.kernels.items():
            kernels.add_metric([*labels.values(), op, variant], 1)
        yield kernels


def _requests(snapshot: Snapshot, labels: Labels) -> Iterator[Metric]:
    num_waiting = snapshot.num_with("waiting") + snapshot.num_with("preempted")
    for name, text, value in (
        ("running", "Requests that take part in steps", snapshot.num_with("running")),
        ("waiting", "Requests in the queue", num_waiting),
        ("swapped", "Requests on the host", snapshot.num_with("swapped")),
    ):
        yield _gauge(f"vllm:num_requests_{name}", text, value, labels)


def _memory(report: Report, labels: Labels) -> Iterator[Metric]:
    snapshot = report.snapshot
    blocks = snapshot.block_counts()
    num_blocks = sum(blocks.values())
    used = (blocks["held"] + blocks["shared"]) / num_blocks
    yield _gauge("vllm:kv_cache_usage_perc", "Share of blocks held, 1 is all", used, labels)
    config = {
        "allocator": snapshot.allocator,
        "block_size": str(snapshot.block_size),
        "num_gpu_blocks": str(num_blocks),
    }
    yield _gauge("vllm:cache_config_info", "The KV pool", 1, labels | config)
    yield _gauges("paged:blocks", "Blocks by state", blocks, "state", labels)
    yield _gauges("paged:slots", "Slots by class", snapshot.slots, "class", labels)
    # No counter: what was unused is put into other classes once its sequence has ended.
    yield _gauges(
        "paged:slot_seconds", "Time of slots by class", report.slot_seconds, "class", labels
    )


def _counters(counts: Counts, labels: Labels) -> Iterator[Metric]:
    for name, (field, text) in _COUNTERS.items():
        yield _counter(name, text, {"": getattr(counts, field)}, None, labels)
    moved = {"out": counts.swapped_out_blocks, "in": counts.swapped_in_blocks}
    yield _counter(
        "paged:swapped_blocks", "Blocks moved to the host, or back", moved, "direction", labels
    )


def _shadows(shadows: tuple[ShadowState, ...], labels: Labels) -> Iterator[Metric]:
    if not shadows:
        return
    slots = GaugeMetricFamily(
        "paged:shadow_slots",
        "Slots by class, had another policy the same requests",
        labels=[*labels, "allocator", "class"],
    )
    requests = GaugeMetricFamily(
        "paged:shadow_requests",
        "Requests that another policy would hold, or let wait",
        labels=[*labels, "allocator", "state"],
    )
    refused = CounterMetricFamily(
        "paged:shadow_refused",
        "Requests that another policy could never hold",
        labels=[*labels, "allocator"],
    )
    for shadow in shadows:
        own = [*labels.values(), shadow.name]
        for name, value in shadow.classes.items():
            slots.add_metric([*own, name], value)
        requests.add_metric([*own, "held"], shadow.num_held)
        requests.add_metric([*own, "waiting"], shadow.num_waiting)
        refused.add_metric(own, shadow.num_refused)
    yield from (slots, requests, refused)


def _gauge(name: str, text: str, value: float, labels: Labels) -> Metric:
    family = GaugeMetricFamily(name, text, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family


def _gauges(
    name: str, text: str, values: Mapping[str, float], label: str, labels: Labels
) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[*labels, label])
    for key, value in values.items():
        family.add_metric([*labels.values(), key], value)
    return family


def _counter(
    name: str, text: str, values: Mapping[str, float], label: str | None, labels: Labels
) -> Metric:
    """Make a counter for each value, told apart by one more label; with None there is one."""
    names = [*labels] if label is None else [*labels, label]
    family = CounterMetricFamily(name, text, labels=names)
    for key, value in values.items():
        own = [*labels.values()] if label is None else [*labels.values(), key]
        family.add_metric(own, value)
    return family


def _histogram(name: str, text: str, state: HistogramState, labels: Labels) -> Metric:
    family = HistogramMetricFamily(name, text, labels=list(labels))
    buckets: list[tuple[str, float]] = []
    num_below = 0
    for bound, count in zip((*state.bounds, None), state.counts, strict=True):
        num_below += count
        buckets.append(("+Inf" if bound is None else str(bound), num_below))
    family.add_metric(list(labels.values()), buckets, state.total)
    return family
