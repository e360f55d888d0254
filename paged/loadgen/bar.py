"""A bar on standard error while a load runs."""

from __future__ import annotations

from types import TracebackType

from tqdm import tqdm

from paged.loadgen.record import Record


class Bar:
    """Counts requests that ended, and shows their tokens and errors."""

    def __init__(self, num_requests: int) -> None:
        self._num_tokens = 0
        self._num_errors = 0
        self._bar = tqdm(total=num_requests, unit="request")

    def take(self, record: Record) -> None:
        """Count a request."""
        self._num_tokens += record.num_output_tokens
        self._num_errors += record.error is not None
        self._bar.set_postfix_str(
            f"{self._num_tokens} tokens, {self._num_errors} errors", refresh=False
        )
        self._bar.update()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._bar.close()
