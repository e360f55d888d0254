"""From options to what is simulated: requests, pool, trials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from experiments.options import MAX_KV_SLOTS, Options
from experiments.sim.closed_forms import paged_batch
from experiments.sim.setup import Setup, Trial
from experiments.workload import SYNTHETIC, Workload, from_quantiles, load_trace, make_arrivals
from paged.errors import ConfigError
from paged.hardware import GPUS, HardwareSpec, find_gpu, kv_slots
from paged.shapes import MODELS, ModelShape, find_shape

BLOCK_SIZES = (1, 8, 16, 32, 64, 128, 256)
WATERMARKS = (0.0, 0.01, 0.05, 0.10)
QUICK_BLOCK_SIZES = (16, 64, 256)
QUICK_WATERMARKS = (0.01, 0.10)
# A sweep compares settings on the same requests, so fewer seeds tell them apart.
MAX_SWEEP_SEEDS = 2

COMPLETIONS = 550
QUICK_COMPLETIONS = 60
# Measured: warm-up completes about two batches of requests, the drain one.
BATCHES_OUTSIDE_WINDOW = 3
LENGTH_SAMPLE = 4_096
# The engine keeps an int32 for each, in memory that is taken as it is written.
MAX_ROW_TOKENS = 2**32

# Source: vLLM paper, table 1: what OPT-13B leaves of an A100-40GB.
PAPER_MODEL, PAPER_GPU, PAPER_KV_GIB, PAPER_MAX_MODEL_LEN = "opt-13b", "a100-40gb", 12.0, 2_048
TRACE_MODEL, TRACE_GPU = "llama-3-8b", "h100-sxm"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """All that is simulated.

    workloads: requests by seed.
    headline: trials of fragmentation.csv; block_sizes and watermarks are the sweeps.
    """

    setup: Setup
    workloads: dict[int, Workload]
    headline: tuple[Trial, ...]
    block_sizes: tuple[Trial, ...]
    watermarks: tuple[Trial, ...]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial once: the sweeps pass through the headline's setting."""
        return tuple(dict.fromkeys((*self.headline, *self.block_sizes, *self.watermarks)))


def make_plan(options: Options) -> Plan:
    """Load or size the workload, set the pool and list the trials.

    Raises: ConfigError, WorkloadError for anything that could not be run to the end.
    """
    seeds = range(options.seed, options.seed + _num_seeds(options))
    model, gpu = _machine(options)
    slots = _kv_slots(options, model, gpu)
    if slots > MAX_KV_SLOTS:
        raise ConfigError(
            f"the KV pool would have {slots} slots, expected at most {MAX_KV_SLOTS};"
            " give fewer by --kv-slots or --kv-gib"
        )
    source = load_trace(options.trace) if options.trace else _draw(options, 0, LENGTH_SAMPLE)
    max_model_len = options.max_model_len or _longest(options, source)
    _require_rows(options.max_num_seqs, max_model_len)
    source = _bare(source.fit(max_model_len))
    num_requests = _num_requests(options, source, slots)
    setup = Setup(
        model=model,
        gpu=gpu,
        kv_slots=slots,
        max_model_len=max_model_len,
        max_num_seqs=options.max_num_seqs,
        max_num_batched_tokens=options.max_num_batched_tokens,
        page_bytes=options.page_kib * 1024,
        arrivals=options.arrivals,
        rate_per_s=options.rate,
        step_time_model=options.step_time,
    )
    plan = Plan(
        setup=setup,
        workloads={
            seed: _requests(options, source, seed, num_requests, max_model_len) for seed in seeds
        },
        headline=_headline(options, seeds),
        block_sizes=_block_sizes(options, setup, seeds[:MAX_SWEEP_SEEDS]),
        watermarks=_watermarks(options, seeds[:MAX_SWEEP_SEEDS]),
    )
    for seed, workload in plan.workloads.items():
        # Arrivals that a run could not draw are refused before any run starts.
        make_arrivals(options.arrivals, workload, seed=seed, rate_per_s=options.rate)
    for trial in plan.trials:
        if trial.seed == options.seed:
            setup.require_room(trial)
    return plan


def _num_seeds(options: Options) -> int:
    """Replays of a trace hold no chance, but for Poisson arrivals: one seed is enough."""
    return options.seeds or (1 if options.quick or options.trace else 3)


def _machine(options: Options) -> tuple[ModelShape, HardwareSpec]:
    model = options.model or (PAPER_MODEL if options.is_builtin else TRACE_MODEL)
    gpu = options.gpu or (PAPER_GPU if options.is_builtin else TRACE_GPU)
    return find_shape(model), find_gpu(gpu)


def _kv_slots(options: Options, model: ModelShape, gpu: HardwareSpec) -> int:
    if options.kv_slots is not None:
        return options.kv_slots
    kv_gib = options.kv_gib
    if kv_gib is None and model is MODELS[PAPER_MODEL] and gpu is GPUS[PAPER_GPU]:
        kv_gib = PAPER_KV_GIB
    if kv_gib is None:
        return kv_slots(model, gpu)
    slots = int(kv_gib * 2**30) // model.kv_bytes_per_token
    if slots < 1:
        raise ConfigError(
            f"--kv-gib {kv_gib} is less than one token of {model.name}"
            f" ({model.kv_bytes_per_token} bytes); raise it"
        )
    return slots


def _require_rows(max_num_seqs: int, max_model_len: int) -> None:
    """Raise ConfigError for tables of tokens and blocks that no memory holds."""
    if max_num_seqs * max_model_len > MAX_ROW_TOKENS:
        raise ConfigError(
            f"expected at most {MAX_ROW_TOKENS} tokens in all requests that may run at once,"
            f" got {max_num_seqs} x {max_model_len}; lower --max-num-seqs or --max-model-len"
        )


def _draw(options: Options, seed: int, num_requests: int) -> Workload:
    if options.cdf is not None:
        return from_quantiles(
            options.cdf, seed=seed, num_requests=num_requests, model=options.cdf_model
        )
    return SYNTHETIC[options.workload or "sharegpt-like"](seed, num_requests)


def _longest(options: Options, source: Workload) -> int:
    """Limit that drops no request of a trace; the paper's for the built-in workloads."""
    if options.is_builtin:
        return PAPER_MAX_MODEL_LEN
    longest = int((source.prompt_tokens + source.output_tokens).max())
    return max(PAPER_MAX_MODEL_LEN, 1 << (longest - 1).bit_length())


def _num_requests(options: Options, source: Workload, slots: int) -> int:
    """Enough for the completions wanted once every allocator's pool is warm."""
    if options.num_requests is not None:
        return options.num_requests
    if options.trace is not None and not options.quick:
        return len(source)
    lengths = source.prompt_tokens, source.output_tokens
    batch = min(paged_batch(slots, options.block_size, *lengths), options.max_num_seqs)
    completions = QUICK_COMPLETIONS if options.quick else COMPLETIONS
    return completions + BATCHES_OUTSIDE_WINDOW * round(batch)


def _requests(
    options: Options, source: Workload, seed: int, num_requests: int, max_model_len: int
) -> Workload:
    if options.trace is not None:
        return source.head(num_requests)
    return _draw(options, seed, num_requests).fit(max_model_len)


def _bare(workload: Workload) -> Workload:
    """Leave prompt contents out: they are large, and nothing is shared here."""
    return replace(workload, prompt_block_ids=None, output_block_ids=None, hash_block_size=None)


def _headline(options: Options, seeds: Iterable[int]) -> tuple[Trial, ...]:
    return tuple(
        Trial(
            allocator=name,
            seed=seed,
            block_size=options.block_size,
            watermark=options.watermark,
        )
        for name in options.allocators
        for seed in seeds
    )


def _has_sweeps(options: Options) -> bool:
    return "paged" in options.allocators and not options.no_ablations


def _block_sizes(options: Options, setup: Setup, seeds: Iterable[int]) -> tuple[Trial, ...]:
    """Sweep the block size of `paged` as far as whole blocks leave room for a request."""
    if not _has_sweeps(options):
        return ()
    sizes = sorted({*(QUICK_BLOCK_SIZES if options.quick else BLOCK_SIZES), options.block_size})
    trials = (
        Trial(allocator="paged", seed=seed, block_size=size, watermark=options.watermark)
        for size in sizes
        for seed in seeds
    )
    return tuple(one for one in trials if setup.capacity_slots(one) >= setup.max_model_len)


def _watermarks(options: Options, seeds: Iterable[int]) -> tuple[Trial, ...]:
    if not _has_sweeps(options):
        return ()
    shares = sorted({*(QUICK_WATERMARKS if options.quick else WATERMARKS), options.watermark})
    return tuple(
        Trial(allocator="paged", seed=seed, block_size=options.block_size, watermark=share)
        for share in shares
        for seed in seeds
    )
