"""Decode steps that are recorded once for each of a few sizes, and run again from there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import monotonic

import torch

from model_zoo.batch import ModelBatch
from paged.engine.decode_inputs import DecodeInputs
from paged.engine.graph_capture import Capture, CudaCapture
from paged.engine.host_capture import HostCapture
from paged.kernel.call import Kernel, launched_kernels
from paged.kernel.choice import Choices, current_choices
from paged.kernel.tap import is_watched
from paged.scheduler.batch import Batch

MAX_DEFAULT_SIZE = 256

LOOK_INTERVAL_S = 0.1
"""How long what was seen of kernel files holds: looking at them costs as much as a few launches."""


def find_capture(device: torch.device) -> Capture:
    """Return what records work on a device."""
    return CudaCapture(device) if device.type == "cuda" else HostCapture()


def graph_sizes(
    wanted: Sequence[int] | None, *, max_num_seqs: int, device: torch.device
) -> tuple[int, ...]:
    """Return the sizes to record, ascending: no more than it takes to hold max_num_seqs.

    wanted: None is 1, 2, 4, ... up to 256 on a GPU, and each up to 256 on a CPU, where padding
        takes as long as what it pads.
    """
    if wanted is None and device.type == "cpu":
        wanted = range(1, MAX_DEFAULT_SIZE + 1)
    elif wanted is None:
        wanted = [1 << i for i in range(MAX_DEFAULT_SIZE.bit_length())]
    sizes = sorted(set(wanted))
    return tuple(sizes[: bisect_left(sizes, max_num_seqs) + 1])


@dataclass(slots=True, kw_only=True)
class _Recorded:
    """What runs a step again, the kernels that were in force, and those that it launches."""

    choices: Choices
    kernels: Collection[Kernel]
    replay: Callable[[], object]
    looked_s: float

    def is_current(self) -> bool:
        """Say whether a call would run the same kernels. Mutates: looked_s."""
        if self.choices != current_choices():
            return False
        now_s = monotonic()
        if now_s - self.looked_s < LOOK_INTERVAL_S:
            return True
        self.looked_s = now_s
        return all(kernel.is_current for kernel in self.kernels)


class DecodeGraphs:
    """Runs a step of n sequences as the smallest recorded one that holds it, padded.

    A row's logits are those of the step without padding wherever kernels compute a row by
    itself. Steps with more tokens than sequences, and larger ones, are left to the caller.
    """

    def __init__(
        self,
        forward: Callable[[ModelBatch], torch.Tensor],
        inputs: DecodeInputs,
        capture: Capture,
        *,
        sizes: Sequence[int],
        vocab_size: int,
    ) -> None:
        """Take what computes logits.

        sizes: ascending, at least one; the inputs hold the last.
        """
        self._forward = forward
        self._inputs = inputs
        self._capture = capture
        self._sizes = tuple(sizes)
        device = inputs.batch(1).tokens.device
        self._logits = torch.empty(
            (self._sizes[-1], vocab_size), dtype=torch.float32, device=device
        )
        self._recorded: dict[int, _Recorded] = {}

    def serves(self, batch: Batch) -> bool:
        """Say whether a step has one token for each sequence, and no more than are recorded.

        While somebody watches operations none is: they would not see what is run again.
        """
        is_decode = batch.num_tokens == batch.num_seqs <= self._sizes[-1]
        return is_decode and not is_watched()

    def prepare(self, batch: Batch) -> int:
        """Lay out a step that is served, and return its number of rows, padding included.

        Mutates: the inputs of all sizes.
        """
        size = self._sizes[bisect_left(self._sizes, batch.num_seqs)]
        self._inputs.fill(batch, size)
        return size

    def run(self, size: int) -> torch.Tensor:
        """Compute the step that has been prepared, of so many rows.

        Returns: logits, float32 [size, vocab_size], which the next run overwrites.
        Mutates: what forward mutates.
        """
        recorded = self._recorded.get(size)
        if recorded is None or not recorded.is_current():
            recorded = self._record(size)
            if self._capture.computes:
                return self._logits[:size]
        recorded.replay()
        return self._logits[:size]

    def rehearse(self) -> None:
        """Compute the largest size, all of it padding, without a recording."""
        self._inputs.clear(self._sizes[-1])
        self._compute(self._sizes[-1])

    def record_all(self) -> None:
        """Record every size, the largest first: the memory of a recording serves smaller ones.

        Where recording is no more than a step, sizes wait for their first.
        """
        if self._capture.computes:
            return
        for size in reversed(self._sizes):
            self._inputs.clear(size)
            self._record(size)

    def _record(self, size: int) -> _Recorded:
        with launched_kernels() as kernels:
            replay = self._capture(lambda: self._compute(size))
        recorded = _Recorded(
            choices=current_choices(), kernels=kernels, replay=replay, looked_s=monotonic()
        )
        self._recorded[size] = recorded
        return recorded

    def _compute(self, size: int) -> None:
        logits = self._forward(self._inputs.batch(size))
        # careful: not kept as it is, for recordings share the memory of what they allocate
        self._logits[:size].copy_(logits)
