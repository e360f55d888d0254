"""Recorded decode: which size serves a step, when it is recorded, and that nothing else changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from model_zoo.batch import ModelBatch
from paged.engine import decode_graphs, model_engine
from paged.engine.decode_graphs import LOOK_INTERVAL_S, DecodeGraphs, graph_sizes
from paged.engine.decode_inputs import DecodeInputs
from paged.engine.llm import LLM
from paged.engine.outputs import RequestOutput
from paged.kernel import kernel_call
from paged.kernel.choice import use_kernel
from paged.kernel.tap import watching
from paged.sampling_params import BeamParams, SamplingParams
from paged.scheduler.batch import Batch
from tests.helpers.copying import SOURCE, copy_spec
from tests.helpers.fake_graphs import FakeCapture
from tests.helpers.tiny_llm import check_empty, tiny_llm

VOCAB_SIZE = 5


class _Model:
    """Answers each row with its token and the sum of all tokens; keeps what it was given."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.addresses: list[int] = []
        self.kernel: Callable[[torch.Tensor], object] | None = None

    def __call__(self, batch: ModelBatch) -> torch.Tensor:
        self.sizes.append(len(batch.tokens))
        self.addresses.append(batch.tokens.data_ptr())
        if self.kernel is not None:
            self.kernel(batch.tokens.float())
        return batch.tokens[:, None].float().expand(-1, VOCAB_SIZE)


@pytest.fixture
def model() -> _Model:
    return _Model()


@pytest.fixture
def capture() -> FakeCapture:
    return FakeCapture()


@pytest.fixture
def graphs(model: _Model, capture: FakeCapture) -> DecodeGraphs:
    inputs = DecodeInputs(
        max_rows=4, max_blocks_per_row=8, num_groups=1, device=torch.device("cpu")
    )
    return DecodeGraphs(model, inputs, capture, sizes=(1, 2, 4), vocab_size=VOCAB_SIZE)


def _decode(make_batch: Callable[..., Batch], num_seqs: int, first: int = 10) -> Batch:
    batch = make_batch(*[(row, 3, 1, 1) for row in range(num_seqs)])
    batch.tokens[:, 3] = first + torch.arange(8).numpy()
    return batch


def run(graphs: DecodeGraphs, batch: Batch) -> torch.Tensor:
    return graphs.run(graphs.prepare(batch))[: batch.num_seqs]


@pytest.mark.parametrize(
    ("wanted", "max_num_seqs", "expected"),
    [
        (None, 1, (1,)),
        (None, 8, (1, 2, 4, 8)),
        (None, 9, (1, 2, 4, 8, 16)),
        (None, 1000, (1, 2, 4, 8, 16, 32, 64, 128, 256)),
        ((8, 3, 3), 5, (3, 8)),
        ((8, 3), 3, (3,)),
        ((2,), 9, (2,)),
        ((), 9, ()),
    ],
)
def test_no_more_sizes_are_recorded_than_can_be_needed(
    wanted: tuple[int, ...] | None, max_num_seqs: int, expected: tuple[int, ...]
) -> None:
    device = torch.device("cuda")
    assert graph_sizes(wanted, max_num_seqs=max_num_seqs, device=device) == expected


def test_a_cpu_pads_nothing_by_default() -> None:
    def sizes(wanted: tuple[int, ...] | None, count: int) -> tuple[int, ...]:
        return graph_sizes(wanted, max_num_seqs=count, device=torch.device("cpu"))

    assert sizes(None, 5) == (1, 2, 3, 4, 5)
    assert sizes(None, 1000) == tuple(range(1, 257))
    assert sizes((4, 8), 5) == (4, 8)


def test_a_step_is_served_by_the_smallest_size_that_holds_it(
    graphs: DecodeGraphs, model: _Model, make_batch: Callable[..., Batch]
) -> None:
    for num_seqs, size in ((1, 1), (2, 2), (3, 4), (4, 4)):
        logits = run(graphs, _decode(make_batch, num_seqs))
        assert logits[:, 0].tolist() == [10, 11, 12, 13][:num_seqs]
        assert model.sizes[-1] == size
    assert len(set(model.addresses)) == 1


def test_a_size_is_recorded_once_and_run_from_then_on(
    graphs: DecodeGraphs, capture: FakeCapture, make_batch: Callable[..., Batch]
) -> None:
    for first in (10, 20, 30):
        logits = run(graphs, _decode(make_batch, 3, first))
        assert logits[:, 0].tolist() == [first, first + 1, first + 2]
    run(graphs, _decode(make_batch, 4))
    assert capture.num_replays == [4]
    run(graphs, _decode(make_batch, 1))
    assert capture.num_replays == [4, 1]


def test_logits_lie_at_one_address(graphs: DecodeGraphs, make_batch: Callable[..., Batch]) -> None:
    addresses = {run(graphs, _decode(make_batch, count)).data_ptr() for count in (1, 4, 2)}
    assert len(addresses) == 1


def test_all_are_recorded_at_once_the_largest_first(
    graphs: DecodeGraphs, model: _Model, capture: FakeCapture, make_batch: Callable[..., Batch]
) -> None:
    graphs.record_all()
    assert model.sizes == [4, 2, 1]
    run(graphs, _decode(make_batch, 2))
    assert capture.num_replays == [0, 1, 0]


def test_a_rehearsal_records_nothing(
    graphs: DecodeGraphs, model: _Model, capture: FakeCapture
) -> None:
    graphs.rehearse()
    assert (model.sizes, capture.num_replays) == ([4], [])


def test_prompts_chunks_and_larger_steps_are_not_served(
    graphs: DecodeGraphs, make_batch: Callable[..., Batch]
) -> None:
    assert graphs.serves(_decode(make_batch, 4))
    assert not graphs.serves(_decode(make_batch, 5))
    assert not graphs.serves(make_batch((0, 3, 1, 1), (1, 0, 2, 1)))


def test_other_kernels_are_recorded_anew(
    graphs: DecodeGraphs, capture: FakeCapture, make_batch: Callable[..., Batch]
) -> None:
    batch = _decode(make_batch, 1)
    run(graphs, batch)
    with use_kernel(attention="reference"):
        run(graphs, batch)
        run(graphs, batch)
    assert capture.num_replays == [1, 2]
    run(graphs, batch)
    assert capture.num_replays == [1, 2, 1]


def test_an_edited_kernel_is_recorded_anew(
    graphs: DecodeGraphs,
    model: _Model,
    capture: FakeCapture,
    make_batch: Callable[..., Batch],
    tmp_path: Path,
) -> None:
    file = tmp_path / "copy.cu"
    file.write_text(SOURCE)
    spec = replace(copy_spec(), source=file)
    copied = torch.empty(1)
    model.kernel = lambda rows: kernel_call(spec, rows, copied, interpret=True)
    batch = _decode(make_batch, 1)
    run(graphs, batch)
    run(graphs, batch)
    assert capture.num_replays == [2]
    assert copied.tolist() == [10]
    file.write_text(SOURCE.replace("= x[i]", "= x[i] + 1"))
    time.sleep(2 * LOOK_INTERVAL_S)
    run(graphs, batch)
    assert capture.num_replays == [2, 1]
    assert copied.tolist() == [11]


def test_files_are_not_looked_at_in_every_step(
    graphs: DecodeGraphs, make_batch: Callable[..., Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, looks_s = [5.0], list[float]()
    monkeypatch.setattr(decode_graphs, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(decode_graphs, "all", lambda _: not looks_s.append(now_s[0]), raising=False)
    for now_s[0] in (5.0, 5.0 + 0.9 * LOOK_INTERVAL_S, 6.0, 6.0 + 0.9 * LOOK_INTERVAL_S, 7.0):
        run(graphs, _decode(make_batch, 1))
    assert looks_s == [6.0, 7.0]


PROMPTS = ("the quick brown fox", "a", "zebra crossing", "0123456789abcdef", "more")
PARAMS = (
    SamplingParams(n=3, temperature=0.9, seed=1, max_tokens=9, ignore_eos=True),
    SamplingParams(temperature=0.0, max_tokens=14, logprobs=2, ignore_eos=True),
    SamplingParams(temperature=0.0, max_tokens=20, prompt_logprobs=1, frequency_penalty=0.5),
    SamplingParams(beam=BeamParams(width=2), n=2, max_tokens=8),
    SamplingParams(temperature=1.2, top_p=0.8, seed=3, max_tokens=3),
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cuda_graph_sizes": (3, 6)},
        {"max_num_batched_tokens": 7},
        {"num_blocks": 24, "preemption": "swap"},
    ],
)
def test_an_engine_with_recordings_draws_the_same(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    eager: dict[str, Any] = options | {"cuda_graph_sizes": ()}
    wanted = tiny_llm(**eager).generate(PROMPTS, PARAMS)
    check_same(tiny_llm(**options), wanted)
    capture = FakeCapture()
    monkeypatch.setattr(model_engine, "find_capture", lambda _: capture)
    sizes = options.get("cuda_graph_sizes", (1, 2, 4, 8))
    padded: dict[str, Any] = options | {"cuda_graph_sizes": sizes}
    check_same(tiny_llm(**padded), wanted)
    assert len(capture.num_replays) == len(sizes)
    assert sum(count > 0 for count in capture.num_replays) >= 2


def check_same(llm: LLM, wanted: list[RequestOutput]) -> None:
    found = llm.generate(PROMPTS, PARAMS)
    check_empty(llm)
    for one, other in zip(found, wanted, strict=True):
        assert one.outputs == other.outputs
        assert one.prompt_logprobs == other.prompt_logprobs


def test_what_computes_while_it_records_is_not_run_twice(
    model: _Model, make_batch: Callable[..., Batch]
) -> None:
    capture = FakeCapture(computes=True)
    inputs = DecodeInputs(
        max_rows=4, max_blocks_per_row=8, num_groups=1, device=torch.device("cpu")
    )
    graphs = DecodeGraphs(model, inputs, capture, sizes=(1, 2, 4), vocab_size=VOCAB_SIZE)
    graphs.record_all()
    assert model.sizes == []
    for first in (10, 20):
        assert run(graphs, _decode(make_batch, 2, first))[:, 0].tolist() == [first, first + 1]
    assert model.sizes == [2, 2]


def test_nothing_recorded_runs_while_operations_are_watched(
    graphs: DecodeGraphs, make_batch: Callable[..., Batch]
) -> None:
    batch = _decode(make_batch, 2)
    assert graphs.serves(batch)
    with watching(lambda *_: None):
        assert not graphs.serves(batch)
