"""The bar: requests, tokens and errors."""

from __future__ import annotations

import pytest

from paged.loadgen.bar import Bar
from paged.loadgen.record import Record


def _record(error: str | None) -> Record:
    return Record(
        index=0,
        due_s=None,
        sent_s=0.0,
        first_s=0.0,
        end_s=1.0,
        num_prompt_tokens=1,
        num_output_tokens=4,
        error=error,
    )


def test_it_counts_requests_tokens_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar(2) as bar:
        bar.take(_record(None))
        bar.take(_record("broken"))
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "8 tokens, 1 errors" in shown
