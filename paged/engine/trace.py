"""What a run computes of each token: the results of all operations, in the model's order."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch

from model_zoo.params import ModelParams, tensors
from paged.engine.moved_blocks import WrongMove, wrong_move
from paged.engine.step_result import places_of
from paged.errors import check
from paged.kernel.linear_weight import LinearWeight
from paged.kernel.registry import OP_NAMES, find_op
from paged.kernel.tap import watching
from paged.scheduler.batch import Batch, Finished, StepResult
from paged.scheduler.scheduler import Scheduler
from paged.types import IndexArray

Values = npt.NDArray[np.float32]

Token = tuple[str, int]
"""A request's id, and a position in it."""

_RESULTS = {"add_rms_norm": ("normed", "sum")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where in a model a value comes from.

    result: which one of several that an operation gives.
    layer: None before the first layer and after the last.
    weight: leaf of the parameter tree that the operation took.
    """

    op: str
    result: str | None = None
    layer: int | None = None
    weight: str | None = None

    def __str__(self) -> str:
        words = [] if self.layer is None else [f"layer {self.layer}"]
        words += [self.op] if self.weight in (None, self.op) else [self.op, self.weight]
        place = " ".join(words)
        return place if self.result is None else f"{place}: {self.result}"


DRAW = Site(op="draw")
"""The token that was drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One result of one operation in one step.

    rows[n, values]: of all tokens, or of those that are drawn from.
    slots[tokens]: of the pool, where keys and values went last; None before they went anywhere.
    """

    site: Site
    rows: Values
    slots: IndexArray | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenValues:
    """What one step computed of one token.

    place: of the token in the step. seen: of the whole step, in the model's order.
    values: of the token at each site; of the first ones only where nothing is drawn from it,
        for after the last attention nobody needs it then.
    """

    step: int
    place: int
    seen: Sequence[Seen]
    values: tuple[Values, ...]

    def site(self, index: int) -> Site:
        """Return where values[index] come from."""
        return self.seen[index].site

    def slot(self, index: int) -> int | None:
        """Return the token's slot of the pool, in the layer of values[index]."""
        slots = self.seen[index].slots
        return None if slots is None else int(slots[self.place])


class Trace:
    """Observer of an engine that keeps what its steps compute.

    computed: the tokens of the latest step. Every request must be of one sequence, without
    log-probabilities of its prompt.
    wrong_move: the first block that arrived otherwise than it was; None if all did well.
    """

    def __init__(self, params: ModelParams) -> None:
        self.computed: dict[Token, TokenValues] = {}
        self.wrong_move: WrongMove | None = None
        self._leaf_of = {id(tensor): path for path, tensor in tensors(params)}
        self._request_on: dict[int, str] = {}
        self._layer: int | None = None
        self._slots: IndexArray | None = None
        self._seen: list[Seen] = []

    @contextmanager
    def step(self) -> Generator[None, None, None]:
        """Keep what a step of the engine computes, to be run inside the block."""
        self.computed, self._seen = {}, []
        self._layer = self._slots = None
        with watching(self._see):
            yield

    def _see(
        self,
        name: str,
        operands: tuple[object, ...],
        numbers: Mapping[str, object],
        result: object,
    ) -> None:
        if name not in OP_NAMES:
            self._see_layer(name, operands, result)
            return
        spec = find_op(name).signature
        given: dict[str, Any] = dict(zip([o.name for o in spec.given], operands, strict=False))
        if "pairs" in given:
            *pools, pairs = given.values()
            self.wrong_move = self.wrong_move or wrong_move(name, pools[0], pools[-1], pairs)
            return
        outputs = [o.name for o in spec.operands if o.intent == "out"]
        for output, value in zip(outputs, _each(result), strict=True):
            self._keep(Site(op=name, result=output, layer=self._layer), value)
        if "slot_mapping" in given:
            slots = given["slot_mapping"][: len(given["key"])]
            stored = _rows_at(given["kv_pool"][:, numbers["layer"]], slots)
            self._slots = slots.to("cpu", copy=True).numpy()
            self._keep(Site(op=name, result="keys and values", layer=self._layer), stored)

    def _see_layer(self, name: str, operands: tuple[object, ...], result: object) -> None:
        """Take what was computed by a weight, or of what was."""
        weight = None
        for operand in operands:
            tensor = operand.data if isinstance(operand, LinearWeight) else operand
            path = self._leaf_of.get(id(tensor))
            if path is not None:
                self._layer, weight = _place(path)
        results = _each(result)
        names = _RESULTS.get(name, (None,) * len(results))
        for each, value in zip(names, results, strict=True):
            self._keep(Site(op=name, result=each, layer=self._layer, weight=weight), value)

    def _keep(self, site: Site, value: torch.Tensor) -> None:
        # exact for all narrower types; a copy, for the model may write there again
        exact = value.detach().to("cpu", torch.float32, copy=True).flatten(1)
        self._seen.append(Seen(site, exact.numpy(), self._slots))  # pyright: ignore[reportUnknownMemberType]

    def on_step(
        self, *, start_s: float, batch: Batch, result: StepResult, scheduler: Scheduler
    ) -> None:
        """Put what was seen down to the tokens of the step."""
        for admitted in batch.admitted:
            check(len(admitted.rows) == 1, "a trace of a request with several sequences")
            self._request_on[int(admitted.rows[0])] = admitted.request.request_id
        if not batch.num_seqs:
            return  # blocks were moved, and nothing computed
        check(bool(self._seen), "a step computed nothing that a trace could see")
        drawn = result.tokens.astype(np.float32)[:, None]
        self._seen.append(Seen(DRAW, drawn, self._slots))
        rows: list[int] = np.repeat(batch.rows, batch.num_scheduled).tolist()
        positions: list[int] = batch.flatten().positions.tolist()
        draws: list[int] = _draw_places(batch).tolist()
        for place, (row, position) in enumerate(zip(rows, positions, strict=True)):
            self.computed[self._request_on[row], position] = TokenValues(
                step=batch.step,
                place=place,
                seen=self._seen,
                values=tuple(self._values_of(place, draws[place], len(rows))),
            )

    def _values_of(self, place: int, draw: int, num_tokens: int) -> Iterator[Values]:
        for seen in self._seen:
            if len(seen.rows) == num_tokens:
                yield seen.rows[place]
            elif draw >= 0:
                yield seen.rows[draw]
            else:
                return

    def on_finished(self, finished: Finished, *, now_s: float) -> None:
        """Do nothing: who reads the trace knows what it is still good for."""


def _each(result: object) -> tuple[torch.Tensor, ...]:
    if result is None:
        return ()
    return cast("Any", result) if isinstance(result, tuple) else (cast("torch.Tensor", result),)


def _place(path: str) -> tuple[int | None, str]:
    """Return layer and leaf of a path such as `layers.3.qkv.data`."""
    first, *rest = path.split(".")
    return (int(rest[0]), rest[1]) if first == "layers" else (None, first)


def _rows_at(layer_pool: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """Return what slots of a layer's pool hold: [slots, 2, kv_heads, head_dim]."""
    size = layer_pool.shape[3]
    return layer_pool[slots // size, :, :, slots % size]


def _draw_places(batch: Batch) -> IndexArray:
    """For each token of a step its place among those that are drawn from, -1 for the others."""
    last = (np.cumsum(batch.num_scheduled) - 1)[batch.num_samples > 0]
    return places_of(last, batch.num_tokens)
