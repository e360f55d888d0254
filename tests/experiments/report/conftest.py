"""A results folder as the main job writes it, small and made by hand."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

CLASSES = ("token", "reserved", "internal", "rounding", "cached_free", "free")
HEADLINE = {
    # token, reserved, internal, rounding, cached-free, free; batch, preemptions, index
    "reserved-max": ((20.5, 13.7, 56.9, 0.0, 0.0, 8.9), 7.0, 0.0, 0.0),
    "reserved-pow2": ((28.0, 18.4, 14.8, 0.0, 0.0, 38.8), 9.7, 0.0, 0.62),
    "reserved-oracle": ((38.1, 25.0, 0.0, 20.4, 0.0, 16.5), 13.4, 0.0, 0.55),
    "reserved-oracle-best-fit": ((51.3, 34.0, 0.0, 0.0, 0.0, 14.7), 17.4, 0.0, 0.71),
    "virtual": ((93.6, 3.1, 0.2, 0.0, 1.9, 1.2), 32.0, 0.9, None),
    "paged": ((97.1, 1.6, 0.0, 0.0, 0.0, 1.3), 34.3, 1.1, None),
}
BLOCK_SIZES = {1: 98.5, 8: 97.8, 16: 97.1, 32: 95.4, 64: 92.2, 128: 86.4, 256: 77.1}
WATERMARKS = {0.0: (97.2, 1.9), 0.01: (97.1, 1.1), 0.05: (95.0, 0.29), 0.1: (91.2, 0.08)}
SEEDS = (0, 1, 2)
RUN = {
    "experiment": "fragmentation",
    "config": {
        "model": "opt-13b",
        "gpu": "a100-40gb",
        "max_model_len": 2048,
        "max_num_batched_tokens": None,
        "arrivals": "saturated",
        "block_size": 16,
    },
    "seeds": list(SEEDS),
    "workload": {
        "name": "sharegpt-like",
        "source": "synthetic <b>&</b> seeded",
        "rows_read": 2400,
        "rows_kept": 2300,
        "rows_dropped": {"prompt + output exceeds max_model_len 2048": 100},
    },
    "versions": {"numpy": "2.4.6"},
}


def _write(path: Path, rows: Iterable[dict[str, object]]) -> None:
    rows = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _summary_row(
    allocator: str, seed: int, shares: tuple[float, ...], batch: float, preemptions: float
) -> dict[str, object]:
    shift = 0.3 * (seed - 1)  # seeds 0, 1, 2: mean unchanged, sample deviation 0.3
    moved = dict(zip(CLASSES, shares, strict=True))
    moved["token"] += shift
    moved["free"] -= shift
    return {
        "workload": "sharegpt-like",
        "allocator": allocator,
        "block_size": 16,
        "seed": seed,
        "capacity_slots": 15728,
        **{f"{name}_pct": f"{share:.4f}" for name, share in moved.items()},
        "mean_batch": f"{batch:.4f}",
        "preemptions_per_completion": f"{preemptions:.4f}",
        "waiting_share_pct": "99.5000",
        "window_start_s": "60.0000",
        "window_end_s": "500.0000",
    }


def _series(allocator: str, rng: np.random.Generator) -> Iterable[dict[str, object]]:
    shares, batch, preemptions, index = HEADLINE[allocator]
    total = 0.0
    for step in range(300):
        ramp = min(1.0, step / 25) * min(1.0, (299 - step) / 40)
        noise = rng.normal(0.0, 0.01)
        used = [share * max(0.0, ramp * (0.985 + noise)) for share in shares[:-1]]
        total += preemptions * 2 * ramp
        yield {
            "allocator": allocator,
            "t_s": f"{step * 2.0:.3f}",
            **{f"{name}_pct": f"{x:.4f}" for name, x in zip(CLASSES, used, strict=False)},
            "free_pct": f"{100 - sum(used):.4f}",
            "running": f"{batch * ramp:.3f}",
            "waiting": max(0, 500 - 2 * step),
            "preemptions": f"{total:.0f}",
            "external_fragmentation_index": "" if index is None else f"{index + noise:.4f}",
        }


def _holes(allocator: str) -> Iterable[dict[str, object]]:
    for power in range(4, 13):
        yield {
            "allocator": allocator,
            "run_slots_low": 2**power,
            "run_slots_high": 2 ** (power + 1) - 16,
            "mean_count": f"{(14 - power) * (1 + len(allocator) % 3) / 4:.4f}",
        }


@pytest.fixture
def write_results(tmp_path: Path) -> Callable[..., Path]:
    """Write a results folder with these allocators; call it again to overwrite."""

    def write(*allocators: str, is_minimal: bool = False) -> Path:
        folder = tmp_path / "results"
        folder.mkdir(exist_ok=True)
        names = allocators or tuple(HEADLINE)
        _write(
            folder / "fragmentation.csv",
            [_summary_row(name, seed, *HEADLINE[name][:3]) for name in names for seed in SEEDS],
        )
        if not is_minimal:
            _write_optional(folder, names)
        return folder

    return write


def _write_optional(folder: Path, names: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    _write(folder / "timeseries.csv", [row for name in names for row in _series(name, rng)])
    contiguous = [name for name in names if HEADLINE[name][3] is not None]
    if contiguous:
        _write(folder / "holes.csv", [row for name in contiguous for row in _holes(name)])
    _write(
        folder / "block_size.csv",
        [
            _summary_row("paged", seed, (token, 98.7 - token, 0.0, 0.0, 0.0, 1.3), 34.3, 1.1)
            | {"block_size": size, "capacity_slots": 15728 // size * size}
            for size, token in BLOCK_SIZES.items()
            for seed in SEEDS
        ],
    )
    _write(
        folder / "watermark.csv",
        [
            _summary_row("paged", seed, (token, 1.6, 0.0, 0.0, 0.0, 98.4 - token), 34.0, cost)
            | {"watermark": watermark}
            for watermark, (token, cost) in WATERMARKS.items()
            for seed in SEEDS
        ],
    )
    (folder / "run.json").write_text(json.dumps(RUN), encoding="utf-8")
