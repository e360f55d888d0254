"""The run behind `python -m experiments.batching`: measure, fit, predict, write, summarise."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np
from tqdm import tqdm

from experiments.batching_options import BatchingOptions
from experiments.live.arm import Arm, measure, predict, real_arm
from experiments.live.fit import fit_steps
from experiments.live.ragged import OUTPUT_TOKENS, PROMPT_TOKENS, RaggedLoad, draw_ragged
from experiments.live.steps import Steps, median_of
from experiments.live.trial import Trial
from experiments.output import published, require_writable
from experiments.report.batching import batching_table, write_batching_report
from experiments.results import versions, write_csv
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.engine.step_time import AffineStepTime
from paged.errors import ConfigError, check

BLOCK_SIZE = 16

Measured = dict[tuple[int, str], list[Steps]]
"""Every round's steps, by seed and allocator."""


def run(options: BatchingOptions) -> None:
    """Measure, predict, write the results folder and print the summary.

    Raises: ConfigError, ModelFileError for bad input; nothing is written.
    """
    require_writable(options.folder)
    config = _config(options)
    loaded = load_model(config)
    loads = {
        seed: draw_ragged(seed, options.load_size, vocab_size=loaded.config.vocab_size)
        for seed in range(options.seed, options.seed + options.seeds)
    }
    with published(options.folder) as directory:
        step_time, trials = _trials(options, config, loaded, loads)
        rows = [trial.row() for trial in trials]
        write_csv(directory / "batching.csv", tuple(rows[0]), rows)
        steps = list(_step_rows(trials))
        write_csv(directory / "steps.csv", tuple(steps[0]), steps)
        text = json.dumps(_describe(options, config, loads, step_time, trials), indent=2)
        (directory / "run.json").write_text(text + "\n", encoding="utf-8")
        write_batching_report(directory)
        table = batching_table(directory).render()
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print(table)
        print(f"report: {options.folder / 'report.html'}")


def _config(options: BatchingOptions) -> LLMConfig:
    least = PROMPT_TOKENS[1] + OUTPUT_TOKENS[1]
    if not least <= options.max_model_len <= options.pool_slots:
        raise ConfigError(
            f"--max-model-len must be from {least}, the longest request, to --kv-slots,"
            f" {options.pool_slots}; got {options.max_model_len}"
        )
    return LLMConfig(
        model=options.model,
        device="cpu",
        dtype=options.dtype,
        block_size=BLOCK_SIZE,
        num_gpu_blocks_override=options.pool_slots // BLOCK_SIZE,
        max_model_len=options.max_model_len,
        max_num_seqs=options.max_num_seqs,
        # A static batch starts in one step, so a smaller budget would limit it and no other.
        max_num_batched_tokens=options.max_num_seqs * PROMPT_TOKENS[1],
        enable_prefix_caching=False,
        num_threads=options.threads,
    )


def _trials(
    options: BatchingOptions,
    config: LLMConfig,
    loaded: LoadedModel,
    loads: Mapping[int, RaggedLoad],
) -> tuple[AffineStepTime, list[Trial]]:
    """Measure all arms in turn, fit to the first half of one, predict all."""
    measured = _measure_all(options, config, loaded, loads)
    medians = {key: median_of(rounds) for key, rounds in measured.items()}
    fitted = (options.seed, options.fit)
    num_fitted = len(medians[fitted]) // 2
    step_time = fit_steps(medians[fitted], num_steps=num_fitted)
    trials: list[Trial] = []
    for (seed, allocator), steps in medians.items():
        arm = Arm.of(config, allocator)
        trial = Trial(
            allocator=allocator,
            batching=arm.scheduler.batching,
            seed=seed,
            rounds_s=tuple(float(each.step_s.sum()) for each in measured[seed, allocator]),
            measured=steps,
            predicted=predict(arm, loads[seed], step_time),
            first_scored=num_fitted if (seed, allocator) == fitted else 0,
        )
        trials.append(trial)
    return step_time, trials


def _measure_all(
    options: BatchingOptions,
    config: LLMConfig,
    loaded: LoadedModel,
    loads: Mapping[int, RaggedLoad],
) -> Measured:
    """Run the arms in turn, round after round, so that a slow minute slows all of them."""
    arms = {name: real_arm(config, loaded, name) for name in options.allocators}
    # once, and counted for no arm: what the process keeps from its first run on
    measure(next(iter(arms.values())), next(iter(loads.values())))
    measured: Measured = {(seed, name): [] for seed in loads for name in arms}
    num_runs = options.num_rounds * len(measured)
    with tqdm(total=num_runs, unit="run", dynamic_ncols=True) as progress:
        for _ in range(options.num_rounds):
            for (seed, name), rounds in measured.items():
                progress.set_postfix_str(name)
                rounds.append(measure(arms[name], loads[seed]))
                check(rounds[-1].has_work_of(rounds[0]), f"{name}: two runs had different steps")
                progress.update()
    return measured


def _step_rows(trials: Sequence[Trial]) -> Iterator[dict[str, str | int | float]]:
    for trial in trials:
        measured = trial.measured
        columns = {
            **measured.work,
            "padding_tokens": measured.padding_tokens,
            "step_s": measured.step_s,
            "model_s": measured.model_s,
            "predicted_s": trial.predicted.step_s,
        }
        for step, values in enumerate(np.stack(list(columns.values()), axis=1).tolist()):
            yield {
                "allocator": trial.allocator,
                "seed": trial.seed,
                "step": step,
                **dict(zip(columns, values, strict=True)),
            }


def _describe(
    options: BatchingOptions,
    config: LLMConfig,
    loads: Mapping[int, RaggedLoad],
    step_time: AffineStepTime,
    trials: Sequence[Trial],
) -> dict[str, object]:
    """Say what was run, on what, and every round's time."""
    load = next(iter(loads.values()))
    return {
        "experiment": "batching",
        "command": options.command,
        "config": {**asdict(config), "kernels": dict(config.kernels)},
        "kv_slots": options.pool_slots,
        "rounds": options.num_rounds,
        "seeds": list(loads),
        "workload": {
            "requests": len(load.prompts),
            "prompt_tokens": list(PROMPT_TOKENS),
            "output_tokens": list(OUTPUT_TOKENS),
            "tokens_drawn": {str(seed): each.num_output_tokens for seed, each in loads.items()},
        },
        "fitted_to": options.fit,
        "step_time": asdict(step_time),
        "run_s": {
            f"{trial.allocator}, seed {trial.seed}": list(trial.rounds_s) for trial in trials
        },
        "machine": {
            "processor": platform.machine(),
            "num_cpus": os.cpu_count(),
            "load_average_1min": os.getloadavg()[0],
        },
        "versions": versions(),
    }
