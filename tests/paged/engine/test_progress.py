"""The bar counts sequences and tokens."""

from __future__ import annotations

import pytest

from paged.engine.outputs import OutputDelta
from paged.engine.progress import Progress
from paged.scheduler.request import FinishReason


def test_the_bar_shows_sequences_that_ended_and_tokens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Progress(2) as progress:
        for reason in (None, FinishReason.LENGTH, FinishReason.STOP):
            progress.update(
                OutputDelta(request_id="a", sequence_index=0, text="", tokens=(1, 2), reason=reason)
            )
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2/2" in shown.err
    assert "6 tokens" in shown.err
