"""A results folder of the batching experiment, written by hand."""

from __future__ import annotations

import json
from pathlib import Path

HEADER = (
    "allocator,batching,seed,tokens_per_s,mean_batch,padding_pct,idle_pct,no_model_pct,work_pct,"
    "scored_tokens_per_s,predicted_tokens_per_s,rate_difference_pct,batch_difference_pct"
)
ROWS = (
    "paged,continuous,0,100,8,0,0,10,90,100,103,3,1",
    "paged,continuous,1,120,10,0,0,10,90,120,114,-5,1",
    "static,static,0,50,4,0,30,10,60,48,54,12.5,1",
)
RUN = {
    "command": "python -m experiments.batching --model tiny",
    "config": {"model": "<tiny>", "dtype": "auto", "max_model_len": 512, "max_num_seqs": 8},
    "workload": {"requests": 6, "prompt_tokens": [32, 256], "output_tokens": [16, 256]},
    "kv_slots": 1024,
    "rounds": 1,
    "seeds": [0, 1],
    "fitted_to": "static",
}


def write_batching_results(directory: Path) -> None:
    """Write the files that a report is drawn from."""
    (directory / "batching.csv").write_text("\n".join((HEADER, *ROWS, "")))
    steps = [
        f"{allocator},0,{step},{4 - step},0.5"
        for allocator in ("paged", "static")
        for step in range(4)
    ]
    (directory / "steps.csv").write_text("\n".join(("allocator,seed,step,seqs,step_s", *steps, "")))
    (directory / "run.json").write_text(json.dumps(RUN))
