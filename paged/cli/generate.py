"""`paged generate`: text from a prompt, on standard output as it comes."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paged.cli.command import Action
from paged.cli.drawing_options import add_drawing_options, sampling_params
from paged.cli.model_options import add_model_options, model_config
from paged.sampling_params import SamplingParams

if TYPE_CHECKING:
    from paged.engine.generation import Generation
    from paged.engine.llm import LLM
    from paged.engine.outputs import SequenceOutput


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", metavar="PROMPT", help="a text; - reads standard input")
    parser.add_argument(
        "--chat",
        action="store_true",
        help="answer PROMPT as a user's message (default: continue it)",
    )
    add_drawing_options(parser)
    add_model_options(parser)
    # For one prompt, a small pool; outputs of it that are drawn together raise it.
    parser.set_defaults(max_num_seqs=1)


@dataclass(slots=True)
class _Times:
    """Moments of a run, in seconds of one clock."""

    started_s: float
    loaded_s: float = 0.0
    first_s: float | None = None

    def summary(
        self, now_s: float, num_prompt_tokens: int, outputs: Sequence[SequenceOutput]
    ) -> str:
        """Say what took how long, and why it ended."""
        first_s = now_s if self.first_s is None else self.first_s
        num_tokens = sum(len(output.tokens) for output in outputs)
        num_later = num_tokens - len(outputs)
        rate = ""
        if num_later > 0 and now_s > first_s:
            rate = f", then {num_later / (now_s - first_s):.1f} tokens/s"
        return (
            f"loaded in {self.loaded_s - self.started_s:.2f} s;"
            f" {num_prompt_tokens} prompt tokens in {first_s - self.loaded_s:.2f} s{rate};"
            f" {num_tokens} tokens; finish reason: {_reasons(outputs)}"
        )


def _reasons(outputs: Sequence[SequenceOutput]) -> str:
    """Name why outputs ended, with how many where there are several."""
    counts = Counter(_reason(output) for output in outputs)
    if len(outputs) == 1:
        return next(iter(counts))
    return ", ".join(f"{reason} ({count})" for reason, count in counts.items())


def _reason(output: SequenceOutput) -> str:
    if output.stopped_by is not None:
        return f"stop {output.stopped_by!r}"
    return "none" if output.reason is None else output.reason.value


def _run(arguments: Namespace) -> int:
    times = _Times(time.perf_counter())
    params = sampling_params(arguments)
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    print(f"loading {arguments.model}", file=sys.stderr, flush=True)
    llm = _load(arguments, params)
    times.loaded_s = time.perf_counter()
    return _write(llm, prompt, params, is_chat=arguments.chat, times=times)


def _load(arguments: Namespace, params: SamplingParams) -> LLM:
    from paged.engine.llm import LLM

    return LLM(model_config(arguments, max_num_seqs=max(arguments.max_num_seqs, params.n)))


def _write(llm: LLM, prompt: str, params: SamplingParams, *, is_chat: bool, times: _Times) -> int:
    """Print text as it comes, then the statistics; return the exit status."""
    if is_chat:
        pieces = llm.stream_chat([{"role": "user", "content": prompt}], params)
    else:
        pieces = llm.stream(prompt, params)
    outputs = _follow(pieces, params.n, times)
    print()
    now_s = time.perf_counter()
    error = next((output.error for output in outputs if output.error is not None), None)
    if error is not None:
        print(f"paged generate: error: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    num_prompt_tokens = sum(stream.request.num_prompt_tokens for stream in pieces.streams)
    print(times.summary(now_s, num_prompt_tokens, outputs), file=sys.stderr)
    return 0


def _follow(pieces: Generation, num_outputs: int, times: _Times) -> list[SequenceOutput]:
    """Print one output as it comes, and several one after the other at the end."""
    from paged.engine.outputs import SequenceOutput

    outputs = [SequenceOutput(index=index) for index in range(num_outputs)]
    for _, delta in pieces:
        if delta.tokens and times.first_s is None:
            times.first_s = time.perf_counter()
        outputs[delta.sequence_index].add(delta)
        if num_outputs == 1:
            sys.stdout.write(delta.text)
            sys.stdout.flush()
    if num_outputs > 1:
        headed = (f"[{output.index + 1} of {num_outputs}]\n{output.text}" for output in outputs)
        sys.stdout.write("\n".join(headed))
    return outputs


ACTION = Action(add_arguments=_add_arguments, run=_run)
