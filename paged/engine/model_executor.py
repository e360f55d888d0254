"""The executor that computes a model and draws from its logits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch

from model_zoo import transformer
from model_zoo.config import ModelConfig
from model_zoo.params import ModelParams
from model_zoo.registry import find_family
from paged.engine.block_moves import BlockMover
from paged.engine.copy_lane import find_lane
from paged.engine.decode_graphs import DecodeGraphs
from paged.engine.decode_inputs import DecodeInputs
from paged.engine.grammar_compiler import GrammarCompiler
from paged.engine.grammar_rows import GrammarRows
from paged.engine.graph_capture import Capture
from paged.engine.interrupts import breakable
from paged.engine.kv_pool import KVPools
from paged.engine.logprobs import logprobs_of
from paged.engine.model_inputs import ModelInputs
from paged.engine.sampler import Sampled, sample
from paged.engine.sampling_table import SamplingTable
from paged.engine.searches import BeamSearches, with_searches
from paged.engine.step_draws import DrawPlanner, StepDraws
from paged.engine.step_result import ModelStepResult, PromptLogprobs, places_of
from paged.engine.torch_threads import one_torch_thread
from paged.errors import ConfigError
from paged.kernel.backends.host import find_host
from paged.kernel.choice import Choices, current_choices, in_force
from paged.scheduler.batch import Admitted, Batch
from paged.types import IndexArray


class _Computed(NamedTuple):
    """Logits, and what the model's call was."""

    logits: torch.Tensor
    model_s: float
    num_given_tokens: int


class ModelExecutor:
    """One rank that holds a model and its KV pools, and runs batches.

    forward: computes logits; what times or records it may stand in its place, though decode that
        is recorded goes on with the one it was recorded with.
    searches: beam searches of the running batch; an observer for the engine.
    choices: the kernels that serve it; None for those in force where `execute` is called.
    graph_sizes: batch sizes that decode is recorded at, by `capture`; none without it.
    Rows are learnt from `batch.admitted`, so one executor serves one scheduler.
    """

    def __init__(
        self,
        config: ModelConfig,
        params: ModelParams,
        pools: KVPools,
        *,
        max_rows: int,
        max_tokens: int,
        eos_ids: Iterable[int],
        grammars: GrammarCompiler,
        choices: Choices | None = None,
        graph_sizes: Sequence[int] = (),
        capture: Capture | None = None,
    ) -> None:
        self.config = config
        self.params = params
        self.pools = pools
        self.forward = find_family(config.family).forward or transformer.forward
        self._eos_ids = frozenset(eos_ids)
        self._choices = choices
        block_size = pools.device[0].shape[4]
        self._inputs = ModelInputs(
            max_tokens=max_tokens,
            max_rows=max_rows,
            max_blocks_per_row=-(-config.max_model_len // block_size),
            num_groups=len(config.kv_groups),
            device=pools.device[0].device,
        )
        self._mover = BlockMover(pools, find_lane(pools.device[0].device))
        self._graphs = self._make_graphs(graph_sizes, capture)
        self._table = SamplingTable(max_rows)
        self._grammars = GrammarRows(max_rows, grammars)
        self._planner = DrawPlanner(max_rows)
        self.searches = BeamSearches(
            max_rows, vocab_size=config.vocab_size, max_model_len=config.max_model_len
        )

    def execute(self, batch: Batch) -> ModelStepResult:
        """Move blocks, compute the tokens of a step and draw what is due.

        Mutates: the KV pools.
        Raises: all that kernels raise; BadLogits.
        """
        started_s = perf_counter()
        for admitted in batch.admitted:
            self._admit(admitted)
        with torch.inference_mode(), self._kernels(), self._threads():
            self._mover.move(batch)
            if not batch.num_seqs:
                return _nothing_drawn(perf_counter() - started_s)
            draws = self._planner.plan(batch)
            with breakable():
                computed = self._compute(batch, draws)
            return self._draw(batch, draws, computed, started_s)

    def record_graphs(self) -> None:
        """Record decode at all sizes, so that no step has to.

        Raises: all that kernels raise.
        """
        if self._graphs is not None:
            with torch.inference_mode(), self._kernels():
                self._graphs.record_all()

    def rehearse_graphs(self) -> None:
        """Compute the largest step that is recorded, without recording it.

        Raises: all that kernels raise.
        """
        if self._graphs is not None:
            with torch.inference_mode(), self._kernels():
                self._graphs.rehearse()

    def _make_graphs(self, sizes: Sequence[int], capture: Capture | None) -> DecodeGraphs | None:
        if capture is None or not sizes:
            return None
        inputs = DecodeInputs(
            max_rows=sizes[-1],
            max_blocks_per_row=-(-self.config.max_model_len // self.pools.device[0].shape[4]),
            num_groups=len(self.config.kv_groups),
            device=self.pools.device[0].device,
        )
        # careful: no method of this object, or the pools would live until the next collection
        compute = partial(self.forward, self.params, self.config, self.pools.device)
        vocab_size = self.config.vocab_size
        return DecodeGraphs(compute, inputs, capture, sizes=sizes, vocab_size=vocab_size)

    def _compute(self, batch: Batch, draws: StepDraws) -> _Computed:
        graphs = self._graphs
        if graphs is None or not graphs.serves(batch):
            inputs = self._inputs.make(batch, draws.logit_rows)
            begin_s = perf_counter()
            logits = self.forward(self.params, self.config, self.pools.device, inputs)
            return _Computed(logits, perf_counter() - begin_s, batch.num_tokens)
        size = graphs.prepare(batch)
        begin_s = perf_counter()
        logits = graphs.run(size)[: batch.num_seqs]
        model_s = perf_counter() - begin_s
        if draws.logit_rows is not None:
            logits = logits[torch.from_numpy(draws.logit_rows).to(logits.device)]  # pyright: ignore[reportUnknownMemberType]
        return _Computed(logits, model_s, size)

    def _kernels(self) -> AbstractContextManager[None]:
        return nullcontext() if self._choices is None else in_force(self._choices)

    def _threads(self) -> AbstractContextManager[None]:
        is_cpu = self.pools.device[0].device.type == "cpu"
        is_host = is_cpu and find_host(current_choices().host) is not None
        return one_torch_thread() if is_host else nullcontext()

    def _admit(self, admitted: Admitted) -> None:
        request = admitted.request
        if request.sampling is None or request.sampling.seed is None:
            raise ConfigError(
                f"request {request.request_id}: a model draws by sampling parameters with a seed;"
                " make the request with a RequestMaker"
            )
        self._planner.admit(admitted)
        self.searches.admit(admitted, self._eos_ids)
        self._grammars.admit(admitted, self._eos_ids)
        self._table.admit(
            admitted.rows,
            admitted.sequence_indices,
            request.sampling,
            seed=request.sampling.seed,
            num_prompt_tokens=request.num_prompt_tokens,
            eos_ids=self._eos_ids,
        )

    def _draw(
        self, batch: Batch, draws: StepDraws, computed: _Computed, started_s: float
    ) -> ModelStepResult:
        logits = computed.logits
        to_draw = logits[: draws.num_logits] if draws.prompts else logits
        if draws.places is not None:
            to_draw = to_draw[torch.from_numpy(draws.places).to(logits.device)]  # pyright: ignore[reportUnknownMemberType]
        sampled, logprob_places = self._sample(batch, draws, to_draw)
        result = ModelStepResult(
            tokens=sampled.tokens,
            is_stopped=self._table.is_stopped(draws.rows, sampled.tokens),
            duration_s=perf_counter() - started_s,
            logprobs=sampled.logprobs,
            logprob_places=logprob_places,
            prompts=_prompt_logprobs(batch, draws, logits),
            grammar_ends=self._grammars.advance(draws, sampled.tokens),
            model_s=computed.model_s,
            num_given_tokens=computed.num_given_tokens,
        )
        steps = self.searches.advance(to_draw, draws, batch)
        return with_searches(result, steps) if steps else result

    def _sample(
        self, batch: Batch, draws: StepDraws, logits: torch.Tensor
    ) -> tuple[Sampled, IndexArray | None]:
        """Draw for all sequences; what is drawn for beams is replaced later."""
        if not len(draws.rows):
            return _NOTHING, None
        rows = self._table.select(
            draws.rows,
            tokens=batch.tokens,
            token_rows=draws.token_rows,
            num_tokens=draws.num_tokens,
        )
        sampled = sample(logits, self._grammars.constrain(rows, draws, batch.tokens))
        if sampled.logprobs is None:
            return sampled, None
        return sampled, places_of(rows.logprob_rows, len(draws.rows))


_NOTHING = Sampled(tokens=np.zeros(0, np.int32), logprobs=None)


def _nothing_drawn(duration_s: float) -> ModelStepResult:
    return ModelStepResult(
        tokens=_NOTHING.tokens, is_stopped=np.zeros(0, np.bool_), duration_s=duration_s
    )


def _prompt_logprobs(
    batch: Batch, draws: StepDraws, logits: torch.Tensor
) -> tuple[PromptLogprobs, ...]:
    found: list[PromptLogprobs] = []
    begin = draws.num_logits
    for span in draws.prompts:
        tokens = batch.tokens[span.row, span.first : span.first + span.count]
        num_top = np.full(span.count, span.num_top, np.int64)
        logprobs = logprobs_of(logits[begin : begin + span.count], tokens, num_top)
        found.append(PromptLogprobs(row=span.row, first=span.first, logprobs=logprobs))
        begin += span.count
    return tuple(found)
