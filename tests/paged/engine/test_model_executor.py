"""The executor on the tiny model: logits of the right tokens, draws, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from model_zoo.transformer import forward
from paged.engine.engine import Engine, give_up
from paged.engine.llm_config import LLMConfig
from paged.engine.model_engine import make_engine
from paged.engine.model_executor import ModelExecutor
from paged.engine.step_result import ModelStepResult
from paged.errors import BadLogits, ConfigError
from paged.kernel.backends.host import HostConfig
from paged.kernel.choice import current_choices
from paged.sampling_params import SamplingParams
from paged.scheduler.batch import Batch, StepResult
from paged.scheduler.request import Request
from paged.scheduler.scheduler import Scheduler
from tests.helpers.tiny_llm import tiny_model


class _Results:
    """Observer that keeps what the executor answers."""

    def __init__(self) -> None:
        self.results: list[ModelStepResult] = []

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        assert isinstance(result, ModelStepResult)
        self.results.append(result)

    def on_finished(self, *_: object, **__: object) -> None: ...


def _engine(**options: Any) -> tuple[Engine, ModelExecutor, _Results]:
    values: dict[str, Any] = {"num_gpu_blocks_override": 40, "block_size": 4}
    # recorded decode passes by whatever stands in the place of the model
    values |= {"max_num_seqs": 4, "cuda_graph_sizes": ()} | options
    engine = make_engine(LLMConfig(model="tiny", **values), tiny_model(), on_failure=give_up)
    results = _Results()
    engine.observers = (results,)
    assert isinstance(engine.executor, ModelExecutor)
    return engine, engine.executor, results


def _request(name: str, text: str = "hello", num_new: int = 3, **sampling: Any) -> Request:
    params = SamplingParams(**({"temperature": 0.0, "seed": 1} | sampling))
    return Request(
        request_id=name,
        prompt_tokens=np.frombuffer(text.encode(), np.uint8).astype(np.int32),
        max_new_tokens=num_new,
        num_sequences=params.num_sequences,
        sampling=params,
    )


def test_greedy_draws_are_the_best_of_the_models_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, executor, results = _engine()
    seen: list[torch.Tensor] = []

    def watched(*operands: Any) -> torch.Tensor:
        seen.append(forward(*operands))
        return seen[-1]

    monkeypatch.setattr(executor, "forward", watched)
    for name in "ab":
        engine.add_request(_request(name))
    engine.step()
    engine.step()
    assert [len(logits) for logits in seen] == [2, 2]
    for logits, result in zip(seen, results.results, strict=True):
        assert result.tokens.tolist() == logits.argmax(1).tolist()
        assert result.duration_s > 0


def test_a_chunk_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, _, results = _engine(max_num_batched_tokens=3)
    engine.add_request(_request("a"))
    engine.step()
    engine.step()
    assert [len(result.tokens) for result in results.results] == [0, 1]


def test_a_group_draws_different_tokens_from_one_row_of_logits() -> None:
    engine, _, results = _engine()
    engine.add_request(_request("a", n=4, temperature=2.0, seed=3))
    engine.step()
    (result,) = results.results
    assert len(set(result.tokens.tolist())) > 1


def test_only_those_who_ask_get_log_probabilities() -> None:
    engine, _, results = _engine()
    engine.add_request(_request("a"))
    engine.add_request(_request("b", logprobs=2))
    engine.step()
    (result,) = results.results
    assert result.logprob_places is not None
    assert result.logprob_places.tolist() == [-1, 0]
    assert result.logprobs is not None
    assert result.logprobs.tokens.tolist() == [result.tokens[1]]


def test_prompts_are_reported_to_those_who_ask() -> None:
    engine, _, results = _engine()
    engine.add_request(_request("a"))
    engine.add_request(_request("b", "abcd", prompt_logprobs=1))
    engine.step()
    ((report,),) = [result.prompts for result in results.results]
    assert (report.row, report.first) == (1, 1)
    assert report.logprobs.tokens.tolist() == list(b"bcd")


def test_the_models_own_end_stops_a_sequence_unless_it_is_ignored() -> None:
    engine, _, results = _engine()
    end = min(tiny_model().tokenizer.eos_ids)
    engine.add_request(_request("a", logit_bias={end: 100.0}))
    engine.add_request(_request("b", logit_bias={end: 100.0}, ignore_eos=True))
    engine.step()
    (result,) = results.results
    assert result.tokens.tolist() == [end, end]
    assert result.is_stopped.tolist() == [True, False]


@pytest.mark.parametrize("sampling", [None, SamplingParams()])
def test_a_request_that_cannot_be_drawn_from_is_an_error(sampling: SamplingParams | None) -> None:
    engine, _, _ = _engine()
    request = Request(
        request_id="a",
        prompt_tokens=np.array([1], np.int32),
        max_new_tokens=1,
        sampling=sampling,
    )
    engine.add_request(request)
    with pytest.raises(ConfigError, match="request a: a model draws by sampling parameters with"):
        engine.step()


def test_logits_that_are_not_numbers_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, executor, _ = _engine()
    engine.add_request(_request("a"))
    monkeypatch.setattr(executor, "forward", lambda *operands: torch.full((1, 258), torch.nan))
    with pytest.raises(BadLogits, match="weights or a kernel are broken"):
        engine.step()


def test_kernels_of_the_options_are_in_force_while_it_runs_and_not_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine, executor, _ = _engine(kernels={"attention": "reference"}, num_threads=3)
    seen: list[tuple[str | None, HostConfig]] = []

    def watched(*operands: Any) -> torch.Tensor:
        choices = current_choices()
        seen.append((choices.variants.get("attention"), choices.host))
        return forward(*operands)

    monkeypatch.setattr(executor, "forward", watched)
    engine.add_request(_request("a"))
    engine.step()
    assert seen == [("reference", HostConfig(num_threads=3))]
    assert "attention" not in current_choices().variants


def test_a_row_that_is_given_to_another_draws_as_that_one_asks() -> None:
    engine, _, results = _engine(max_num_seqs=1)
    engine.add_request(_request("a", num_new=1, logit_bias={7: 100.0}))
    engine.add_request(_request("b", num_new=1, logit_bias={9: 100.0}))
    engine.step()
    engine.step()
    assert [result.tokens.tolist() for result in results.results] == [[7], [9]]
