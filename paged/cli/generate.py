"""`paged generate`: text from a prompt, on standard output as it comes."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paged.cli.command import Command
from paged.cli.model_options import add_model_options, model_config
from paged.sampling_params import SamplingParams

if TYPE_CHECKING:
    from paged.engine.llm import LLM


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", metavar="PROMPT", help="a text; - reads standard input")
    parser.add_argument("--chat", action="store_true", help="answer PROMPT as a user's message")
    drawing = parser.add_argument_group("drawing")
    drawing.add_argument("--max-tokens", type=int, default=256, metavar="N")
    drawing.add_argument("--temperature", type=float, default=0.0, metavar="T", help="0: greedy")
    drawing.add_argument("--top-p", type=float, default=1.0, metavar="P")
    drawing.add_argument("--top-k", type=int, metavar="K")
    drawing.add_argument("--stop", action="append", default=[], metavar="TEXT")
    drawing.add_argument("--ignore-eos", action="store_true")
    add_model_options(parser)


@dataclass(slots=True)
class _Times:
    """Moments of a run, in seconds of one clock."""

    started_s: float
    loaded_s: float = 0.0
    first_s: float | None = None
    num_tokens: int = 0

    def summary(self, now_s: float, num_prompt_tokens: int) -> str:
        """Say what took how long."""
        first_s = now_s if self.first_s is None else self.first_s
        rate = ""
        if self.num_tokens > 1 and now_s > first_s:
            rate = f", then {(self.num_tokens - 1) / (now_s - first_s):.1f} tokens/s"
        return (
            f"loaded in {self.loaded_s - self.started_s:.2f} s;"
            f" {num_prompt_tokens} prompt tokens in {first_s - self.loaded_s:.2f} s{rate};"
            f" {self.num_tokens} tokens"
        )


def _run(arguments: Namespace) -> int:
    times = _Times(time.perf_counter())
    params = SamplingParams(
        temperature=arguments.temperature,
        top_p=arguments.top_p,
        top_k=arguments.top_k,
        max_tokens=arguments.max_tokens,
        stop=arguments.stop,
        ignore_eos=arguments.ignore_eos,
    )
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    print(f"loading {arguments.model}", file=sys.stderr, flush=True)
    llm = _load(arguments)
    times.loaded_s = time.perf_counter()
    return _write(llm, prompt, params, is_chat=arguments.chat, times=times)


def _load(arguments: Namespace) -> LLM:
    from paged.engine.llm import LLM

    return LLM(model_config(arguments, max_num_seqs=1))


def _write(llm: LLM, prompt: str, params: SamplingParams, *, is_chat: bool, times: _Times) -> int:
    """Print text as it comes, then the statistics; return the exit status."""
    if is_chat:
        pieces = llm.stream_chat([{"role": "user", "content": prompt}], params)
    else:
        pieces = llm.stream(prompt, params)
    error: BaseException | None = None
    num_prompt_tokens = sum(stream.request.num_prompt_tokens for stream in pieces.streams)
    for _, delta in pieces:
        if delta.tokens and times.first_s is None:
            times.first_s = time.perf_counter()
        times.num_tokens += len(delta.tokens)
        sys.stdout.write(delta.text)
        sys.stdout.flush()
        error = error or delta.error
    print()
    if error is not None:
        print(f"paged generate: error: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(times.summary(time.perf_counter(), num_prompt_tokens), file=sys.stderr)
    return 0


COMMAND = Command(
    name="generate",
    summary="generate text from a prompt",
    add_arguments=_add_arguments,
    run=_run,
)
