"""A bar on standard error while many sequences are generated."""

from __future__ import annotations

from types import TracebackType

from paged.engine.outputs import OutputDelta


class Progress:
    """Counts sequences that ended, and shows how many tokens were drawn."""

    def __init__(self, num_sequences: int) -> None:
        from tqdm import tqdm

        self._num_tokens = 0
        self._bar = tqdm(total=num_sequences, unit="sequence")

    def update(self, delta: OutputDelta) -> None:
        """Take what a step added to one sequence."""
        self._num_tokens += len(delta.tokens)
        self._bar.set_postfix_str(f"{self._num_tokens} tokens", refresh=False)
        self._bar.update(delta.reason is not None)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._bar.close()
