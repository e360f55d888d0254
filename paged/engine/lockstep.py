"""Two configurations at work on the same requests, compared token by token and op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from tqdm import tqdm

from paged.engine.difference import (
    Difference,
    MoveDifference,
    Tolerance,
    differing_site,
    end_difference,
    value_difference,
)
from paged.engine.llm_config import LLMConfig
from paged.engine.loaded_model import LoadedModel, load_model
from paged.engine.model_engine import make_engine
from paged.engine.moved_blocks import WrongMove
from paged.engine.request_maker import Prompt, RequestMaker
from paged.engine.trace import Token, TokenValues, Trace
from paged.errors import ConfigError, RequestFailed
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Finished
from paged.types import TokenArray

_OF_THE_MODEL = (
    *("model", "device", "dtype", "quantization", "kv_cache_dtype", "max_model_len"),
    "chat_template",
)


class Run:
    """One configuration and what it has computed of requests that are not over in both.

    num_tokens: computed so far, again ones included.
    values: of each request by position, as far as the model went.
    """

    def __init__(self, name: str, config: LLMConfig, model: LoadedModel) -> None:
        self.config = config
        self.model = model
        self.num_tokens = 0
        self.values: dict[str, dict[int, TokenValues]] = {}
        self.finished: dict[str, Finished] = {}
        self.name = name
        self._trace = Trace(model.params)
        self._engine = make_engine(config, model, on_failure=self._fail)
        self._engine.observers = (*self._engine.observers, self._trace)
        self._maker = RequestMaker(
            model.tokenizer,
            vocab_size=model.config.vocab_size,
            max_model_len=model.config.max_model_len,
            seed=config.seed,
        )

    def _fail(self, error: Exception) -> NoReturn:
        raise RequestFailed(f"{self.name} failed: {type(error).__name__}: {error}", []) from error

    @property
    def wrong_move(self) -> WrongMove | None:
        """Return the first block that arrived otherwise than it was."""
        return self._trace.wrong_move

    @property
    def has_work(self) -> bool:
        """Say whether a step would do anything."""
        return self._engine.has_work

    def add(self, prompt: Prompt, params: SamplingParams) -> TokenArray:
        """Queue a request and return its prompt. Raises as `RequestMaker.make`."""
        request = self._maker.make(prompt, params, arrival_s=0.0)
        self._engine.add_request(request)
        self.values[request.request_id] = {}
        return request.prompt_tokens

    def step(self) -> dict[Token, TokenValues]:
        """Run one step and return what it computed. Raises RequestFailed."""
        with self._trace.step():
            finished = self._engine.step()
        for each in finished:
            self.finished[each.request.request_id] = each
        computed = self._trace.computed
        self.num_tokens += len(computed)
        for token, values in computed.items():
            known = self.known(token)
            if known is None or len(known.values) <= len(values.values):
                self.values[token[0]][token[1]] = values
        return computed

    def known(self, token: Token) -> TokenValues | None:
        """Return what was computed of a token; None if it was not yet, or is not kept."""
        request_id, position = token
        return self.values.get(request_id, {}).get(position)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What came of a comparison.

    difference: the first; None where there is none.
    num_values: found equal before it; what is computed again is compared again.
    """

    difference: Difference | None
    num_values: int


class Lockstep:
    """Steps two runs so that neither is far ahead, and compares all they have in common.

    Tokens are known by request and position, so schedules may differ: chunks, preemptions,
    batches. What only one run computes, such as a prefix that the other has cached, is
    judged by what comes of it. The values of unfinished requests are kept in memory.
    """

    def __init__(self, a: Run, b: Run, tolerance: Tolerance) -> None:
        self._runs = (a, b)
        self._tolerance = tolerance
        self._num_values = 0

    def compare(self, *, show_progress: bool = False) -> Comparison:
        """Run to the first difference, or to the end.

        show_progress: a bar on standard error where it takes long.
        Raises: RequestFailed, ConfigError.
        """
        num_requests, is_hidden = len(self._runs[0].values), not show_progress
        with tqdm(total=num_requests, unit="request", delay=2, disable=is_hidden) as bar:
            difference = self._first_difference(bar.update)
        return Comparison(difference=difference, num_values=self._num_values)

    def _first_difference(self, on_end: Callable[[int], object]) -> Difference | None:
        a, b = self._runs
        while busy := [run for run in self._runs if run.has_work]:
            run = min(busy, key=lambda each: each.num_tokens)
            computed = run.step()
            if run.wrong_move is not None:
                return MoveDifference(run=run.name, move=run.wrong_move)
            difference = self._compare(run, computed)
            for request_id in [each for each in a.values if each in a.finished]:
                if difference is None and request_id in b.finished:
                    difference = end_difference(a.finished[request_id], b.finished[request_id])
                    del a.values[request_id], b.values[request_id]
                    on_end(1)
            if difference is not None:
                return difference
        return None

    def _compare(self, run: Run, computed: dict[Token, TokenValues]) -> Difference | None:
        """Compare what a run computed with what the other has of the same tokens."""
        a, b = self._runs
        found: list[tuple[int, Token, tuple[TokenValues, TokenValues]]] = []
        for token, values in computed.items():
            other = (b if run is a else a).known(token)
            if other is None:
                continue
            pair = (values, other) if run is a else (other, values)
            index = differing_site(*pair, self._tolerance)
            common = min(len(each.values) for each in pair) if index is None else index
            self._num_values += sum(map(len, values.values[:common]))
            if index is not None:
                found.append((index, token, pair))
        if not found:
            return None
        # of a step, the first operation and of that the first token
        index, token, pair = min(found, key=lambda each: each[0])
        sizes = (a.config.block_size, b.config.block_size)
        return value_difference(token, pair, index, tolerance=self._tolerance, block_sizes=sizes)


def compare(
    configs: tuple[LLMConfig, LLMConfig],
    prompts: Sequence[Prompt],
    params: SamplingParams,
    tolerance: Tolerance | None = None,
    *,
    show_progress: bool = False,
) -> Comparison:
    """Serve the same requests under two configurations, A and B, and find where they part.

    prompts: texts are read by the tokenizer of A. params: of every request; one sequence each.
    show_progress: as for `Lockstep.compare`.
    Raises: as `LLM`, RequestRefused and RequestFailed; ConfigError for models that compute
        different operations, and for requests of several sequences.
    """
    if params.num_sequences != 1 or params.prompt_logprobs is not None:
        raise ConfigError(
            "expected requests of one sequence without prompt_logprobs, for the tokens of each"
            " are compared by their position"
        )
    runs = _runs(*configs)
    for prompt in prompts:
        tokens = runs[0].add(prompt, params)
        runs[1].add(tokens.tolist(), params)
    return Lockstep(*runs, tolerance or Tolerance()).compare(show_progress=show_progress)


def _runs(a: LLMConfig, b: LLMConfig) -> tuple[Run, Run]:
    """Load both; one set of weights serves both where they are the same."""
    # the operations of a recorded step are not seen
    a, b = (replace(config, cuda_graph_sizes=()) for config in (a, b))
    model = load_model(a)
    is_shared = all(getattr(a, name) == getattr(b, name) for name in _OF_THE_MODEL)
    return Run("A", a, model), Run("B", b, model if is_shared else load_model(b))
