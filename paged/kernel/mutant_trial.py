"""Mutants of the shipped kernels, sanitized: which are found, and which survive."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from paged.cache_dir import cache_dir, cache_key
from paged.errors import KernelCompileError, KernelRunError, SanitizerError
from paged.kernel.call import kernel_call
from paged.kernel.mutant_survivors import SURVIVORS, Survivor
from paged.kernel.mutation import MUTANT_CLASSES, Mutant, mutants_of
from paged.kernel.ops.problems import problems_of
from paged.kernel.problem import Problem, copied, results_of
from paged.kernel.registry import find_op
from paged.kernel.sanitize import SanitizeConfig
from paged.kernel.source import read_source
from paged.kernel.spec import INCLUDE_DIR, KernelSpec
from paged.kernel.variant import Variant, find_variant

TIMEOUT_S = 10.0
WRONG_RESULT = "wrong_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Files to mutate, and what is run to find the fault.

    Attributes:
        files: relative to the folder of the kernels' sources.
        problems: names; a mutant that the first does not find is tried on the next.

    """

    op: str
    variant: str
    files: tuple[str, ...]
    problems: tuple[str, ...]


DECODE, LONG, WINDOW = "decode, lengths around the block", "decode, long", "window"
RAGGED, ODD = "ragged prefill and decode", "float32, head_dim 80"
HEADS, FP8 = "softcap, alibi and sinks", "fp8 cache with scales"
SMALL, ROWS = "float16->float16 D64 BS16 tokens13", "float32->float32 D46 BS32 tokens1"
BY_LAYER = "bfloat16->bfloat16 D80 BS8 tokens13"
SUBJECTS = (
    Subject(op="attention", variant="v0", files=("attention/v0.cu",), problems=(WINDOW, ODD)),
    Subject(
        op="attention",
        variant="v1g",
        files=("include/attend.cuh", "include/key_streams.cuh", "include/visible_keys.cuh"),
        problems=(DECODE, HEADS, WINDOW, ODD),
    ),
    Subject(op="attention", variant="v2", files=("attention/v2.cu",), problems=(LONG, WINDOW)),
    Subject(
        op="attention",
        variant="prefill_tiled",
        files=("attention/prefill_tiled.cu", "include/half_tile.cuh"),
        problems=(RAGGED, LONG, FP8),
    ),
    Subject(
        op="attention",
        variant="prefill_naive",
        files=("attention/prefill_naive.cu",),
        problems=(RAGGED, LONG, WINDOW),
    ),
    Subject(
        op="write_kv", variant="vector", files=("cache/write_kv_vector.cu",), problems=(SMALL, ROWS)
    ),
    Subject(
        op="rope_write_kv",
        variant="vector",
        files=("cache/rope_write_kv_vector.cu", "include/rotary.cuh"),
        problems=(SMALL, ROWS),
    ),
    Subject(
        op="gather_kv",
        variant="vector",
        files=("cache/gather_kv_vector.cu", "include/gather.cuh"),
        problems=(SMALL, ROWS),
    ),
    Subject(
        op="copy_blocks",
        variant="vector",
        files=("cache/copy_blocks_vector.cu", "include/block_copy.cuh"),
        problems=(SMALL, BY_LAYER, ROWS),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How a mutant fared.

    Attributes:
        found: kind of the first finding, or WRONG_RESULT; None for a survivor.
        is_program: False where the compiler refused it.

    """

    mutant: Mutant
    subject: Subject
    found: str | None = None
    is_program: bool = True

    @property
    def survivor(self) -> Survivor | None:
        """What is known of a survivor; None for those that are found, and for others."""
        mutant = self.mutant
        known = (
            one
            for one in SURVIVORS
            if (mutant.path.name, mutant.code) == (one.file, one.code)
            and mutant.before in one.befores
        )
        return next(known, None) if self.is_program and self.found is None else None

    @property
    def is_fault(self) -> bool:
        """Whether there is something to find."""
        return self.is_program and (self.survivor is None or self.survivor.is_fault)

    @property
    def outcome(self) -> str:
        """One word for a list."""
        if not self.is_program:
            return "refused"
        return self.found or ("SURVIVED" if self.is_fault else "harmless")


def sample(num_each: int) -> list[tuple[Subject, Mutant]]:
    """Return so many mutants of each class, spread over all files; all of a smaller class."""
    root = INCLUDE_DIR.parent
    pairs = [
        (subject, mutant)
        for subject in SUBJECTS
        for file in subject.files
        for mutant in mutants_of(root / file, read_source(root / file))
    ]
    chosen: list[tuple[Subject, Mutant]] = []
    for what in MUTANT_CLASSES:
        own = [pair for pair in pairs if pair[1].what == what]
        num_chosen = min(num_each, len(own))
        chosen += [own[i * len(own) // num_chosen] for i in range(num_chosen)]
    return chosen


def try_mutants(pairs: Sequence[tuple[Subject, Mutant]], num_workers: int) -> Iterator[Trial]:
    """Yield how mutants fare, in their order; some are compiled and run at once."""
    with ThreadPoolExecutor(num_workers) as pool:
        subjects, mutants = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        yield from pool.map(try_mutant, subjects, mutants)


def try_mutant(subject: Subject, mutant: Mutant) -> Trial:
    """Run a mutant on its subject's problems until something is found."""
    variant = find_variant(find_op(subject.op), subject.variant)
    problems = {problem.name: problem for problem in problems_of(variant.op)}
    # a folder by content: what is compiled from it is found again
    folder = cache_dir("mutants") / cache_key(variant.name, mutant.path.name, mutant.text)
    spec = _planted(variant, mutant, folder)
    try:
        found = (_found(spec, problems[name]) for name in subject.problems)
        first = next((what for what in found if what is not None), None)
    except KernelCompileError:
        return Trial(mutant=mutant, subject=subject, is_program=False)
    finally:
        shutil.rmtree(folder)
    return Trial(mutant=mutant, subject=subject, found=first)


def _planted(variant: Variant, mutant: Mutant, folder: Path) -> KernelSpec:
    """Return the variant with the mutant's text in place of its file, in a folder of its own."""
    include = folder / INCLUDE_DIR.name
    shutil.copytree(INCLUDE_DIR, include, dirs_exist_ok=True)
    source = folder / variant.path.name
    shutil.copy(variant.path, source)
    target = source if mutant.path == variant.path else include / mutant.path.name
    target.write_text(mutant.text)
    return replace(variant.spec, source=source, include_dirs=(include,))


def _found(spec: KernelSpec, problem: Problem) -> str | None:
    operands = [None if t is None else copied(t, t.device) for t in problem.operands]
    config = SanitizeConfig(seeds=(), timeout_s=TIMEOUT_S)
    try:
        outputs = kernel_call(spec, *operands, interpret=config, **problem.numbers)
    except SanitizerError as error:
        return error.findings[0].kind
    except KernelRunError:
        return "crash"
    wrong = problem.judge(results_of(spec, operands, outputs))
    return None if wrong is None else WRONG_RESULT


def kill_table(trials: Sequence[Trial]) -> list[str]:
    """Return, by class, how many mutants were found, and by what: the sanitizer or the result.

    Those that are no programs, or harmless, are left out.
    """
    lines = [
        f"{'class':16}{'mutants':>8}{'sanitizer':>11}{'result':>8}{'survived':>10}{'found':>8}"
    ]
    faults = [trial for trial in trials if trial.is_fault]
    for what in (*MUTANT_CLASSES, "all"):
        own = [trial for trial in faults if what in (trial.mutant.what, "all")]
        if not own:
            lines.append(f"{what:16}{0:8}")
            continue
        num_wrong = sum(trial.found == WRONG_RESULT for trial in own)
        num_survived = sum(trial.found is None for trial in own)
        num_sanitized = len(own) - num_wrong - num_survived
        share = f"{1 - num_survived / len(own):.0%}"
        lines.append(
            f"{what:16}{len(own):8}{num_sanitized:11}{num_wrong:8}{num_survived:10}{share:>8}"
        )
    return lines
